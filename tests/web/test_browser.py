"""In a real browser: nothing that a memory holds runs or becomes markup, by load or by swap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect import Memory, Store
from recollect.interfaces.web import render, reply
from recollect.interfaces.web.guard import HEADERS
from recollect.model.wire import to_segment
from tests.web.browsing import chromium
from tests.web.hostile import HOSTILE, as_name
from tests.web.visiting import Served, served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def opened(browser: Any, inspector: Served, **options: Any) -> Any:
    """A page that was let in."""
    page = browser.new_context(**options).new_page()
    page.goto(f"http://127.0.0.1:{inspector.port}/open?key={inspector.sessions.launch()}")
    return page


@pytest.fixture(scope="module")
def hostile() -> Iterator[Store]:
    """A memory with hostile words in every field that takes words."""
    with Store.open(":memory:") as store:
        memory = store.space("<b class=live>")
        for place, text in enumerate(HOSTILE):
            name = as_name(text)
            said = memory.scoped(session=name, agent=name).observe(text)[0]
            memory.remember(
                f"{text} {place}", key=f"{name} {place}", kind="fact", about=name,
                tags=[name], evidence=[said.id],
            )  # fmt: skip
        first = memory.list(limit=1)[0]
        memory.revise(first.id, "changed", reason=HOSTILE[0])
        memory.revise(first.id, HOSTILE[1], reason=HOSTILE[6])
        yield store


def addresses(memory: Memory, root: str) -> list[str]:
    """Every page, with hostile words in its query too."""
    from urllib.parse import quote

    space = f"{root}/{to_segment(memory.scope.space)}"
    first = memory.list(limit=1)[0]
    said = memory.sessions.episodes(limit=1)[0]
    text = quote(HOSTILE[1])
    return [
        f"{space}/", f"{space}/timeline?limit=500", f"{space}/search?q={text}&k=100&id={text}",
        f"{space}/timeline?session={text}&about={text}", f"{space}/r/{to_segment(first.id)}",
        f"{space}/e/{to_segment(said.id)}", f"{space}/r/{to_segment(HOSTILE[1])}",
        f"{space}/search?q=live&where={text}", f"{space}/help", f"{space}/timeline?at=12",
        f"{space}/timeline?kinds={text}",
        f"{space}/records?include=replaced", f"{space}/keys", f"{space}/presets",
        f"{space}/about/{to_segment(first.about or 'x')}", f"{space}/diff?from=0",
        f"{space}/session/{to_segment(said.scope.session or 'x')}", f"{space}/receipts",
        f"{space}/graph/{to_segment(first.id)}", f"{space}/context?q={text}&other=self",
        f"{space}/context?q=live&preset={text}",
    ]  # fmt: skip


def found_live(page: Any) -> list[str]:
    """What must not be there: a tag of a hostile text, or a sign that one ran."""
    found = [page.title()] if page.title() == "ran" else []
    return found + [f"live: {page.url}" for _ in range(page.locator(".live").count())]


def test_hostile_words_stay_words(browser: Any, hostile: Store) -> None:
    with served(hostile) as inspector:
        page = opened(browser, inspector)
        told: list[str] = []
        page.on("dialog", lambda each: told.append(f"dialog {each.message}"))
        page.on("console", lambda each: told.append(each.text) if "Content" in each.text else None)
        page.on("pageerror", lambda each: told.append(str(each)))
        asked: set[str] = set()
        page.on("request", lambda each: asked.add(each.url.split("/")[2]))
        memory = hostile.space("<b class=live>")
        loaded = addresses(memory, f"http://127.0.0.1:{inspector.port}{inspector.root}")
        for address in loaded:
            page.goto(address)
            assert found_live(page) == []
        for address in loaded:  # the same by swap: a link of ours that leads there
            page.goto(loaded[1])
            link = page.locator("a[data-swap]").first
            link.evaluate("(link, to) => link.setAttribute('href', to)", address)
            link.dispatch_event("click")
            page.wait_for_url(address)
            assert found_live(page) == []
        assert told == []
        assert asked == {f"127.0.0.1:{inspector.port}"}


def test_the_controls_are_found(
    browser: Any, hostile: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter that forgets to escape is found by the test, and stopped by the browser's policy.

    Without the policy the same text runs.
    """
    from markupsafe import Markup

    unescaped = {**render.environment().filters, "seen": Markup}
    monkeypatch.setattr(render.environment(), "filters", unescaped)
    render.environment().cache.clear()  # type: ignore[union-attr]
    memory = hostile.space("<b class=live>")
    script = next(each for each in memory.list(limit=500) if each.text.startswith("<img src=x"))
    try:
        with served(hostile) as inspector:
            path = f"{inspector.root}/{to_segment(memory.scope.space)}/r/{to_segment(script.id)}"
            address = f"http://127.0.0.1:{inspector.port}{path}"
            page = opened(browser, inspector)
            page.goto(address)
            assert page.locator("h1 img").count() == 1  # found: it is markup
            page.wait_for_timeout(100)
            assert page.title() != "ran"  # stopped: it did not run
            without = tuple(each for each in HEADERS if each[0] != "Content-Security-Policy")
            monkeypatch.setattr(reply, "HEADERS", without)
            page.goto(address)
            page.wait_for_timeout(200)
            assert page.title() == "ran"  # the policy was what stopped it
    finally:
        render.environment().cache.clear()  # type: ignore[union-attr]


def test_no_string_becomes_markup_in_the_browser(browser: Any, inspector: Served) -> None:
    page = opened(browser, inspector)
    said = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'made' } "
        "catch (error) { return error.name } }"
    )
    assert said == "TypeError"


def test_a_swap_shows_what_a_load_shows(browser: Any, inspector: Served) -> None:
    page = opened(browser, inspector)
    page.click("nav.pages >> text=timeline")
    page.wait_for_url("**/timeline")
    page.locator("nav.strip a").first.wait_for()
    with page.expect_response(lambda each: "kinds=record" in each.url):
        page.select_option("select[name=kinds]", "record")
        page.click("button:has-text('Show')")
    page.wait_for_url("**/timeline?kinds=record*")
    swapped = page.locator("main").aria_snapshot()
    page.reload()
    assert page.locator("main").aria_snapshot() == swapped
    assert page.locator("#time").get_attribute("data-head") is not None


def test_swapping_back_in_time_turns_the_page_to_the_past(browser: Any, inspector: Served) -> None:
    page = opened(browser, inspector)
    page.click("#time a[data-key='[']")
    page.wait_for_url("**at=*")
    page.locator("body.past").wait_for()
    assert page.locator("body > .then").count() == 1
    page.keyboard.press("n")
    page.locator("body:not(.past)").wait_for()


def test_the_keys_lead_around(browser: Any, inspector: Served) -> None:
    page = opened(browser, inspector)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("where does alice sit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=*")
    page.locator("li.hit").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("article.record").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/timeline*")
    page.keyboard.press("?")
    page.wait_for_url("**/help*")
    page.click("text=Switch them off")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_timeout(100)
    assert "/help" in page.url
    page.click("text=Switch them on")


def test_it_works_without_javascript(browser: Any, inspector: Served) -> None:
    page = opened(browser, inspector, java_script_enabled=False)
    page.fill("#find", "where does alice sit")
    page.press("#find", "Enter")
    page.wait_for_url("**/search?q=*")
    assert page.locator("li.hit").count() > 1
    page.click("li.hit a >> nth=0")
    assert "Alice sits in 14C." in page.inner_text("h1")
    page.click("text=in its conversation >> nth=0")
    assert "Conversation" in page.inner_text("h1")
    page.fill("#time-number", "12")
    page.press("#time-number", "Enter")
    page.wait_for_url("**at=12*")


def test_the_page_of_a_record_reads_well(browser: Any, inspector: Served) -> None:
    page = opened(browser, inspector)
    page.goto(page.url + "r/trip.flight")
    heard = page.locator("main").aria_snapshot()
    for said in (
        '- heading "Alice flies to Lisbon with LH 2044 on 24 November at 10:05." [level=1]',
        '- heading "Life" [level=2]',
        '- heading "Because" [level=2]',
        '- img "a person"',
        "- blockquote: “The flight was moved to 10:05, same day.”"[:12],
    ):
        assert said in heard, heard


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(
    browser: Any, inspector: Served, memory: Memory, width: int
) -> None:
    from tests.web.addresses import addresses as every

    page = opened(browser, inspector, viewport={"width": width, "height": 800})
    start = f"http://127.0.0.1:{inspector.port}{inspector.root}"
    once = {each.partition("?")[0]: each for each in every(memory)}  # with a query, if it has one
    for address in once.values():
        page.goto(f"{start}{address}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, (address, wide)
