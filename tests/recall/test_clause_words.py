"""The words of a text, and what reading them costs."""

from __future__ import annotations

import pytest

from recollect.recall import clause_words
from recollect.recall.clause_words import content, other_spellings, speaks, words_of
from recollect.recall.replaced import COMPARED_MAX_COUNT, READ_MAX_CHARS, Reader, Said, Value
from tests.steps import calls_in, steps_of_search

PATTERNS = ("_SENTENCE", "_CLAUSE", "_NUMBER", "_FIRST", "_SECOND")
# Each was quadratic in one of the patterns that these replaced.
HOSTILE = (
    "a",
    "\u00e4",
    " ",
    "!",
    "1",
    "1.1",
    "5,000",
    "a ",
    "- ",
    "a1",
    ".) ",
    "I ",
    "\n",
    ", and",
)
OLD = r"[^\W\d_]*\d[^\W_]*(?:[.:]\d[^\W_]*)*"


def _lines(text: str) -> str:
    """A text as the patterns get it: without two blanks side by side."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("unit", HOSTILE)
def test_twice_the_text_is_twice_the_work(name: str, unit: str) -> None:
    pattern = getattr(clause_words, name)
    small, large = (steps_of_search(pattern, _lines(f"5433 {unit * size}x")) for size in (100, 200))
    assert large <= 2.2 * small + 50


def test_control_the_pattern_before_took_four_times() -> None:
    small, large = (steps_of_search(OLD, "a" * size) for size in (100, 200))
    assert large > 3.5 * small


def _value(number: int, text: str = "Service svc{} is on port {}.") -> Value:
    old, now = text.format(number, 5000 + number), text.format(number, 7000 + number)
    return Value(old, f"svc{number}.port", now, "2026", frozenset(), frozenset(), ())


def _said(text: str, id: str = "e") -> Said:
    return Said(id, text, "2025", of_person=False)


def test_a_text_is_read_once_however_many_values_changed() -> None:
    body = " ".join(
        f"The service svc{i} runs on port {5000 + i}, so restart it." for i in range(40)
    )
    texts = [_said(f"Runbook {number}: {body}", str(number)) for number in range(5)]
    values = [_value(number) for number in range(40)]
    reader = Reader(texts)

    def look() -> None:
        assert all(reader.states(text, value) for text in texts for value in values)

    found = calls_in(look, "words_of", "tells_old", "tells_new")
    assert found["words_of"] == 5
    assert (
        found["tells_old"] + found["tells_new"] <= 5 * 40 * 2
    )  # of 80 clauses, those with the number


def test_what_is_compared_has_an_end_and_in_doubt_a_text_is_marked() -> None:
    flood = "".join(f"5001 with x{number}, " for number in range(3_000))
    texts = [_said(f"{flood} {number}", str(number)) for number in range(5)]
    reader = Reader([*texts, _said("Service svc2 is on port 5002.")])
    cut_before = reader.is_cut
    found = calls_in(
        lambda: [reader.states(text, _value(1)) for text in texts * 5], "tells_old", "tells_new"
    )
    assert sum(found.values()) <= COMPARED_MAX_COUNT
    assert (cut_before, reader.is_cut) == (False, True)
    assert reader.states(texts[-1], _value(1))
    assert not reader.states(_said("Service svc2 is on port 5002."), _value(1))


def test_a_long_text_takes_no_room_from_a_short_one() -> None:
    long, short = _said("staging " * READ_MAX_CHARS), _said("Service svc2 is on port 5002.")
    reader = Reader([long, short])
    assert reader.is_cut
    assert reader.states(short, _value(2))
    assert reader.says_more(long, [])
    assert not Reader([short]).is_cut


def test_a_value_at_the_end_of_a_long_text_is_seen() -> None:
    text = _said("An intro. " * 3_000 + "Service svc2 is on port 5002.")
    assert Reader([text]).states(text, _value(2))


def test_numbers_have_one_spelling() -> None:
    assert content("5,000 or 5k or five") == {"5000", "5"}
    assert content("5.000 Euro, zw\u00f6lf, douze") == {"5000", "12", "euro"}
    assert other_spellings("5000") == {"5000", "5", "000", "5k"}
    assert other_spellings("at nine") == {"9"}
    assert {"9", "nine", "neun", "neuf"} <= other_spellings("at 9")
    assert other_spellings("1" * 50) == set()


def test_who_speaks() -> None:
    assert speaks("I'm here", of_person=True)
    assert speaks("Das ist mein Hund", of_person=True)
    assert not speaks("You are here", of_person=True)
    assert speaks("You are here", of_person=False)
    assert not speaks("Iris is here", of_person=True)


def test_a_clause_begins_with_its_subject() -> None:
    found = words_of("Since you are vegetarian I left out the ham.", of_person=False)
    assert [set(each.words) for each in found.clauses] == [
        {"sinc"},
        {"vegetarian"},
        {"left", "ham"},
    ]
    assert all(each.speaks for each in found.clauses)


def test_a_sentence_without_a_sign_has_no_clause() -> None:
    assert words_of("... !\n?! . --", of_person=True).clauses == ()
    found = words_of("... Tea is at four. !!", of_person=True)
    assert [set(each.words) for each in found.clauses] == [{"tea", "4"}]
