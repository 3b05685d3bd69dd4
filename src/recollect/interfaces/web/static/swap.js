// Loads a link or a form of this inspector and replaces one element of the page with the same
// element of the answer. Without this script the same addresses are plain loads. No string ever
// becomes markup here: the browser parses the answer as a document (responseType).

const late = 30000;
let running = null;

function target(name) {
  return document.getElementById(name || "main");
}

function plain(address) {
  location.assign(address);
}

function entered(found, address, name, push) {
  const fresh = found.getElementById(name);
  const old = target(name);
  if (!fresh || !old) return plain(address);
  const parts = ["time"].filter((id) => id !== name);
  const change = () => {
    old.replaceWith(document.adoptNode(fresh));
    for (const id of parts) {
      const next = found.getElementById(id);
      const here = document.getElementById(id);
      if (next && here) here.replaceWith(document.adoptNode(next));
    }
    for (const each of [".then", ".warning"]) renew(found, each);
    document.title = found.title;
    document.body.className = found.body.className;
    if (push) history.pushState({ swap: name }, "", address);
    const heading = target(name)?.querySelector("h1, h2");
    if (heading) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
    if (push) scrollTo(0, 0);
    document.dispatchEvent(new CustomEvent("swapped", { detail: { id: name } }));
  };
  // A fade takes several frames, so only another page gets one; a list that is paged through,
  // filtered or moved in time changes at once.
  const isSame = !push || new URL(address, location.href).pathname === location.pathname;
  if (isSame || !document.startViewTransition || document.hidden) return change();
  document.startViewTransition(change);
}

// What stands between the header and the page: that it is the past, or read-only.
export function renew(found, selector) {
  const next = found.querySelector(`body > ${selector}`);
  const here = document.querySelector(`body > ${selector}`);
  if (here && !next) here.remove();
  if (next && here) here.replaceWith(document.adoptNode(next));
  if (next && !here) target("main").before(document.adoptNode(next));
}

export function load(address, name = "main", push = true) {
  if (running) running.abort();
  const asked = new XMLHttpRequest();
  running = asked;
  asked.open("GET", address);
  asked.responseType = "document";
  asked.timeout = late;
  asked.onloadend = () => {
    if (running !== asked) return;
    running = null;
    document.body.removeAttribute("aria-busy");
    const found = asked.response;
    if (!found || asked.status !== 200) return plain(address);
    entered(found, asked.responseURL || address, name, push);
  };
  setTimeout(() => running === asked && document.body.setAttribute("aria-busy", "true"), 300);
  asked.send();
}

function isOurs(link, event) {
  return !(
    event.defaultPrevented || event.button || event.metaKey || event.ctrlKey ||
    event.shiftKey || event.altKey || link.target || link.hasAttribute("data-plain")
  ) && link.origin === location.origin;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-swap]");
  const address = link && (link.href.baseVal ?? link.href);
  if (!link) return;
  const whole = new URL(address, location.href);
  if (!isOurs({ ...flags(link), origin: whole.origin }, event)) return;
  event.preventDefault();
  load(whole.href, link.dataset.swap || "main");
});

function flags(link) {
  const held = link.target?.baseVal ?? link.target;
  return { target: held, hasAttribute: (name) => link.hasAttribute(name) };
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "get" || !form.dataset.swap || event.defaultPrevented) return;
  event.preventDefault();
  const address = new URL(form.action);
  const given = [...new FormData(form, event.submitter)].filter(([, value]) => value !== "");
  address.search = new URLSearchParams(given).toString();
  load(address.href, form.dataset.swap);
});

addEventListener("popstate", () => load(location.href, "main", false));
