"""Every page of the table, with hostile words in every field: the words stay words.

``test_browser`` asks a real browser about a few of them; here the answer is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from markupsafe import Markup

from recollect import Memory, Store
from recollect.interfaces.web import render
from recollect.interfaces.web.draft import Draft
from recollect.interfaces.web.table import PAGES
from recollect.model.presets import BUILT_IN, SIGNALS, Preset, Template
from recollect.model.wire import to_segment
from tests.web.addresses import addresses
from tests.web.hostile import HOSTILE, as_name
from tests.web.visiting import Visitor, served

SPACE = '<b class="live">&amp;'


class Tags(HTMLParser):
    """What became markup that we did not write."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_ours = tag == "script" and (given.get("src") or "").startswith("/ui-")
        if "live" in (given.get("class") or "").split() or "srcdoc" in given:
            self.found.append(tag)
        if tag in ("script", "iframe", "base", "object", "style", "math") and not is_ours:
            self.found.append(tag)
        self.found += [name for name in given if name.startswith("on") or name == "style"]
        for name in ("href", "action", "src", "formaction"):
            address = given.get(name) or ""
            if address and not address.startswith(("/ui-", "#")):
                self.found.append(address)


def written(text: str) -> list[str]:
    tags = Tags()
    tags.feed(text)
    return tags.found


@pytest.fixture(scope="module")
def hostile() -> Iterator[Store]:
    with Store.open(":memory:") as store:
        memory = store.space(SPACE)
        agent = memory.scoped(trust="agent", agent=as_name(HOSTILE[0]))
        for place, text in enumerate(HOSTILE):
            name = as_name(text)
            said = memory.scoped(session=name, agent=name).observe(text)[0]
            memory.remember(
                f"{text} {place}", key=f"{name} {place}", kind="fact", about=name, tags=[name],
                evidence=[said.id],
            )  # fmt: skip
        first, second = memory.list(limit=2)
        memory.revise(first.id, HOSTILE[1], reason=HOSTILE[6])
        memory.graph.link(first.id, second.id, as_name(HOSTILE[8]))
        memory.forget(second.id, reason=HOSTILE[2])
        memory.scoped(trust="unverified").remember(HOSTILE[3], key=first.key)
        agent.review.propose(HOSTILE[1], target=first.id, reason=HOSTILE[5])
        memory.settings.presets.set(
            Preset(
                name=as_name(HOSTILE[1]), weights=BUILT_IN["task"].weights,
                guarantees=(as_name(HOSTILE[0]),), template=Template(intro=HOSTILE[1]),
            )
        )  # fmt: skip
        memory.context(HOSTILE[0])
        yield store


@pytest.fixture(scope="module")
def visitor(hostile: Store) -> Iterator[Visitor]:
    with served(hostile) as inspector:
        yield inspector.enter()


def paths(memory: Memory) -> list[str]:
    """Every page, and those that take words in their path or query with hostile ones."""
    space = f"/{to_segment(SPACE)}"
    text, name = quote(HOSTILE[1]), to_segment(as_name(HOSTILE[1]))
    words = ("q", "id", "session", "about", "who", "preset", "other")
    asked = "&".join(f"{each}={text}" for each in words)
    fields = "&".join(f"{each}={text}" for each in (*Draft.__struct_fields__, *SIGNALS, "q"))
    alone = ("search?q=a&where", "timeline?kinds", "diff?from", "timeline?at", "records?where")
    return [
        *addresses(memory, SPACE),
        *(f"{space}/{each}/{name}" for each in ("about", "session", "r", "e", "graph", "presets")),
        *(f"{space}/{each}/{name}" for each in ("receipts", "erase", "ledger", "nothing")),
        *(f"{space}/{page.path}?{asked}" for page in PAGES if "{" not in page.path),
        *(f"{space}/{each}={text}" for each in alone),
        f"{space}/presets/{name}/edit",
        f"{space}/presets/{name}/edit?{fields}",
    ]


def test_hostile_words_stay_words_on_every_page(visitor: Visitor, hostile: Store) -> None:
    memory = hostile.space(SPACE)
    statuses = []
    for path in paths(memory):
        page = visitor.get(path)
        assert page.status < 500, path
        statuses.append(page.status)
        if page.headers["content-type"].startswith("text/html"):
            assert written(page.text) == [], path
            assert "\u202e" not in page.text.replace("&#8238;", ""), path
    assert statuses.count(200) > len(PAGES)


def test_a_filter_that_forgets_to_escape_is_found(
    visitor: Visitor, hostile: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    unescaped = {**render.environment().filters, "seen": Markup}
    monkeypatch.setattr(render.environment(), "filters", unescaped)
    render.environment().cache.clear()  # type: ignore[union-attr]
    try:
        page = visitor.get(f"/{to_segment(SPACE)}/timeline?limit=500")
        assert written(page.text) != []
    finally:
        render.environment().cache.clear()  # type: ignore[union-attr]
