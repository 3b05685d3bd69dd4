"""A long timeline in a real browser: paging through it does not fill the page or slow it down."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from recollect import Memory, Store
from tests.web.browsing import chromium
from tests.web.visiting import served

NODES_MAX = 6_000
HEAP_MAX_MB = 10.0
_WATCH = """() => {
  const gaps = []; let last = performance.now();
  const tick = (now) => { gaps.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  window.gaps = gaps;
}"""
_GAPS = "() => window.gaps.splice(0).slice(1)"
_SHOWN = "() => [...document.querySelectorAll('#list [data-row]')].map((row) => +row.id.slice(1))"
# Made of nodes, because the policy of the page lets no string become markup.
_STATIC = """() => {
  const list = document.createElement('ol');
  for (let row = 0; row < 200; row += 1) {
    const item = document.createElement('li');
    item.textContent = `Row ${row} of a page that nothing changes.`;
    list.append(item);
  }
  document.body.replaceChildren(list);
}"""


def filled(memory: Memory, count: int) -> None:
    for place in range(count):  # each a command of its own, so that each is a row
        memory.remember(f"Item {place} lies on shelf {place % 977}.", key=f"item.{place}")


def weighed(page: Any, session: Any) -> tuple[int, float]:
    """Nodes of the document, and megabytes of its heap when what is not used is gone."""
    session.send("HeapProfiler.collectGarbage")
    found = {
        each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]
    }
    nodes = page.evaluate("() => document.querySelectorAll('*').length")
    return nodes, found["JSHeapUsedSize"] / 1e6


def late(gaps: list[float]) -> float:
    return sorted(gaps)[int(len(gaps) * 0.95)]


def walked(count: int, pages: int) -> None:
    """Pages down and up again; compares what is shown with the calls, and weighs the page."""
    with (
        Store.open(":memory:", embedder="none") as store,
        chromium() as browser,
    ):
        memory = store.space("main")
        filled(memory, count)
        with served(store) as inspector:
            page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            start = f"http://127.0.0.1:{inspector.port}"
            page.goto(f"{start}/open?key={inspector.sessions.launch()}")
            page.goto(f"{start}{inspector.root}/main/timeline")
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")
            nodes, heap_mb = weighed(page, session)
            page.evaluate(_WATCH)
            first = page.evaluate(_SHOWN)
            seen, most_nodes = first, nodes
            trail = [first]
            for _ in range(pages):
                page.click("a[rel=next]")
                page.locator(f"#list:not(:has(#e{seen[0]}))").wait_for()
                seen = page.evaluate(_SHOWN)
                read = memory.events.list(before=seen[0] + 1, limit=len(seen))
                assert seen == [each.seq for each in reversed(read)]
                trail.append(seen)
                most_nodes = max(
                    most_nodes, page.evaluate("() => document.querySelectorAll('*').length")
                )
            for before in reversed(trail[:-1]):
                page.click("a[rel=prev]")
                page.locator(f"#e{before[0]}").wait_for()
            assert page.evaluate(_SHOWN) == first
            ours = late(page.evaluate(_GAPS))
            _, after_mb = weighed(page, session)
            page.evaluate(_STATIC)
            page.evaluate(_GAPS)
            for _ in range(120):
                page.mouse.wheel(0, 40)
                page.wait_for_timeout(16)
            bare = late(page.evaluate(_GAPS))
    sys.stdout.write(
        f"\n{count:,} records, {pages} pages down and up: {most_nodes:,} nodes at most, "
        f"heap {after_mb - heap_mb:+.1f} MB, p95 between frames {ours:.1f} ms, "
        f"{bare:.1f} ms on a page that does not change: {ours / bare:.2f} x\n"
    )
    assert most_nodes <= NODES_MAX
    assert after_mb - heap_mb <= HEAP_MAX_MB


def test_some_pages_down_and_up() -> None:
    walked(2_000, 6)


@pytest.mark.nightly
def test_200_pages_down_and_up_in_100_000_records() -> None:
    walked(100_000, 200)
