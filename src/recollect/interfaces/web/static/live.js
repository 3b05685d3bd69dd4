// Says how much is new while a page is open, instead of moving what is being read. One stream, and
// only while the page is visible: a browser has six connections for all its tabs.
let stream = null;

function stop() {
  stream?.close();
  stream = null;
}

function start() {
  stop();
  const line = document.getElementById("fresh");
  if (!line || document.hidden) return;
  stream = new EventSource(line.dataset.live);
  stream.onmessage = (event) => {
    const count = Number(event.data);
    if (!Number.isInteger(count) || count < 1) return;
    line.querySelector("a").textContent = count === 1 ? "1 new event" : `${count} new events`;
    line.hidden = false;
  };
}

document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
document.addEventListener("swapped", start);
addEventListener("pagehide", stop);
start();
