"""The pages that only read: each number is that of the call, and looking writes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import msgspec
import pytest

from recollect import Memory, Store
from recollect.interfaces.web.demo import told
from recollect.interfaces.web.draw import rings
from recollect.interfaces.web.pages import diff
from recollect.model.values import INCLUDES, Record
from tests.web.addresses import addresses
from tests.web.visiting import Page, Served, Visitor, served

QUESTION = "Where does Alice sit, and may she eat peanuts?"
QUESTIONS = (QUESTION, "Which port does staging listen on?", "the trip to Lisbon", "zzz")


def ask(visitor: Visitor, path: str, **query: object) -> Page:
    return visitor.get(f"/demo/{path}?{urlencode(query)}")


def test_looking_writes_nothing() -> None:
    """Not even a receipt that waits: reading receipts from the present would write it."""
    with told() as store, served(store) as inspector:
        memory = store.space("demo")
        memory.context(QUESTION)  # leaves a receipt that waits for the next append
        before = memory.events.position
        visitor = inspector.enter()
        writes = ("/demo/audit", "/demo/erase/")  # their calls write what waits
        paths = [each for each in addresses(memory.at(before)) if not each.startswith(writes)]
        for path in paths:
            assert visitor.get(path).status == 200, path
        assert memory.events.position == before
        memory.proof.receipts.list()  # the control: this call does
        assert memory.events.position == before + 1


@pytest.mark.parametrize("preset", ["task", "self", "attention"])
@pytest.mark.parametrize("tokens", [None, 60, 120, 300])
def test_every_number_of_a_context_is_that_of_the_call(
    visitor: Visitor, memory: Memory, preset: str, tokens: int | None
) -> None:
    for question in QUESTIONS:
        query = {"q": question, "preset": preset} | ({"tokens": tokens} if tokens else {})
        page = ask(visitor, "context", **query)
        context = memory.context(question, preset=preset, tokens=tokens, receipt=False)
        assert f">{context.tokens:,}</b> of {context.budget:,} tokens" in page.text
        shown = re.findall(
            r'<th scope="row">(\d+)</th><td class="words" dir="auto"><bdi>(.*?)</bdi></td>'
            r'<td class="cost">(\d+)</td>',
            page.text,
        )
        assert "\n".join(unescape(text) for _, text, _ in shown) == context.text
        assert sum(int(cost) for _, _, cost in shown) == context.tokens
        items = page.text.split('<li class="i')[1:]
        assert len(items) == len(context.hits)
        for text, hit in zip(items, context.hits, strict=True):
            assert f"relevance {hit.relevance:.2f}" in text
            assert f"= score <b>{hit.score:.2f}</b>" in text
            for value in hit.shares.values():
                assert abs(value) < 0.005 or f"<b>{value:+.2f}</b>" in text
        counts: dict[str, int] = {}
        for each in context.omitted:
            counts[each.reason] = counts.get(each.reason, 0) + 1
        told_counts = re.findall(r"<summary><b>([0-9,]+)</b>", page.text)
        assert sorted(map(int, told_counts)) == sorted(counts.values())
        held = memory.recall(question, k=1).waiting
        assert (f"{held} text" in page.words) == bool(held)


def test_the_bar_is_split_by_item(visitor: Visitor, memory: Memory) -> None:
    page = ask(visitor, "context", q=QUESTION, tokens=200)
    context = memory.context(QUESTION, tokens=200, receipt=False)
    bar = re.search(r'<svg class="budget".*?</svg>', page.text, re.DOTALL)
    assert bar is not None
    widths = [float(each) for each in re.findall(r'class="tone"[^>]*width="([0-9.]+)"', bar[0])]
    assert len(widths) == len(context.hits) + 1
    assert abs(sum(widths) - 1000 * context.tokens / context.budget) < 0.1


def test_two_presets_stand_side_by_side(visitor: Visitor, memory: Memory) -> None:
    page = ask(visitor, "context", q=QUESTION, preset="task", other="self", tokens=70)
    one = memory.context(QUESTION, preset="task", tokens=70, receipt=False)
    two = memory.context(QUESTION, preset="self", tokens=70, receipt=False)
    assert page.text.count('class="packed"') == 2
    assert page.text.count("only here") == len(set(one.ids) ^ set(two.ids))
    answer = msgspec.json.decode(
        ask(visitor, "context", q=QUESTION, other="self", tokens=70, **{"as": "json"}).text
    )
    assert [each["text"] for each in answer["contexts"]] == [one.text, two.text]


def test_why_something_is_not_in_a_context(visitor: Visitor, memory: Memory) -> None:
    page = ask(visitor, "context", q=QUESTION, id="trip.hotel", tokens=100)
    why = memory.admin.why_not("trip.hotel", QUESTION, preset="task", tokens=100)
    assert why.detail in page.words
    assert "Nothing here has the id" in ask(visitor, "context", q="x", id="nothing").words
    assert ask(visitor, "context", q="x", preset="nothing").status == 404


def test_what_is_guaranteed_and_does_not_fit_is_said_on_the_page() -> None:
    with Store.open(":memory:") as store:
        memory = store.space("demo")
        memory.remember("a long rule " * 40, tags=["rule"])
        weights = {"similarity": 1, "confidence": 0, "recency": 0, "centrality": 0}
        memory.settings.presets.set(
            {"name": "strict", "guarantees": ["rule"], "weights": {**weights, "reinforcement": 0}}
        )
        with served(store) as inspector:
            visitor = inspector.enter()
            page = ask(visitor, "context", q="rule", preset="strict", tokens=20)
            assert page.status == 200
            assert "The guaranteed records need" in page.words
            preset = visitor.get("/demo/presets/strict?q=rule")
            assert "rule" in preset.words
            assert "set" in preset.words


def test_receipts_are_listed_and_replayed(visitor: Visitor, memory: Memory) -> None:
    listed = visitor.get("/demo/receipts")
    for receipt in memory.proof.receipts.list():
        assert f"/demo/receipts/{receipt.id}" in listed.text
        assert f"{receipt.tokens:,} of {receipt.budget:,} tokens" in listed.words
        page = visitor.get(f"/demo/receipts/{receipt.id}")
        replay = memory.replay(receipt.id)
        for line in replay.text.split("\n"):
            assert line in page.words
        assert f">{receipt.tokens:,}</b> of {receipt.budget:,} tokens" in page.text
        assert page.text.count('<li class="i') == len(receipt.items)
    newest = memory.proof.receipts.list(limit=1)[0]
    again = ask(visitor, f"receipts/{newest.id}", q=QUESTION)
    assert memory.replay(newest.id, query=QUESTION).same_order is True
    assert "Yes: the same lines" in again.words
    wrong = ask(visitor, f"receipts/{newest.id}", q="something else")
    assert "That is not the question" in wrong.words
    assert visitor.get("/demo/receipts/nothing").status == 404
    assert "Nothing has been handed out by then" in visitor.get("/demo/receipts?at=3").words


def test_what_was_erased_since_shows_as_erased() -> None:
    with Store.open(":memory:") as store:
        memory = store.space("demo")
        secret = memory.remember("The safe opens with 4711.", key="safe.code")
        memory.remember("The safe stands in the cellar.", key="safe.place")
        receipt = memory.context("How does the safe open?").receipt
        memory.admin.flush()
        with served(store) as inspector:
            visitor = inspector.enter()
            assert "4711" in visitor.get(f"/demo/receipts/{receipt}").words  # the control
            memory.erase(secret.id)
            page = visitor.get(f"/demo/receipts/{receipt}")
            assert "1 of its lines was erased since" in page.words
            assert "4711" not in page.text
            assert "safe.code" not in page.text
            assert "cellar" in page.words
            assert "1 erased since" in visitor.get("/demo/receipts").words


def test_presets_show_their_weights(visitor: Visitor, memory: Memory) -> None:
    page = visitor.get("/demo/presets")
    for preset in memory.settings.presets.list():
        assert f"/demo/presets/{preset.name}" in page.text
        one = visitor.get(f"/demo/presets/{preset.name}")
        for weight in preset.weights.each:
            assert f'<td class="figure">{weight:.2f}</td>' in one.text
            assert f"w{round(weight * 100)}" in one.text
        assert unescape(preset.template.record) in one.words
    assert visitor.get("/demo/presets/nothing").status == 404


def ids(records: list[Record]) -> set[str]:
    return {each.id for each in records}


@pytest.mark.parametrize("start", range(0, 31, 3))
def test_a_difference_leads_from_one_list_to_the_other(memory: Memory, start: int) -> None:
    for end in range(start, memory.events.position + 1, 4):
        then, now = memory.at(start), memory.at(end)
        events = now.events.list(after=then.events.position, limit=10_000)
        changes = [each for each in events if each.unit == "record"]
        added, changed, gone = diff.differences(then, now, changes)
        after = ids(then.list()) | ids(list(added)) | {each.after.id for each in changed}
        after -= {each.record.id for each in gone}
        after -= {each.before.id for each in changed if each.before.id != each.after.id}
        assert after == ids(now.list()), (start, end)


def test_a_difference_marks_the_words(visitor: Visitor) -> None:
    page = visitor.get("/demo/diff?from=12&to=31")
    assert "<del><bdi>12A</bdi></del><ins><bdi>14C</bdi></ins>" in page.text
    assert "took the place of another record" in page.words
    none = visitor.get("/demo/diff?from=31&to=31")
    assert "Nothing that is believed changed in between." in none.words
    assert visitor.get("/demo/diff?from=99999999999999999").status == 422
    backwards = visitor.get("/demo/diff?from=31&to=12")
    assert "<ins><bdi>14C</bdi></ins>" in backwards.text


@pytest.fixture(scope="module")
def linked() -> Iterator[tuple[Memory, Served]]:
    with Store.open(":memory:") as store:
        memory = store.space("demo")
        hub = memory.remember("The hub.", key="hub")
        made = [memory.remember(f"Spoke {place}.", key=f"spoke.{place}") for place in range(150)]
        for place, record in enumerate(made):
            memory.graph.link(
                hub.id, record.id, ("relates_to", "part_of", "contradicts")[place % 3]
            )
        far = memory.remember("Far away.", key="far")
        memory.graph.link(made[-1].id, far.id, "relates_to")
        with served(store) as inspector:
            yield memory, inspector


def test_a_graph_draws_the_nearest_and_says_how_many_more(linked: tuple[Memory, Served]) -> None:
    memory, inspector = linked
    visitor = inspector.enter()
    page = visitor.get("/demo/graph/hub?hops=1")
    assert page.text.count('class="node ') == rings.NODES_MAX_COUNT
    assert "+31 that are not drawn" in page.words
    found = memory.graph.neighbours("hub", limit=rings.NODES_MAX_COUNT)
    drawn = msgspec.json.decode(visitor.get("/demo/graph/hub?as=json").text)
    assert [each["id"] for each in drawn["records"]] == [each.id for each in found.records]
    assert page.text.count("<tr><td") == rings.NODES_MAX_COUNT - 1
    near = visitor.get("/demo/graph/far?hops=1")
    assert near.text.count('class="node ') == 2
    assert visitor.get("/demo/graph/far?hops=2").text.count('class="node ') == 3
    assert visitor.get("/demo/graph/nothing").status == 404


def test_a_record_without_links_says_so(visitor: Visitor) -> None:
    assert "Nothing is linked with it" in visitor.get("/demo/graph/home.plants").words


def test_records_are_those_of_list(visitor: Visitor, memory: Memory) -> None:
    for at in range(0, memory.events.position + 1, 3):
        page = visitor.get(f"/demo/records?at={at}")
        shown = re.findall(r'data-id="([^"]*)"', page.text)
        assert shown == [each.id for each in memory.at(at).list()], at
    seen: list[str] = []
    path = "/demo/records?limit=4"
    while path:
        page = visitor.get(path)
        seen += re.findall(r'data-id="([^"]*)"', page.text)
        older = re.search(r'rel="next" href="([^"]*)"', page.text)
        path = unescape(older[1])[len(visitor.served.root) :] if older else ""
    assert seen == [each.id for each in memory.list()]


def test_a_key_shows_what_held_it_before(visitor: Visitor, memory: Memory) -> None:
    page = visitor.get("/demo/keys")
    for record in memory.list(filter="key != null"):
        assert record.text in page.words
    seat = page.words[page.words.index("alice.seat") :]
    assert seat.startswith("alice.seat changed once")
    assert "Alice sits in 12A." in seat


def test_about_shows_what_is_believed_and_what_was(visitor: Visitor, memory: Memory) -> None:
    page = visitor.get("/demo/about/alice")
    now, _, before = page.words.partition("Not believed now")
    for record in memory.list(filter="about = 'alice'"):
        assert record.text in now
    assert "Alice sits in 12A." in before
    assert "waiting" in before
    assert "Nothing is believed about it" in visitor.get("/demo/about/nobody").words


def test_a_conversation_shows_what_rests_on_each_turn(visitor: Visitor, memory: Memory) -> None:
    page = visitor.get("/demo/session/booking")
    said = memory.sessions.episodes(filter="session = 'booking'", include=INCLUDES)
    order = [page.text.index(f'id="t{each.seq}"') for each in reversed(said)]
    assert order == sorted(order)
    turn = page.text[page.text.index("Yes please.") :].partition('<li class="')[0]
    assert "Alice eats vegetarian meals on flights." in turn
    assert "Hidden: what rested on it was corrected or forgotten" in page.words
    assert visitor.get("/demo/session/nothing").status == 404


def test_the_stops_are_at_most_as_many_as_pixels(visitor: Visitor, memory: Memory) -> None:
    every = sorted({memory.at(each).events.position for each in range(memory.events.position + 1)})
    found: list[int] = []
    for width in (2, 7, 20, 600):
        found = msgspec.json.decode(visitor.get(f"/demo/stops?width={width}&as=json").text)["stops"]
        assert len(found) <= max(width, 2)
        assert found[0] == 0
        assert found[-1] == memory.events.position
        assert set(found) <= set(every)
    assert found == every


def test_a_day_is_its_end_and_a_step_may_be_a_day(visitor: Visitor, memory: Memory) -> None:
    events = memory.events.list(limit=1_000)
    days = sorted({each.at[:10] for each in events})
    for day in days[:-1]:
        page = visitor.get(f"/demo/records?at={day}")
        last = max(each.seq for each in events if each.at[:10] <= day)
        assert f'data-position="{memory.at(last).events.position}"' in page.text
    assert visitor.get("/demo/records?at=2026-02-31").status == 422
    page = visitor.get(f"/demo/records?at={days[3]}")
    for key in ("{", "}"):
        link = re.search(rf'href="([^"]*)" data-key="\{key}"', page.text)
        assert link is not None
        moved = visitor.get(unescape(link[1])[len(visitor.served.root) :])
        before, after = (
            int(re.search(r'data-position="(\d+)"', each.text)[1])  # type: ignore[index]
            for each in (page, moved)
        )
        assert after < before if key == "{" else after > before
