// Ctrl K or ⌘ K: a page, a key, an id or a text, and Enter goes there. Without this script the
// field of the header finds the same.
const wait = 120;
let last = 0;
let timer = 0;

const box = () => document.getElementById("palette");

function shown(places) {
  const list = box().querySelector("ol");
  const chosen = list.contains(document.activeElement) ? document.activeElement.href : null;
  list.replaceChildren(
    ...places.map((place) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const what = document.createElement("span");
      link.href = place.href;
      link.textContent = place.name;
      link.dir = "auto";
      what.textContent = place.what;
      item.append(what, link);
      return item;
    }),
  );
  if (chosen === null) return;
  const again = [...list.querySelectorAll("a")].find((link) => link.href === chosen);
  (again ?? box().querySelector("input")).focus();
}

async function ask() {
  const input = box().querySelector("input");
  const number = ++last;
  const address = new URL(box().querySelector("form").action);
  address.search = new URLSearchParams({ q: input.value, as: "json" }).toString();
  const answer = await fetch(address).catch(() => null);
  if (number !== last || !answer?.ok) return;
  const places = await answer.json();
  if (number === last) shown(places);
}

function move(by) {
  const links = [...box().querySelectorAll("ol a")];
  const at = links.indexOf(document.activeElement) + by;
  if (at < 0) return box().querySelector("input").focus();
  links[Math.min(at, links.length - 1)]?.focus();
}

document.addEventListener("input", (event) => {
  if (event.target.closest?.("#palette") === null || !box()?.open) return;
  clearTimeout(timer);
  timer = setTimeout(ask, wait);
});

document.addEventListener("keydown", (event) => {
  const found = box();
  if (!found) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (found.open) return found.close();
    found.showModal();
    found.querySelector("input").select();
  } else if (found.open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  }
});
