"""One linear mix: what each signal adds is the whole score."""

from __future__ import annotations

import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.index.words import facts as facts_module
from recollect.index.words.bm25 import Statistics
from recollect.index.words.facts import Facts, facts, packed, unpacked
from recollect.index.words.text import words
from recollect.recall.asking import understand
from recollect.recall.relevance import (
    RANKING_SIGNALS,
    Candidate,
    Match,
    by_chance,
    features,
    rivals_of,
    score_of,
    shares_of,
    terms_of,
)
from recollect.recall.weights import WEIGHTS

ASKED = understand("Where is the red cello?", lambda token: False)
TERMS = terms_of(ASKED, Statistics((1.0, 3.0), 5.0))

fraction = st.floats(0, 1)
matches = st.builds(
    lambda one, other, sentence, chunk: Match(
        (one, other), TERMS.share((one, other)), sentence, chunk
    ),
    fraction,
    fraction,
    st.none() | fraction,
    st.none() | fraction,
)
candidates = st.builds(
    Candidate,
    match=matches,
    facts=st.sampled_from([facts("I am here. Yes?"), facts("Always ask."), facts("x " * 99)]),
    is_assistant=st.booleans(),
    session=st.none() | st.sampled_from("ab"),
    date=fraction,
    before=matches,
    after=matches,
    before_asks=st.booleans(),
    names=fraction,
    turns=st.integers(1, 300),
)


@given(st.lists(candidates, max_size=8), st.sampled_from(sorted(WEIGHTS)))
def test_shares_sum_to_the_score_and_relevance_rises_with_it(
    many: list[Candidate], configuration: str
) -> None:
    weights, calibration, _ = WEIGHTS[configuration]  # type: ignore[index]
    rows = features(ASKED, TERMS, many)
    scores = [score_of(row, weights) for row in rows]
    for row, score in zip(rows, scores, strict=True):
        assert all(0.0 <= value <= 1.0 + 1e-12 for value in row)
        shares = shares_of(row, weights)
        assert set(shares) <= set(RANKING_SIGNALS)
        assert math.fsum(shares.values()) == score
    rivals = rivals_of(sorted(scores, reverse=True))
    relevant = [calibration.relevance(score, rivals) for score in sorted(scores)]
    assert relevant == sorted(relevant)
    assert all(0.0 < value < 1.0 for value in relevant)


@pytest.mark.parametrize("configuration", sorted(WEIGHTS))
def test_a_record_without_a_session_is_scored_by_the_same_mix(configuration: str) -> None:
    plain = facts("The cello is in the attic.")
    good = Candidate(Match((0.8, 0.8), 0.8, 0.7, 0.6), plain)
    weak = Candidate(Match((0.1, 0.1), 0.1, 0.2, 0.1), plain, session="s")
    first, second = features(ASKED, TERMS, [good, weak])
    weights = WEIGHTS[configuration].weights  # type: ignore[index]
    assert score_of(first, weights) > score_of(second, weights)


def test_turns_of_a_session_hold_a_question_together() -> None:
    plain = facts("words")
    one = Candidate(Match((0.25, 0.0), TERMS.share((0.25, 0.0))), plain, session="s")
    other = Candidate(Match((0.0, 0.25), TERMS.share((0.0, 0.25))), plain, session="s")
    apart = replace(other, session="t")
    place = RANKING_SIGNALS.index("session_words")
    together = [row[place] for row in features(ASKED, TERMS, [one, other])]
    assert together == pytest.approx([0.5, 0.5])
    assert [row[place] for row in features(ASKED, TERMS, [one, apart])] == [0.125, 0.375]
    told = replace(other, is_assistant=True)  # an assistant's words are not the session's
    assert [row[place] for row in features(ASKED, TERMS, [one, told])] == [0.125, 0.125]


def test_the_greatest_of_many_is_above_that_of_a_few_by_chance() -> None:
    assert by_chance(0) == by_chance(1) == 0.0
    assert by_chance(2) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-3)
    assert by_chance(3) == pytest.approx(0.846, abs=0.06)
    drawn = random.Random(1)
    for turns in (5, 20, 100, 256):
        greatest = [max(drawn.gauss(0, 1) for _ in range(turns)) for _ in range(2_000)]
        assert by_chance(turns) == pytest.approx(sum(greatest) / 2_000, abs=0.06)
    assert by_chance(10_000) == by_chance(256)


@pytest.mark.parametrize("name", ["session_sentence", "session_chunk"])
def test_a_long_session_is_not_nearer_because_it_is_long(name: str) -> None:
    plain = facts("words")
    near = Candidate(Match((), 0.0, 0.50, 0.50), plain, session="long", turns=20)
    beside = replace(near, match=Match((), 0.0, 0.1, 0.1))
    brief = Candidate(Match((), 0.0, 0.45, 0.45), plain, session="brief", turns=2)
    place = RANKING_SIGNALS.index(name)
    found = [row[place] for row in features(ASKED, TERMS, [near, beside, brief])]
    assert found[0] == found[1] < found[2]
    far = replace(near, match=Match((), 0.0, 0.05, 0.05))
    assert features(ASKED, TERMS, [far])[0][place] == 0.0


def test_a_short_turn_holds_what_is_said_beside_it_and_a_long_one_less() -> None:
    beside = Match((0.25, 0.0), TERMS.share((0.25, 0.0)))
    short = Candidate(Match((0.0, 0.25), TERMS.share((0.0, 0.25))), facts("words"), after=beside)
    long = replace(short, facts=facts("word " * 160))
    alone = replace(short, after=Match())
    place = RANKING_SIGNALS.index("coverage")
    covered = [row[place] for row in features(ASKED, TERMS, [short, long, alone])]
    assert covered == pytest.approx([0.5, 0.375 + 0.0625, 0.375])


def test_what_a_term_is_worth_is_a_share_of_all() -> None:
    asked = understand("How many cellos are there?", lambda token: False)
    found = terms_of(asked, Statistics((2.0, 2.0), 5.0))
    assert (found.terms, found.average) == (("cello", "mani"), 5.0)
    assert found.worth == pytest.approx((2 / 2.6, 0.6 / 2.6))


def test_facts_found_by_a_short_way_are_those_of_every_sentence() -> None:
    """Most texts are not cut into sentences; cutting each of them finds the same."""
    heads = ["", "Please always ", "never ", "I think ", "we'd ", "Whenever I ", "mine… "]
    heads += ["By default ", "Each time I ", "Don't ever ", "In the future ", "Our_", "(me)"]
    tails = [
        "prefer tea.",
        "my preference? Yes.",
        "do it\nfrom now on by hand",
        "i'd rather go",
        "",
    ]
    texts = [f"{one}{two} {three}" for one in heads for two in tails for three in ("", *heads)]
    for text in texts:
        assert facts(text) == the_long_way(text)
    assert {facts(text).prefers for text in texts} == {True, False}


@given(
    st.text(max_size=60) | st.sampled_from(["I do. Yes?", "Always ask.", "I prefer tea. " * 400])
)
def test_stored_facts_are_those_of_the_text(text: str) -> None:
    for found in (words(text), words(f"{text} i always prefer")):
        assert unpacked(packed(text, found, of_person=True)) == facts(text)
        assert unpacked(packed(text, found, of_person=False)) == facts(text, of_person=False)


@pytest.mark.parametrize("name", ["_OWN", "_STANDING", "_PREFERS"])
@given(data=st.data())
def test_whatever_a_pattern_finds_is_not_passed_over(name: str, data: st.DataObject) -> None:
    pattern = re.compile(getattr(facts_module, name), re.IGNORECASE)
    plain = st.characters(codec="ascii")
    text = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=plain))
    assert facts(text) == the_long_way(text)


def the_long_way(text: str) -> Facts:
    """Every pattern on every sentence."""
    said = facts_module._sentences(text)
    own, standing, prefers = (
        re.compile(pattern, re.IGNORECASE)
        for pattern in (facts_module._OWN, facts_module._STANDING, facts_module._PREFERS)
    )
    return Facts(
        words=len(text.split()),
        asks=text.rstrip().endswith("?"),
        is_own=any(own.search(piece) for piece in said if not piece.endswith("?")),
        is_standing=any(map(standing.match, said)),
        prefers=any(map(prefers.search, said)),
    )
