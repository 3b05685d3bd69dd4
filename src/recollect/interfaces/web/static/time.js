// The time bar follows the hand: dragging asks for this page as it was, at most each 80 ms and one
// request at a time, and shows the newest answer. Without this script the bar is a plain form.
import { load, renew } from "./swap.js";

const pause = 80;
let stops = null; // the positions after each command, as many as the slider has pixels
let wanted = null; // where the hand is
let shown = null;
let running = null;
let timer = 0;
let last = 0;
let isLearning = false;
let visit = 0; // grows when another page is shown: an answer that comes later is dropped

const bar = () => document.getElementById("time");
const slider = () => document.getElementById("time-slide");
const head = () => Number(bar().dataset.head);

function address(position) {
  const whole = new URL(location.href);
  for (const name of ["said", "at"]) whole.searchParams.delete(name);
  if (position < head()) whole.searchParams.set("at", position);
  return whole.href;
}

// The last command up to a position; until the stops are here, the server finds it.
function stop(position) {
  if (!stops) return position;
  let low = 0;
  let high = stops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (stops[middle] <= position) low = middle;
    else high = middle - 1;
  }
  return stops[low];
}

function learn() {
  if (stops || isLearning || !slider()) return;
  isLearning = true;
  const whole = new URL(slider().form.dataset.stops, location.href);
  whole.searchParams.set("width", Math.max(1, Math.round(slider().clientWidth)));
  const asked = new XMLHttpRequest();
  asked.open("GET", whole.href);
  asked.responseType = "json";
  asked.onload = () => (stops = asked.status === 200 ? asked.response.stops : null);
  asked.onloadend = () => (isLearning = false);
  asked.send();
}

function ask() {
  timer = 0;
  if (running || wanted === null || wanted === shown) return settle();
  const position = wanted;
  const mine = visit;
  const asked = new XMLHttpRequest();
  running = asked;
  last = performance.now();
  asked.open("GET", address(position));
  asked.responseType = "document";
  asked.onloadend = () => {
    running = null;
    if (mine !== visit) return;
    if (asked.status !== 200 || !asked.response) return location.assign(address(position));
    show(asked.response, position);
    if (wanted !== shown) soon();
    else settle();
  };
  asked.send();
}

function soon() {
  bar().dataset.busy = "";
  if (!timer && !running) timer = setTimeout(ask, Math.max(0, last + pause - performance.now()));
}

function settle() {
  if (!running && wanted === shown) delete bar().dataset.busy;
}

// All but the slider is replaced: the hand is on it.
function show(found, position) {
  const main = document.getElementById("main");
  const fresh = found.getElementById("main");
  const next = found.getElementById("time");
  if (!fresh || !next) return location.assign(address(position));
  main.replaceWith(document.adoptNode(fresh));
  for (const each of [".then", ".warning"]) renew(found, each);
  document.body.className = found.body.className;
  bar().dataset.position = next.dataset.position;
  const parts = [...next.children];
  [...bar().children].forEach((old, place) => {
    if (!old.contains(slider())) old.replaceWith(document.adoptNode(parts[place]));
  });
  shown = position;
}

document.addEventListener("input", (event) => {
  if (event.target !== slider()) return;
  wanted = stop(Number(event.target.value));
  soon();
});

document.addEventListener("change", (event) => {
  if (event.target === slider()) history.pushState({}, "", address(stop(Number(event.target.value))));
  if (event.target.matches?.("#time-day")) event.target.form.requestSubmit();
});

for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => event.target === slider() && learn());
}

document.addEventListener("submit", (event) => {
  if (!bar()?.contains(event.target)) return;
  event.preventDefault();
  const at = new FormData(event.target).get("at");
  load(/^\d+$/.test(at) ? address(Number(at)) : withText(at), "main");
});

function withText(at) {
  const whole = new URL(address(head()));
  if (at) whole.searchParams.set("at", at);
  return whole.href;
}

document.addEventListener("swapped", () => {
  visit += 1;
  stops = wanted = shown = null;
});
document.documentElement.classList.add("scripted");
