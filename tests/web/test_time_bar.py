"""The time bar in a real browser: it follows the hand, and every list is that of its position."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from recollect import Memory, Store
from tests.web.browsing import chromium
from tests.web.visiting import Served, served

APPENDS = 260
KEYS = 40


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lived() -> Iterator[tuple[Memory, Served]]:
    """A memory whose values changed often, in commands of one and of several events."""
    with Store.open(":memory:") as store:
        memory = store.space("demo")
        for place in range(APPENDS):
            key = f"key.{place * 7 % KEYS}"
            if place % 11 == 10:
                memory.forget(memory.list(limit=1)[0].id)
            else:
                memory.remember(f"Value {place} of {key}.", key=key)
        with served(store) as inspector:
            yield memory, inspector


class Watched:
    """The requests of a page: how long each took, and how many there were at once."""

    def __init__(self, page: Any) -> None:
        self.now = self.most = 0
        self.taken: list[float] = []
        page.on("request", self._began)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", lambda _: self._less())

    def _began(self, request: Any) -> None:
        if request.resource_type == "xhr" and "/records" in request.url:
            self.now += 1
            self.most = max(self.most, self.now)

    def _ended(self, request: Any) -> None:
        if request.resource_type == "xhr" and "/records" in request.url:
            timing = request.timing
            self.taken.append(timing["responseEnd"] - timing["requestStart"])
            self._less()

    def _less(self) -> None:
        self.now = max(0, self.now - 1)


def shown(page: Any) -> tuple[int, list[str]]:
    """The position that the bar says, and the ids that the page lists, at one moment."""
    position, ids = page.evaluate(
        "() => [document.getElementById('time').dataset.position,"
        " [...document.querySelectorAll('[data-id]')].map((each) => each.dataset.id)]"
    )
    return int(position), ids


def opened(browser: Any, inspector: Served, **options: Any) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 800}, **options).new_page()
    start = f"http://127.0.0.1:{inspector.port}"
    page.goto(f"{start}/open?key={inspector.sessions.launch()}")
    page.goto(f"{start}{inspector.root}/demo/records")
    return page


def moved(page: Any, x: float, y: float) -> None:
    """Moves the hand; a browser tells the page of it when it paints."""
    value = "document.getElementById('time-slide').value"
    before = page.evaluate(value)
    page.mouse.move(x, y)
    for _ in range(200):
        if page.evaluate(value) != before:
            return
        page.wait_for_timeout(5)
    pytest.fail(f"the slider stays at {before}")


def dragged(browser: Any, lived: tuple[Memory, Served], count: int) -> None:
    """Drags the slider to so many places; compares what is shown at each, and on the way."""
    memory, inspector = lived
    page = opened(browser, inspector)
    watched = Watched(page)
    box = page.locator("#time-slide").bounding_box()
    y, left, width = box["y"] + box["height"] / 2, box["x"] + 8, box["width"] - 16
    with page.expect_response(lambda each: "/stops" in each.url):
        page.mouse.move(left + width, y)
    page.mouse.down()
    seen: set[int] = set()
    position, ids = shown(page)
    for place in range(count):
        at = (place * 37 % count) / count if place % 5 == 4 else 1 - (place + 1) / count
        moved(page, left + width * at, y)
        on_the_way = shown(page)
        assert on_the_way[1] == listed(memory, on_the_way[0])
        page.locator("#time:not([data-busy])").wait_for()
        position, ids = shown(page)
        assert ids == listed(memory, position), position
        assert abs(position / memory.events.position - at) < 0.03
        seen.add(position)
    page.mouse.up()
    page.wait_for_url(f"**at={position}*")
    page.reload()
    assert shown(page) == (position, ids)
    slowest = sorted(watched.taken)[int(len(watched.taken) * 0.95) - 1]
    sys.stdout.write(
        f"\n{count} places dragged to, {len(seen)} positions, {len(watched.taken)} answers: "
        f"p95 {slowest:.1f} ms, most requests at once {watched.most}\n"
    )
    assert watched.most == 1
    assert len(seen) > count // 2


def listed(memory: Memory, position: int) -> list[str]:
    return [each.id for each in memory.at(position).list()]


def test_the_page_follows_the_hand(browser: Any, lived: tuple[Memory, Served]) -> None:
    dragged(browser, lived, 25)


@pytest.mark.nightly
def test_the_page_follows_the_hand_to_300_places(
    browser: Any, lived: tuple[Memory, Served]
) -> None:
    dragged(browser, lived, 300)


def test_keys_and_fields_move_it(browser: Any, lived: tuple[Memory, Served]) -> None:
    memory, inspector = lived
    page = opened(browser, inspector)
    for key in ("[", "[", "]"):
        before = page.locator("#time").get_attribute("data-position")
        page.keyboard.press(key)
        page.locator(f"#time:not([data-position='{before}'])").wait_for()
        position, ids = shown(page)
        assert ids == listed(memory, position)
    page.keyboard.press("n")
    page.locator(f"#time[data-position='{memory.events.position}']").wait_for()
    page.fill("#time-number", "123")
    page.press("#time-number", "Enter")
    stop = memory.at(123).events.position
    page.locator(f"#time[data-position='{stop}']").wait_for()
    assert shown(page)[1] == listed(memory, stop)
    page.focus("#time-slide")
    page.keyboard.press("Home")
    page.locator("#time[data-position='0']:not([data-busy])").wait_for()
    assert shown(page) == (0, [])
    assert "Nothing was believed then." in page.inner_text("main")
    page.keyboard.press("End")
    page.locator(f"#time[data-position='{memory.events.position}']:not([data-busy])").wait_for()
    assert page.locator("body.past").count() == 0


def test_without_javascript_it_is_a_form(browser: Any, lived: tuple[Memory, Served]) -> None:
    memory, inspector = lived
    page = opened(browser, inspector, java_script_enabled=False)
    page.focus("#time-slide")
    page.keyboard.press("Home")
    page.click("form.slide button")
    page.wait_for_url("**at=0*")
    page.click("#time a[data-key=']']")  # the space is opened
    page.click("#time a[data-key=']']")
    assert page.locator("[data-id]").count() == 1
    page.click("#time a[data-key='}']")
    assert page.locator("[data-id]").count() == len(memory.list())
    page.fill("#time-day", "2001-01-01")
    page.press("#time-day", "Enter")
    page.wait_for_url("**at=2001-01-01*")
    assert page.locator("[data-id]").count() == 0
    page.click("text=back to now >> nth=0")
    assert page.locator("body.past").count() == 0


def test_the_graph_moves_and_magnifies(browser: Any, inspector: Served, memory: Memory) -> None:
    memory.graph.link(
        memory.get(key="trip.hotel").id, memory.get(key="trip.dinner").id, "relates_to"
    )
    page = opened(browser, inspector)
    page.goto(page.url.replace("/records", "/graph/trip.hotel"))
    box = "() => document.getElementById('graph').getAttribute('viewBox').split(' ').map(Number)"
    whole = page.evaluate(box)
    page.click("button[aria-label='Nearer']")
    near = page.evaluate(box)
    assert near[2] < whole[2]
    page.focus("#graph")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(box)[0] > near[0]
    at = page.locator("#graph").bounding_box()
    page.mouse.move(at["x"] + 60, at["y"] + 60)
    page.mouse.down()
    page.mouse.move(at["x"] + 160, at["y"] + 90)
    page.mouse.up()
    assert page.evaluate(box)[0] < near[0] + near[2] * 0.15
    assert "/graph/trip.hotel" in page.url
    page.focus("#graph")
    page.keyboard.press("0")
    assert page.evaluate(box) == whole
    page.locator("#graph a").last.click()
    page.wait_for_url("**/graph/2*")
    assert page.locator("div.tools").count() == 1
