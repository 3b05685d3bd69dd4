"""The palette, and the line that says how much is new."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from recollect import Memory, Store
from recollect.interfaces.web.demo import told
from tests.web.browsing import chromium
from tests.web.visiting import Served, Visitor, served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def own() -> Iterator[tuple[Served, Memory]]:
    """An inspector whose memory the test may change."""
    with told() as store, served(store) as found:
        yield found, store.space("demo")


def stream(visitor: Visitor, path: str) -> tuple[HTTPConnection, Any]:
    connection = HTTPConnection("127.0.0.1", visitor.served.port, timeout=60)
    headers = {"Cookie": visitor.cookie, "Sec-Fetch-Site": "same-origin"}
    connection.request("GET", f"{visitor.served.root}{path}", headers=headers)
    return connection, connection.getresponse()


def test_a_stream_says_how_much_is_new_and_nothing_else(own: tuple[Served, Memory]) -> None:
    inspector, memory = own
    head = memory.events.position
    connection, answer = stream(inspector.enter(), f"/demo/live?after={head}")
    assert answer.status == 200
    assert answer.getheader("content-type") == "text/event-stream"
    assert answer.getheader("cache-control") == "no-store"
    memory.remember("A canary sings at 4711.")
    grown = memory.events.position - head
    assert answer.readline() == f"data: {grown}\n".encode()
    assert answer.readline() == b"\n"
    connection.close()


def test_streams_are_bounded_and_need_a_session(own: tuple[Served, Memory]) -> None:
    inspector, _ = own
    visitor = inspector.enter()
    held = [stream(visitor, "/demo/live") for _ in range(6)]
    assert {answer.status for _, answer in held} == {200}
    assert visitor.get("/demo/live").status == 503
    for connection, _ in held:
        connection.close()
    stranger = inspector.ask("GET", f"{inspector.root}/demo/live", {})
    assert stranger.status == 401
    assert "data:" not in stranger.text


def test_a_process_with_streams_ends(store: Store) -> None:
    """The block below ends the server; a stream that went on would hold it for ten minutes."""
    with served(store) as inspector:
        connection, answer = stream(inspector.enter(), "/demo/live")
        assert answer.status == 200
        threading.Timer(0.1, connection.close).start()


def test_a_word_leads_to_an_id_a_key_a_page_or_a_search(visitor: Visitor, memory: Memory) -> None:
    record = memory.get("alice.seat")
    leads = {
        "alice.seat": f"/r/{record.id}",
        record.id: f"/r/{record.id}",
        "timel": "/timeline",
        "where does alice sit": "/search?q=where+does+alice+sit",
        "": "/search",
    }
    for word, place in leads.items():
        found = visitor.get(f"/demo/go?q={word.replace(' ', '+')}")
        assert found.status == 303, word
        assert found.headers["location"].endswith(place), word


def test_the_line_counts_what_is_new_and_loads_it(browser: Any, own: tuple[Served, Memory]) -> None:
    inspector, memory = own
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{inspector.port}/open?key={inspector.sessions.launch()}")
    assert not page.locator("#fresh").is_visible()
    memory.remember("Carol brings the tickets.")
    page.locator("#fresh a").wait_for(state="visible", timeout=60_000)
    assert "new event" in page.locator("#fresh a").inner_text()
    assert page.get_by_text("Carol brings the tickets.").count() == 0  # nothing moves by itself
    page.locator("#fresh a").click()
    page.get_by_text("Carol brings the tickets.").first.wait_for(timeout=60_000)
    page.close()


def test_the_palette_goes_by_keyboard(browser: Any, inspector: Served, memory: Memory) -> None:
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{inspector.port}/open?key={inspector.sessions.launch()}")
    page.keyboard.press("Control+k")
    page.keyboard.type("alice.seat")
    id = memory.get("alice.seat").id
    # What the first letters find is replaced by what all of them find; what is chosen stays so.
    page.locator(f"#palette ol li:first-child a[href$='/r/{id}']").wait_for(timeout=60_000)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/r/{id}", timeout=60_000)
    page.close()
