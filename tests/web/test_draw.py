"""Pure drawing: sentences, words, shares, strips."""

from __future__ import annotations

from datetime import date
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.interfaces.web.draw import shares, strip, times
from recollect.interfaces.web.draw.rows import rows
from recollect.interfaces.web.draw.sentences import SENTENCES, plain
from recollect.interfaces.web.draw.words import compared
from recollect.model.events import KINDS
from recollect.model.values import Author, Change, Scope
from recollect.recall.relevance import RANKING_SIGNALS

AT = "2026-11-12T09:14:00.000000Z"


def change(kind: str | None, seq: int = 7, **given: object) -> Change:
    what: dict[str, object] = {
        "seq": seq, "at": AT, "kind": kind, "by": "agent", "unit": "record", "id": "r-1",
        "what": "added", "text": "Alice sits in 14C.", "key": "alice.seat", "trust": "agent",
        "scope": Scope(), "erased": kind is None, "idempotency_key": None,
    }  # fmt: skip
    return Change(**{**what, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_event_has_a_sentence(kind: str) -> None:
    said = plain(change(kind))
    assert said.startswith("The agent ")
    assert "{" not in said
    assert kind not in said


def test_the_sentences_are_those_of_the_kinds() -> None:
    assert set(SENTENCES) == set(KINDS)
    assert "erased" in plain(change(None))


def test_a_sentence_names_the_agent() -> None:
    said = plain(change("record.revised", scope=Scope(agent="planner")))
    assert said == "Agent planner revised alice.seat"


@pytest.mark.parametrize(
    ("by", "agent", "who"),
    [
        ("person", "planner", "Mara"),
        ("agent", "planner", "Agent planner"),
        ("agent", None, "Agent Mara"),
        ("unverified", None, plain(change("record.revised", by="unverified")).split(" rev")[0]),
        ("system", None, plain(change("record.revised", by="system")).split(" rev")[0]),
    ],
)
def test_only_a_person_is_called_by_the_name_alone(by: str, agent: str | None, who: str) -> None:
    mara = Author(id="a1", name="Mara", checked="token")
    given = change("record.revised", by=by, scope=Scope(agent=agent), author=mara)
    assert plain(given) == f"{who} revised alice.seat"


def test_who_typed_a_message_did_not_hear_it() -> None:
    assert plain(change("episode.observed", by="person")) == "A person stored a message"


texts = st.text(alphabet="ab .\n,ü", max_size=60)


@given(texts, texts)
def test_the_pieces_give_both_texts(old: str, new: str) -> None:
    found = compared(old, new)
    assert "".join(p.text for p in found if p.change != "added") == old
    assert "".join(p.text for p in found if p.change != "removed") == new


def test_a_time_is_one_word() -> None:
    found = [(p.change, p.text) for p in compared("at 09:20.", "at 10:05.")]
    assert found == [("same", "at "), ("removed", "09:20"), ("added", "10:05"), ("same", ".")]


def test_long_texts_are_compared_by_line() -> None:
    old = "one two three\n" * 3_000
    found = compared(old, old + "four\n")
    assert [(p.change, p.text) for p in found if p.change != "same"] == [("added", "four\n")]


@pytest.mark.timing
@pytest.mark.parametrize("word", ["a ", "a\n", "a b ", "ab\n\n", "."])
def test_no_text_takes_long_to_compare(word: str) -> None:
    started = process_time()
    compared(word * 4_000, f"x{word * 3_999}y {word * 10}")
    compared(word * 60_000, f"x{word * 50_000}")
    assert process_time() - started < 5


def test_bars_have_one_scale_and_add_up() -> None:
    first, second = shares.bars(
        [{"words": 3.0, "names": 1.0}, {"words": 1.0, "assistant": -1.0}], [4.0, 0.0]
    )
    assert first.zero == second.zero == 200
    assert [(p.name, p.x, p.width) for p in first.parts] == [
        ("words", 200, 600), ("names", 800, 200)
    ]  # fmt: skip
    assert [(p.name, p.x, p.width) for p in second.parts] == [
        ("words", 200, 200), ("assistant", 0, 200)
    ]  # fmt: skip


def test_every_signal_has_a_look_of_its_own() -> None:
    looks = [shares.look(name) for name in shares.SIGNALS]
    assert len(set(looks)) == len(looks)
    assert set(RANKING_SIGNALS) <= set(shares.SIGNALS)


def test_a_strip_counts_between_its_stops() -> None:
    found = strip.buckets([0, 5, 5, 105], ["a", "b", "c", "d"])
    assert [(b.first, b.last, b.count) for b in found] == [(1, 5, 5), (6, 5, 0), (6, 105, 100)]
    assert [b.width for b in found][1:] == [0, 100]


def test_a_year_of_days_starts_on_mondays() -> None:
    found = strip.days(date(2026, 11, 18), [0, 3, 3])
    assert [(d.day.isoformat(), d.count, d.level, d.row) for d in found] == [
        ("2026-11-17", 3, 4, 1), ("2026-11-18", 0, 0, 2)
    ]  # fmt: skip


def test_instants_are_as_exact_as_their_distance() -> None:
    assert times.moment(AT, "2026-11-12T20:00:00Z", 60) == "10:14"
    assert times.moment(AT, "2026-11-14T20:00:00Z", 0) == "Thu 09:14"
    assert times.moment(AT, "2026-12-14T20:00:00Z", 0) == "12 Nov 09:14"
    assert times.moment(AT, "2027-12-14T20:00:00Z", 0) == "12 Nov 2026"
    assert times.moment("soon", "2027-12-14T20:00:00Z", 0) == "soon"
    assert times.day(AT, "2026-11-13T20:00:00Z", 0) == "Yesterday, Thursday 12 Nov"


def test_one_command_is_one_row() -> None:
    superseded = change("record.superseded", 6)
    found = rows([change("record.added", 7), superseded, change("record.added", 5, at="2026")])
    assert [(row.change.seq, [o.change.seq for o in row.also]) for row in found] == [
        (7, [6]), (5, [])
    ]  # fmt: skip
