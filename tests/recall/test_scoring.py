"""From scores to relevance: who counts as a rival, and what an embedder may not spoil."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from recollect.index.cards import card_of
from recollect.index.rows import EpisodeRow, VersionRow, pack_names
from recollect.index.words.bm25 import Statistics
from recollect.recall.asking import Day, ParsedQuery
from recollect.recall.rank import Ranked, TextRow, Wish, card_for, enough
from recollect.recall.relevance import RANKING_SIGNALS, Features, rivals_of, strength_of
from recollect.recall.scoring import Scoring, Surroundings, by_score, relevant
from recollect.recall.weights import WEIGHTS

AT = "2026-01-01T00:00:00.000000Z"
WISH = Wish(
    unit="any",
    user=None,
    filter=None,
    include=frozenset(),
    position=9,
    now=AT,
    valid_at=AT,
    min_relevance=None,
)


def record(seq: int, text: str = "", **fields: Any) -> VersionRow:
    blank = VersionRow._make([None] * len(VersionRow._fields))
    return blank._replace(
        id=f"r{seq}",
        seq=seq,
        text_seq=seq,
        text=text or f"text {seq}",
        tags="[]",
        evidence="[]",
        status="active",
        trust="person",
    )._replace(**fields)


def episode(seq: int, **fields: Any) -> EpisodeRow:
    blank = EpisodeRow._make([None] * len(EpisodeRow._fields))
    return blank._replace(id=f"e{seq}", seq=seq, text=f"said {seq}", trust="person")._replace(
        **fields
    )


def signals(**values: float) -> Features:
    return tuple(values.get(name, 0.0) for name in RANKING_SIGNALS)


def words(part: float) -> Features:
    return signals(words=part, coverage=part, session_words=part)


def ranked(*found: tuple[TextRow, Features], wish: Wish = WISH, legs: str = "text") -> list[Ranked]:
    weights = WEIGHTS[legs]  # type: ignore[index]
    cards = [(card_for(row, wish), features) for row, features in found]
    return relevant(by_score(cards, weights), weights)


def test_a_hit_that_stands_out_is_more_relevant_than_one_of_many() -> None:
    alone = ranked((record(1), words(0.8)))
    crowd = ranked(*((record(seq), words(0.8)) for seq in range(1, 9)))
    assert alone[0].score == crowd[0].score
    assert alone[0].relevance > 0.8 > crowd[0].relevance
    assert strength_of(alone[0].relevance) == "strong"
    assert [strength_of(value) for value in (0.8, 0.5, 0.49)] == ["strong", "likely", "weak"]


def test_nothing_found_has_no_relevance() -> None:
    assert ranked() == []
    assert rivals_of([]) == 0.0
    assert rivals_of([5.0, 5.0, -3.0]) == 2.0


@pytest.mark.parametrize(
    "other",
    [
        record(2, text="text 1"),  # the same words
        episode(2, id="e7"),  # its own evidence
        record(2, trust="unverified", status="held"),
        record(2, status="archived"),
    ],
)
def test_a_copy_a_source_and_hidden_text_are_not_rivals(other: TextRow) -> None:
    first = (record(1, evidence=pack_names(("e7",))), words(0.8))
    alone = ranked(first)[0].relevance
    assert ranked(first, (other, words(0.7)))[0].relevance == alone
    assert ranked(first, (record(3), words(0.7)))[0].relevance < alone  # the control


def test_texts_that_may_not_be_recalled_contend_among_themselves() -> None:
    held = [(record(seq, trust="unverified", status="held"), words(0.8)) for seq in range(1, 5)]
    assert ranked(*held)[0].relevance < ranked(held[0])[0].relevance


def test_only_what_is_wanted_contends() -> None:
    first, other = (record(1), words(0.8)), (episode(2), words(0.7))
    alone = ranked(first)[0].relevance
    records = structs.replace(WISH, unit="record")
    assert ranked(first, other, wish=records)[0].relevance == alone
    assert ranked(first, other)[0].relevance < alone  # the control
    assert 0.0 < ranked(other, wish=records)[0].relevance < 1.0
    assert enough(ranked((episode(2), signals(chunk=0.1)), wish=records), records) == []


@pytest.mark.parametrize("legs", ["static", "sentence", "full"])
def test_an_embedder_that_disagrees_takes_little_from_a_match_of_words(legs: str) -> None:
    found = [(record(1), words(0.8))]
    found += [(record(seq), signals(chunk=0.5, sentence=0.5)) for seq in range(2, 9)]
    by_words = ranked(*found[:1])[0].relevance
    assert by_words - 0.05 < ranked(*found, legs=legs)[0].relevance
    unsaid = ranked(*found[1:], legs=legs)[0]
    assert not unsaid.has_words
    assert unsaid.relevance < 0.5


def test_without_a_word_in_common_a_text_must_be_near_or_beside_a_good_hit() -> None:
    def kept(*found: Features) -> list[str]:
        order = ranked(*((record(seq), row) for seq, row in enumerate(found, 1)), legs="static")
        return [one.row.id for one in enough(order, WISH)]

    assert kept(signals(chunk=0.1)) == []
    assert kept(*[signals(chunk=0.1, date=0.2)] * 8) != []
    assert kept(*[signals(chunk=0.1)] * 8) == []  # the control
    assert kept(*[signals(chunk=0.4)] * 8) == [f"r{seq}" for seq in range(8, 0, -1)]
    assert kept(words(0.9), signals(chunk=0.2, session_chunk=0.2)) == ["r1", "r2"]
    assert kept(words(0.9), signals(chunk=0.05)) == ["r1"]
    order = ranked((record(1), words(0.9)), (record(2), words(0.1)))
    strict = structs.replace(WISH, min_relevance=0.5)
    assert [one.row.id for one in enough(order, strict)] == ["r1"]
    assert len(enough(order, WISH)) == 2


def chunks(near: list[tuple[str, dict[int, float]]], *texts: str) -> list[tuple[float, float]]:
    """How near each of these texts is, by sentences and by chunks, to a question about tea."""
    asked = ParsedQuery(terms=("tea", "four"), scaffold=(), plain="tea four")
    around = Surroundings(rows={}, beside={}, near=near, turns={})  # type: ignore[arg-type]
    scoring = Scoring(asked, WEIGHTS["full"], Statistics((1.0, 1.0), 4.0), around)
    cards = [card_of(record(seq, text)) for seq, text in enumerate(texts, 1)]
    found = {one.row.seq: one.features for one in scoring.ranked(cards)}
    names = [RANKING_SIGNALS.index(name) for name in ("sentence", "chunk")]
    return [(found[seq][names[0]], found[seq][names[1]]) for seq in sorted(found)]


def test_what_a_text_without_a_vector_lacks_is_unknown_and_not_nothing() -> None:
    whole, half, long, none = "tea four", "tea five", "tea four " + "and more " * 30, "coffee"
    near = chunks([("chunk", {1: 0.9})], whole, whole, half, long, none)
    assert [sentence for sentence, _ in near] == [0.0] * 5  # there is no such leg
    known, same, less, lost, unknown = [chunk for _, chunk in near]
    assert known == 0.9
    assert same == 1.0  # it says exactly what was asked
    assert 0.2 < lost < less < same
    assert unknown == 0.0
    both = chunks([("chunk", {1: 0.9, 2: 0.3}), ("sentence", {1: 0.8})], whole, none, half)
    assert both[0] == (0.8, 0.9)
    assert both[1] == (0.3, 0.3)  # the other leg knows better than the words
    assert both[2][0] == both[2][1] == pytest.approx(less)
    twice = chunks([("chunk", {1: 0.2}), ("chunk", {1: 0.4}), ("chunk", {})], whole)
    assert twice == [(0.0, 0.4)]


def test_only_what_was_said_at_an_instant_can_fit_a_date() -> None:
    asked = ParsedQuery(terms=("tea",), scaffold=(), plain="tea", days=(Day(2026, 1, 1),))
    around = Surroundings(rows={}, beside={}, near=[], turns={})
    scoring = Scoring(asked, WEIGHTS["text"], Statistics((1.0,), 2.0), around)
    cards = [card_of(record(1)), card_of(record(2, said_at=AT))]
    found = {one.row.id: one.features for one in scoring.ranked(cards)}
    date = RANKING_SIGNALS.index("date")
    assert (found["r1"][date], found["r2"][date]) == (0.0, 1.0)
