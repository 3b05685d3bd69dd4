"""The pages have no fault that axe finds, in light, dark, forced colours and on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect import Memory
from tests.web.addresses import addresses
from tests.web.browsing import chromium
from tests.web.visiting import Served

MODES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced": {"forced_colors": "active"},
    "narrow": {"viewport": {"width": 390, "height": 800}},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_no_fault(browser: Any, inspector: Served, memory: Memory, mode: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    page = browser.new_context(**MODES[mode]).new_page()
    start = f"http://127.0.0.1:{inspector.port}"
    page.goto(f"{start}/open?key={inspector.sessions.launch()}")
    paths = {each.partition("?")[0]: each for each in reversed(addresses(memory))}
    past = [f"{each}{'&' if '?' in each else '?'}at=26" for each in ("/demo/", "/demo/timeline")]
    for path in [*paths.values(), *past, "/demo/r/nothing", "/demo/search?q=alice&id=trip.hotel"]:
        page.goto(f"{start}{inspector.root}{path}")
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        found = axe.Axe().run(page).response["violations"]
        told = [
            (each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"])
            for each in found
        ]
        assert told == [], (mode, path)
