"""Every page of the table: filled, empty, in the past; its numbers, its calls, its JSON."""

from __future__ import annotations

import re
import shlex
from html import unescape
from operator import attrgetter

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.web import table
from recollect.interfaces.web.memories import UNKNOWN, Own
from recollect.model.values import INCLUDES
from tests.web.addresses import addresses
from tests.web.visiting import Page, Visitor, served

WRITES = "Save|Forget|Restore|Tag|Link|Unlink|Approve|Reject|Erase|Sign"  # labels of buttons


def test_every_page_is_shown(visitor: Visitor, memory: Memory) -> None:
    for address in addresses(memory):
        page = visitor.get(address)
        assert page.status == 200, (address, page.words[:300])
        assert page.text.count("<h1") == 1, address
        assert '<main id="main"' in page.text
        assert 'id="time"' in page.text


def test_every_page_is_shown_of_the_past(visitor: Visitor, memory: Memory) -> None:
    past = 26  # the records of most addresses are there
    for address in addresses(memory.at(past)):
        page = visitor.get(f"{address}{'&' if '?' in address else '?'}at={past}")
        assert page.status == 200, (address, page.words[:300])
        assert '<body class="past">' in page.text
        assert "As it was at event 26" in page.words
        for button in re.findall(
            r"<button[^>]*>(?=Save|Forget|Restore|Tag|Link|Unlink|Approve|Reject|Erase|Sign)",
            page.text,
        ):
            assert "disabled" in button, address
        assert 'href="' in page.text


def test_every_page_is_shown_of_an_empty_memory() -> None:
    with Store.open(":memory:") as store:
        store.space("demo").remember("x", id="only")
        store.space("demo").erase("only")
        with served(store) as inspector:
            visitor = inspector.enter()
            for at in ("", "at=0"):
                for path in (
                    "/demo/",
                    "/demo/timeline",
                    "/demo/search",
                    "/demo/search?q=x",
                    "/demo/help",
                    "/demo/review",
                    "/demo/ledger",
                    "/demo/audit",
                    "/demo/records",
                    "/demo/keys",
                    "/demo/about/alice",
                    "/demo/context?q=x",
                    "/demo/receipts",
                    "/demo/presets",
                    "/demo/diff",
                    "/demo/stops",
                ):
                    page = visitor.get(f"{path}{'&' if '?' in path else '?'}{at}")
                    assert page.status == 200, (path, page.words[:300])
            assert "Nothing here answers that." in visitor.get("/demo/search?q=zzz").words
            assert "Nothing here yet" in visitor.get("/demo/timeline?at=0").words


def test_several_spaces_are_listed_and_one_is_not() -> None:
    with Store.open(":memory:") as store:
        store.space("one").remember("x")
        with served(store) as inspector:
            assert inspector.enter().get("/").status == 303
            store.space("two & more").remember("y")
            visitor = inspector.enter()
            listed = visitor.get("/")
            assert listed.status == 200
            assert "two & more" in listed.words
            assert visitor.get("/~dHdvICYgbW9yZQ/").status == 200


def test_a_problem_says_what_to_do(visitor: Visitor) -> None:
    missing = visitor.get("/demo/r/nothing")
    assert missing.status == 404
    assert "Nothing here has the id" in missing.words
    assert re.search("request [0-9a-f]{8}", missing.words)
    wrong = visitor.get("/demo/search?q=alice&where=kind+~")
    assert wrong.status == 422
    number = visitor.get("/demo/timeline?before=soon")
    assert number.status == 422
    assert "must be a number" in number.words


def test_the_search_shows_the_numbers_of_recall(visitor: Visitor, memory: Memory) -> None:
    query = "where does alice sit"
    page = visitor.get(f"/demo/search?q={query.replace(' ', '+')}&k=5")
    found = memory.recall(query, k=5)
    hits = re.findall(r'<li class="hit".*?</li>\n', page.text, re.DOTALL)
    shown = page.text.split('<li class="hit"')[1:]
    assert len(shown) == len(found.hits) + len(found.unverified)
    assert hits is not None
    for text, hit in zip(shown, (*found.hits, *found.unverified), strict=True):
        assert f"<b>{hit.relevance:.2f}</b>" in text
        for value in hit.shares.values():
            assert abs(value) < 0.005 or f"<b>{value:+.2f}</b>" in text
        assert f'<b class="small">{hit.score:.2f}</b>' in text
        assert f"<code>{hit.id}</code>" in text
        widths = [float(each) for each in re.findall(r'class="tone"[^>]*width="([0-9.]+)"', text)]
        assert len(widths) == sum(abs(value) >= 0.005 for value in hit.shares.values())
    if found.waiting:
        assert f"{found.waiting:,} more" in page.words


def test_why_not_is_said_in_words(visitor: Visitor, memory: Memory) -> None:
    query = "where does alice sit"
    page = visitor.get("/demo/search?q=where+does+alice+sit&k=1&id=trip.hotel")
    why = memory.admin.why_not("trip.hotel", query, k=1)
    assert why.detail in page.words
    none = visitor.get("/demo/search?q=alice&id=not-there")
    assert "Nothing here has the id" in none.words


def test_the_record_shows_its_life_and_its_evidence(visitor: Visitor, memory: Memory) -> None:
    record = memory.get(key="trip.flight")
    page = visitor.get("/demo/r/trip.flight")
    history, why = memory.history(record.id), memory.why(record.id)
    assert f"confidence {record.confidence:.2f}" in page.words
    assert page.text.count('id="v') == len(history)
    assert "<del><bdi>09:20</bdi></del><ins><bdi>10:05</bdi></ins>" in page.text
    for source in why.sources:
        assert source.quote in page.words
    for version in history:
        assert memory.events.get(version.seq).hash[:16] in page.text
    assert "the airline moved it" in page.words


def test_a_replaced_record_says_by_what(visitor: Visitor, memory: Memory) -> None:
    old = memory.list(filter="key = 'alice.seat'", include=["replaced"])[-1]
    page = visitor.get(f"/demo/r/{old.id}")
    assert "Replaced by Alice sits in 14C." in page.words
    assert old.replaced_by is not None
    assert f"/demo/r/{old.replaced_by}" in page.text


def test_an_episode_has_a_page_of_its_own(visitor: Visitor, memory: Memory) -> None:
    said = memory.sessions.episodes(filter="session = 'booking'", limit=1)[0]
    moved = visitor.get(f"/demo/r/{said.id}")
    assert moved.status == 303
    page = visitor.get(f"/demo/e/{said.id}")
    assert said.text in page.words
    assert "Conversation booking" in page.words


def test_the_timeline_lists_each_event_once(visitor: Visitor, memory: Memory) -> None:
    seen: list[int] = []
    path = "/demo/timeline?limit=7&as=json"
    before = None
    while True:
        page = visitor.get(path if before is None else f"{path}&before={before}")
        events = msgspec.json.decode(page.text)
        if not events:
            break
        seen += [each["seq"] for each in reversed(events)]
        before = events[0]["seq"]
    assert seen == list(range(memory.events.position, 0, -1))


@pytest.mark.parametrize("query", ["", "&kinds=record", "&who=agent", "&kinds=record&who=agent"])
def test_newer_leads_back_to_the_first_page(visitor: Visitor, query: str) -> None:
    link = re.compile(r'<a rel="(next|prev)" href="[^"]*?(/demo/timeline[^"]*)"')

    def looked(path: str) -> tuple[list[str], dict[str, str]]:
        page = visitor.get(path)
        assert page.status == 200
        return re.findall(r'id="(e[0-9]+)"', page.text), dict(link.findall(unescape(page.text)))

    path = f"/demo/timeline?limit=2{query}"
    seen = [looked(path)]
    assert "prev" not in seen[0][1]
    while "next" in seen[-1][1]:
        seen.append(looked(seen[-1][1]["next"]))
    assert len(seen) > 2
    found = seen.pop()
    while seen:
        found = looked(found[1]["prev"])
        assert found[0] == seen.pop()[0]
    assert "prev" not in found[1]


def test_the_timeline_filters(visitor: Visitor, memory: Memory) -> None:
    def seqs(query: str) -> list[int]:
        return [
            each["seq"]
            for each in msgspec.json.decode(visitor.get(f"/demo/timeline?as=json&{query}").text)
        ]

    every = memory.events.list(limit=1000)
    assert seqs("who=unverified") == [each.seq for each in every if each.by == "unverified"]
    assert seqs("session=booking") == [
        each.seq for each in every if each.scope.session == "booking"
    ]
    assert seqs("kinds=link") == [each.seq for each in every if each.kind == "link.added"]
    about = memory.get(key="trip.flight").id
    assert seqs(f"about={about}") == [each.seq for each in memory.events.list(id=about)]
    assert visitor.get("/demo/timeline?kinds=nothing").status == 422


def test_the_position_may_be_an_instant(visitor: Visitor, memory: Memory) -> None:
    at = memory.events.list(limit=20)[10].at
    page = visitor.get(f"/demo/timeline?at={at}")
    assert f"As it was at event {memory.at(at).events.position}" in page.words
    head = visitor.get(f"/demo/timeline?at={memory.events.position + 100}")
    assert "As it was" not in head.words


def test_steps_lead_from_stop_to_stop(visitor: Visitor, memory: Memory) -> None:
    stops = [0]
    page = visitor.get("/demo/help?at=0")
    while (found := re.search(r'href="([^"]*)" data-key="\]"', page.text)) is not None:
        path = unescape(found[1])[len(visitor.served.root) :]
        page = visitor.get(path)
        stops.append(int(re.search(r'data-position="(\d+)"', page.text)[1]))  # type: ignore[index]
    assert stops == sorted(
        {memory.at(each).events.position for each in range(memory.events.position + 1)}
    )


CALL = re.compile(r"<dt>(Python|Command)</dt><dd><code>(.*?)</code></dd>")


def listed(page: Page) -> list[tuple[str, str]]:
    return [(kind, unescape(code)) for kind, code in CALL.findall(page.text)]


def as_json(value: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_the_calls_of_a_page_give_its_answer(visitor: Visitor, memory: Memory) -> None:
    for address in addresses(memory):
        page = visitor.get(address)
        calls = [code for kind, code in listed(page) if kind == "Python"]
        answers = [eval(code, {"memory": memory}) for code in calls]
        told = visitor.get(f"{address}{'&' if '?' in address else '?'}as=json")
        assert told.status == 200
        answer = msgspec.json.decode(told.text)
        if "/search?" in address:
            assert answer["recall"] == as_json(answers[0])
        if "/timeline" in address and "who" not in address and "session" not in address:
            assert answer == as_json(answers[0]), address
        if "/r/" in address:
            assert answer["record"] == as_json(answers[0])
            assert answer["history"] == as_json(answers[1])


def test_the_commands_of_a_page_are_commands(visitor: Visitor, memory: Memory) -> None:
    from tests.docs.test_commands import complaint

    seen = set()
    for address in addresses(memory):
        for kind, code in listed(visitor.get(address)):
            if kind == "Command":
                words = shlex.split(code)
                assert words[0] == "recollect"
                assert complaint(code.removeprefix("recollect ")) is None
                seen.add(words[1])
    assert seen >= {"log", "recall", "show", "status", "admin"}


def test_every_call_of_the_table_is_one_of_memory() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        for page in table.PAGES:
            assert page.about.endswith(".")
            for call in page.calls:
                assert callable(attrgetter(call)(memory)), call


def test_nothing_of_a_memory_is_in_a_title(visitor: Visitor, memory: Memory) -> None:
    texts = [each.text for each in memory.list(include=INCLUDES)]
    for address in addresses(memory):
        title = re.search("<title>(.*?)</title>", visitor.get(address).text)
        assert title is not None
        assert not any(text in unescape(title[1]) for text in texts)


def test_no_template_switches_escaping_off() -> None:
    from recollect.interfaces.web import render

    names = render.environment().list_templates()
    assert "base.html" in names
    for name in names:
        source = render.environment().loader.get_source(render.environment(), name)[0]  # type: ignore[union-attr]
        assert "|safe" not in source.replace(" ", "")
        assert "autoescape" not in source
        assert "style=" not in source
        assert not re.search(r"\bon\w+=", source)
        assert not re.search(r"<script(?![^>]*\bsrc=)", source)


def test_a_memory_from_elsewhere_is_shown_and_not_changed(store: Store, memory: Memory) -> None:
    class Foreign(Own):
        """A store whose memory is not known."""

        def cannot_write(self, space: str) -> str | None:
            return UNKNOWN

    with served(store, Foreign(store)) as inspector:
        visitor = inspector.enter()
        page = visitor.get("/demo/r/home.plants")
        assert "recollect init" in page.words
        assert page.status == 200
        id = memory.get(key="home.plants").id
        fields = {"command": "a", "expect": str(memory.get(id).seq)}
        assert visitor.post(f"/demo/r/{id}/forget", fields).status == 403


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_the_theme_is_a_form(visitor: Visitor, theme: str) -> None:
    back = f"{visitor.served.root}/demo/timeline?kinds=record"
    done = visitor.post("/-/theme", {"theme": theme, "back": back})
    assert done.status == 303
    assert done.headers["location"] == back
    assert f'data-theme="{theme}"' in visitor.get("/demo/").text
    for bad in (
        "http://evil.example/",
        "//evil.example",
        f"{visitor.served.root}//evil",
        "x\r\nSet-Cookie: a",
    ):
        assert (
            visitor.post("/-/theme", {"theme": theme, "back": bad}).headers["location"]
            == f"{visitor.served.root}/"
        )
