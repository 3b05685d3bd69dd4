// Single keys: off in a field, with a modifier, or if the reader switched them off (Help).
import { load } from "./swap.js";

let waiting = false; // g was pressed, a letter follows
let place = -1;

const rows = () => [...document.querySelectorAll("[data-row]")];

function move(by) {
  const all = rows();
  if (!all.length) return;
  place = Math.max(0, Math.min(all.length - 1, place + by));
  const link = all[place].querySelector("[data-open], a");
  (link || all[place]).focus();
  all[place].scrollIntoView({ block: "nearest" });
}

function go(letter) {
  const names = { d: "", t: "timeline", s: "search", r: "review", c: "context", l: "ledger", h: "help" };
  if (!(letter in names)) return;
  const space = location.pathname.split("/").slice(0, 3).join("/");
  const known = [...document.querySelectorAll("header a")].map((each) => each.pathname);
  const to = `${space}/${names[letter]}`;
  if (letter === "s" || letter === "d" || known.includes(to)) load(to + at());
}

function at() {
  const given = new URLSearchParams(location.search).get("at");
  return given ? `?at=${encodeURIComponent(given)}` : "";
}

function follow(key) {
  const link = document.querySelector(`a[data-key="${key}"]`);
  if (link) link.click();
}

function opened(inNew) {
  const row = document.activeElement?.closest?.("[data-row]");
  const link = row?.querySelector("[data-open]");
  if (!link) return;
  if (inNew) window.open(link.href, "_blank", "noopener");
  else link.click();
}

// What a page itself gives a key to: a link is followed. A field or a button is only entered, so
// that a stray key changes nothing: Enter does.
function press(key) {
  const found = /^[a-z]$/.test(key) && document.querySelector(`[data-press="${key}"]`);
  if (!found || found.disabled) return false;
  if (found.matches("a")) found.click();
  else found.focus();
  return true;
}

const acts = {
  "/": () => document.getElementById("find")?.select(),
  j: () => move(1),
  k: () => move(-1),
  o: () => opened(true),
  "[": () => follow("["),
  "]": () => follow("]"),
  "{": () => follow("{"),
  "}": () => follow("}"),
  n: () => follow("n"),
  "?": () => document.querySelector('a[aria-label="Help"]')?.click(),
};

document.addEventListener("keydown", (event) => {
  if (document.documentElement.dataset.keys === "off" || event.defaultPrevented) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  if (waiting) {
    waiting = false;
    event.preventDefault();
    return go(event.key);
  }
  if (event.key === "g") {
    waiting = true;
    setTimeout(() => (waiting = false), 1200);
    return;
  }
  const act = acts[event.key];
  if (!act && !press(event.key)) return;
  event.preventDefault();
  if (act) act();
});

document.addEventListener("swapped", () => (place = -1));
