"""Fifteen tasks of a person, without JavaScript, and with the keyboard alone.

Both do the same script. Without JavaScript it is driven by clicks and plain loads; with the
keyboard alone nothing but keys is sent: Tab to what is meant, Enter, Space and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from recollect import Memory, Store
from recollect.interfaces.web.demo import told
from tests.web.browsing import chromium
from tests.web.visiting import Served, served

_TABS_MAX_COUNT = 250


class Hands(Protocol):
    """How a person uses a page."""

    page: Any

    def go(self, path: str) -> None: ...
    def write(self, field: str, text: str) -> None: ...
    def press(self, target: str) -> None: ...
    def unfold(self, words: str) -> None: ...


class Clicks:
    """A pointer, in a browser that runs no script."""

    def __init__(self, page: Any, start: str) -> None:
        self.page, self._start = page, start

    def go(self, path: str) -> None:
        self.page.goto(f"{self._start}{path}")

    def write(self, field: str, text: str) -> None:
        self.page.fill(field, text)

    def press(self, target: str) -> None:
        self.page.locator(target).first.click()

    def unfold(self, words: str) -> None:
        self.page.locator("main summary", has_text=words).first.click()


class Keys(Clicks):
    """Keys alone; an address is typed, as into the bar of a browser."""

    def _tab_to(self, target: str) -> None:
        wanted = self.page.locator(target).first
        wanted.wait_for(state="attached")
        handle = wanted.element_handle()
        for _ in range(_TABS_MAX_COUNT):
            if handle.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no key leads to {target} on {self.page.url}")

    def write(self, field: str, text: str) -> None:
        self._tab_to(field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def press(self, target: str) -> None:
        self._tab_to(target)
        with self.page.expect_navigation():  # of a load or of a swap
            self.page.keyboard.press("Enter")

    def unfold(self, words: str) -> None:
        summary = f'main summary:has-text("{words}")'
        self._tab_to(summary)
        self.page.keyboard.press("Enter")


@pytest.fixture
def store() -> Iterator[Store]:
    with told() as store:
        yield store


def seen(hands: Hands) -> str:
    return re.sub(r"\s+", " ", hands.page.inner_text("main"))


def sheets(pdf: bytes) -> int:
    """How many pages a PDF has."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def tasks(hands: Hands, memory: Memory) -> int:
    """All of them, in the order of the specification; returns how many were done."""
    done = [
        _find(hands), _why_first(hands), _why_not(hands), _who_said_it(hands, memory),
        _as_of_yesterday(hands, memory), _correct_and_undo(hands, memory),
        _forget_and_restore(hands, memory), _decide(hands, memory), _context(hands),
        _replay(hands, memory), _verify(hands), _erase(hands, memory), _tokens(hands),
    ]  # fmt: skip
    return sum(done)


def _find(hands: Hands) -> int:
    hands.go("/demo/")
    hands.write("#find", "Where does Alice sit?")
    hands.page.keyboard.press("Enter")
    hands.page.wait_for_selector("#hits .hit")
    assert "Alice sits in 14C." in seen(hands)
    return 1


def _why_first(hands: Hands) -> int:
    first = hands.page.locator("#hits .hit").first.inner_text()
    assert "Alice sits in 14C." in first
    assert "score" in first
    assert "words +" in first
    return 1


def _why_not(hands: Hands) -> int:
    hands.write('.whynot input[name="id"]', "trip.hotel")
    hands.press(".whynot button")
    hands.page.wait_for_selector(".whynot .answer")
    return 1


def _who_said_it(hands: Hands, memory: Memory) -> int:
    hands.go("/demo/r/alice.seat")
    assert "She moved to the window" in seen(hands)
    hands.press(".quote a")
    hands.page.wait_for_selector(".talk")
    assert "She moved to the window" in seen(hands)
    return 1


def _as_of_yesterday(hands: Hands, memory: Memory) -> int:
    hands.go("/demo/r/trip.flight")
    assert "10:05" in hands.page.inner_text("h1")
    hands.write("#time-number", "26")
    hands.page.keyboard.press("Enter")
    hands.page.wait_for_selector("body.past")
    assert "09:20" in hands.page.inner_text("h1")
    return 1


def _correct_and_undo(hands: Hands, memory: Memory) -> int:
    hands.go("/demo/r/trip.hotel")
    before = memory.get(key="trip.hotel").text
    hands.unfold("Revise")
    hands.write("#text", "The hotel is nine minutes away.")
    hands.press('form[action$="/revise"] button')
    hands.page.wait_for_selector(".flash")
    assert memory.get(key="trip.hotel").text == "The hotel is nine minutes away."
    hands.press(".flash button")
    hands.page.wait_for_selector('.flash:has-text("Taken back")')
    assert memory.get(key="trip.hotel").text == before
    return 2


def _forget_and_restore(hands: Hands, memory: Memory) -> int:
    id = memory.get(key="trip.dinner").id
    hands.go(f"/demo/r/{id}")
    hands.unfold("Forget")
    hands.press('form[action$="/forget"] button')
    hands.page.wait_for_selector(".flash")
    assert id not in [each.id for each in memory.list()]
    hands.go(f"/demo/r/{id}")
    hands.press('form[action$="/restore"] button')
    hands.page.wait_for_selector(".flash")
    assert id in [each.id for each in memory.list()]
    return 2


def _decide(hands: Hands, memory: Memory) -> int:
    waiting = {each.unit: each.id for each in memory.review.list()}
    hands.go(f"/demo/review?id={waiting['proposal']}")
    hands.press('form[action$="/approve"] button')
    hands.page.wait_for_selector('.flash:has-text("Approved.")')
    assert memory.get(key="alice.meal").text == "Alice eats vegan meals on flights."
    hands.go(f"/demo/review?id={waiting['record']}")
    hands.write("#reason", "it came from a web page")
    hands.page.keyboard.press("Enter")
    hands.page.wait_for_selector('.flash:has-text("Rejected.")')
    assert waiting["record"] not in [each.id for each in memory.review.list()]
    return 1


def _context(hands: Hands) -> int:
    hands.go("/demo/context")
    hands.write('main form.ask input[name="q"]', "Where does Alice sit?")
    hands.write('main form.ask input[name="tokens"]', "299")
    hands.press("main form.ask button")
    hands.page.wait_for_selector("#packed :text('of 299')")
    assert "Alice sits in 14C." in seen(hands)
    return 1


def _replay(hands: Hands, memory: Memory) -> int:
    hands.go("/demo/receipts")
    hands.press("main a[data-open]")
    hands.page.wait_for_selector("h1:has-text('handed out at')")
    assert "Alice" in seen(hands)
    return 1


def _verify(hands: Hands) -> int:
    hands.go("/demo/ledger")
    hands.press('button[value="now"]')
    hands.page.wait_for_selector(".verdict")
    assert "follow from each other" in seen(hands)
    return 1


def _erase(hands: Hands, memory: Memory) -> int:
    id = memory.get(key="home.plants").id
    hands.go(f"/demo/r/{id}")
    hands.press(".erase-link a")
    hands.page.wait_for_selector("h1:has-text('Erase for good')")
    assert "This is a dry run" in seen(hands)
    hands.write("#typed", id[-6:])
    hands.press("button.danger")
    hands.page.wait_for_selector("h1:has-text('Certificate of erasure')")
    assert "Bob waters" not in hands.page.content()
    assert sheets(hands.page.pdf(format="A4")) == 1
    return 1


def _tokens(hands: Hands) -> int:
    hands.go("/-/tokens")
    hands.write("#label", "laptop")
    hands.press('form[action$="/tokens/create"] button')
    hands.page.wait_for_selector(".tokens")
    hands.go("/-/tokens")
    hands.press('form[action$="/rotate"] button')
    hands.page.wait_for_load_state()
    hands.go("/-/tokens")
    count = hands.page.locator('form[action$="/revoke"]').count()
    assert count == 2  # the old one works for a while
    hands.press('form[action$="/revoke"] button')
    hands.go("/-/tokens")
    assert hands.page.locator('form[action$="/revoke"]').count() == 1
    return 1


def entered(browser: Any, inspector: Served, **options: Any) -> tuple[Any, str]:
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(15_000)
    start = f"http://127.0.0.1:{inspector.port}"
    page.goto(f"{start}/open?key={inspector.sessions.launch()}")
    return page, f"{start}{inspector.root}"


def test_fifteen_tasks_without_javascript(store: Store) -> None:
    with chromium() as browser, served(store) as inspector:
        page, start = entered(browser, inspector, java_script_enabled=False)
        assert tasks(Clicks(page, start), store.space("demo")) == 15


@pytest.mark.nightly
def test_fifteen_tasks_with_the_keyboard_alone(store: Store) -> None:
    with chromium() as browser, served(store) as inspector:
        page, start = entered(browser, inspector)
        assert tasks(Keys(page, start), store.space("demo")) == 15


def test_the_keys_of_a_review(store: Store) -> None:
    memory = store.space("demo")
    with chromium() as browser, served(store) as inspector:
        page, start = entered(browser, inspector)
        first, second, third = (each.id for each in memory.review.list())
        page.goto(f"{start}/demo/review")
        page.keyboard.press("l")
        page.wait_for_selector(f'form[action*="{second}"]')
        page.keyboard.press("r")
        page.keyboard.type("not from the web")
        page.keyboard.press("Enter")
        page.wait_for_selector('.flash:has-text("Rejected.")')
        assert second not in [each.id for each in memory.review.list()]
        page.wait_for_selector(f'form[action*="{third}"]')
        page.keyboard.press("a")
        page.wait_for_selector('button[data-press="a"]:focus')
        page.wait_for_timeout(300)
        assert third in [each.id for each in memory.review.list()]  # a stray key decides nothing
        page.keyboard.press("Enter")
        page.wait_for_selector('.flash:has-text("Approved.")')
        assert [each.id for each in memory.review.list()] == [first]
