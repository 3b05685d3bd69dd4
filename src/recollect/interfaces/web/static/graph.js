// Moves and magnifies the drawing of a graph. It changes the viewBox alone; without this script the
// whole drawing is shown, and the table below it has the same.

const most = 6;
let held = null; // where a drag began

const drawing = () => document.getElementById("graph");

function box(svg) {
  const { x, y, width, height } = svg.viewBox.baseVal;
  return { x, y, width, height };
}

function whole(svg) {
  if (!svg.dataset.whole) svg.dataset.whole = svg.getAttribute("viewBox");
  const [x, y, width, height] = svg.dataset.whole.split(" ").map(Number);
  return { x, y, width, height };
}

function put(svg, next) {
  const all = whole(svg);
  const width = Math.min(all.width, Math.max(all.width / most, next.width));
  const height = (width / all.width) * all.height;
  const x = Math.min(all.x + all.width - width, Math.max(all.x, next.x));
  const y = Math.min(all.y + all.height - height, Math.max(all.y, next.y));
  svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  svg.classList.toggle("near", width < all.width);
}

// Magnifies around a point of the window; without one, around the middle.
function zoom(svg, by, at = null) {
  const here = box(svg);
  const room = svg.getBoundingClientRect();
  const right = at ? (at.clientX - room.left) / room.width : 0.5;
  const down = at ? (at.clientY - room.top) / room.height : 0.5;
  const width = here.width * by;
  const height = here.height * by;
  put(svg, {
    x: here.x + (here.width - width) * right,
    y: here.y + (here.height - height) * down,
    width,
  });
}

function move(svg, right, down) {
  const here = box(svg);
  put(svg, { x: here.x + here.width * right, y: here.y + here.height * down, width: here.width });
}

function button(sign, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "icon";
  made.textContent = sign;
  made.title = label;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", () => act(drawing()));
  return made;
}

function ready() {
  const svg = drawing();
  if (!svg || svg.dataset.whole) return;
  whole(svg);
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(
    button("+", "Nearer", (each) => zoom(each, 0.7)),
    button("−", "Farther", (each) => zoom(each, 1 / 0.7)),
    button("◌", "The whole", (each) => put(each, whole(each))),
  );
  svg.before(tools);
}

const keys = {
  "+": (svg) => zoom(svg, 0.7),
  "-": (svg) => zoom(svg, 1 / 0.7),
  0: (svg) => put(svg, whole(svg)),
  ArrowLeft: (svg) => move(svg, -0.15, 0),
  ArrowRight: (svg) => move(svg, 0.15, 0),
  ArrowUp: (svg) => move(svg, 0, -0.15),
  ArrowDown: (svg) => move(svg, 0, 0.15),
};

document.addEventListener("keydown", (event) => {
  const svg = drawing();
  if (!svg || event.target !== svg || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act(svg);
});

// Turning the wheel scrolls the page, as everywhere; with Ctrl, or two fingers, it magnifies.
document.addEventListener(
  "wheel",
  (event) => {
    const svg = event.target.closest?.("#graph");
    if (!svg || !event.ctrlKey) return;
    event.preventDefault();
    zoom(svg, event.deltaY > 0 ? 1.15 : 1 / 1.15, event);
  },
  { passive: false },
);

document.addEventListener("pointerdown", (event) => {
  const svg = event.target.closest?.("#graph");
  if (svg && !event.button) held = { x: event.clientX, y: event.clientY, from: box(svg), moved: false };
});

document.addEventListener("pointermove", (event) => {
  const svg = drawing();
  if (!held || !svg) return;
  const scale = held.from.width / svg.getBoundingClientRect().width;
  const right = (event.clientX - held.x) * scale;
  const down = (event.clientY - held.y) * scale;
  held.moved ||= Math.abs(right) + Math.abs(down) > 6;
  if (held.moved) put(svg, { ...held.from, x: held.from.x - right, y: held.from.y - down });
});

// A drag that ends on a record is not a click on it.
document.addEventListener("click", (event) => {
  if (held?.moved && event.target.closest?.("#graph")) event.preventDefault();
  held = null;
}, true);
addEventListener("pointerup", () => setTimeout(() => (held = null)));
document.addEventListener("swapped", ready);
ready();
