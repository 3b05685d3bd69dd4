"""Questions, understood without a model."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index.words.facts import facts
from recollect.model import limits
from recollect.recall import asking
from recollect.recall.asking import Day, closeness, days, understand


def never(token: str) -> bool:
    return False


def test_a_name_that_runs_through_the_memory_leaves_the_question() -> None:
    asked = understand("When did Ann's choir sing in May 2023?", lambda token: token == "ann")
    assert asked.terms == ("choir", "sing", "2023")
    assert "Ann" not in asked.plain
    assert asked.days == (Day(2023, 5, None),)


def test_a_name_stays_if_nothing_else_is_asked_for() -> None:
    asked = understand("What about Ann?", lambda token: True)
    assert (asked.terms, asked.plain) == (("ann",), "What about Ann?")


def test_words_with_which_one_asks_count_apart_unless_there_are_no_others() -> None:
    asked = understand("How many times did I mention the cello?", never)
    assert (asked.terms, asked.scaffold) == (("cello",), ("mani", "time", "mention"))
    asked = understand("How many times last week?", never)
    assert (asked.terms, asked.scaffold) == (("mani", "time", "last", "week"), ())


def test_a_request_is_told_from_a_question_about_the_past() -> None:
    assert understand("Can you recommend a film for tonight?", never).is_request
    assert not understand("Can you remind me which film you recommended?", never).is_request
    assert not understand("When did I see that film?", never).is_request
    assert understand("Summarize how my project developed", never).is_overview


@pytest.mark.parametrize("name", ["_TOLD", "_OVERVIEW", "_DATE"])
@given(data=st.data())
def test_whatever_a_pattern_finds_is_not_passed_over(name: str, data: st.DataObject) -> None:
    pattern = re.compile(getattr(asking, name), re.IGNORECASE)
    plain = st.characters(codec="ascii")
    text = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=plain))
    told, overview, date = (
        re.search(pattern, text, re.IGNORECASE) is not None
        for pattern in (asking._TOLD, asking._OVERVIEW, asking._DATE)
    )
    asked = understand(text, never)
    assert asked.is_overview == overview
    assert not (told and asked.is_request)
    assert asking._has(text, asking._TOLD_HAS) or not told
    assert asking._has(text, asking._MONTHS) or not date


@pytest.mark.parametrize("name", ["REQUEST", "TOLD", "PAST", "OVERVIEW"])
def test_what_a_pattern_matches_has_one_of_its_pieces(name: str) -> None:
    pattern, pieces = getattr(asking, f"_{name}"), getattr(asking, f"_{name}_HAS")

    @given(st.from_regex(re.compile(pattern, re.IGNORECASE | re.ASCII)))
    def check(text: str) -> None:
        assert asking._has(text, pieces)

    check()
    assert not asking._has("where is the harbour", pieces)


def test_dates_are_read_as_far_as_they_are_said() -> None:
    assert days("on 5 May 2023") == [Day(2023, 5, 5)]
    assert days("May 5th, 2023 and in June") == [Day(2023, 5, 5), Day(None, 6, None)]
    assert days("may I?") == []
    assert days("back in 2021") == [Day(2021, None, None)]


def test_something_said_on_the_day_is_closer_than_something_said_weeks_later() -> None:
    asked = (Day(2023, 5, 5),)
    said = [datetime(2023, 5, day, tzinfo=UTC) for day in (5, 9, 25)]
    near, later, far = (closeness(asked, at) for at in said)
    assert 1.0 == near > later > far > closeness(asked, datetime(2023, 9, 1, tzinfo=UTC)) == 0.0
    assert closeness((), said[0]) == closeness((Day(2023, 2, 31),), said[0]) == 0.0


def test_facts_of_a_text() -> None:
    found = facts("Always use metric units. I prefer tea. Is that fine?")
    assert (found.asks, found.is_own, found.is_standing, found.prefers) == (True,) * 4
    assert facts("Where is my hat?").is_own is False
    assert facts("word " * 9_000 + "right?").asks


def test_a_question_of_many_names_asks_about_a_few() -> None:
    asked: list[str] = []

    def runs_through(token: str) -> bool:
        asked.append(token)
        return False

    understand(
        " ".join(f"N{chr(97 + n // 26)}{chr(97 + n % 26)}zz" for n in range(600)), runs_through
    )
    assert len(asked) == limits.QUERY_MAX_TERMS


@pytest.mark.parametrize(
    ("day", "fits"),
    [
        (Day(2023, None, None), 0.2),
        (Day(2022, None, None), 0.0),
        (Day(None, 5, None), 1.0),
        (Day(None, 4, None), 0.3),
        (Day(None, 6, None), 0.0),
        (Day(2022, 5, None), 0.0),
        (Day(None, 5, 9), 1.0),
        (Day(2023, 5, 5), 0.6),
        (Day(2023, 4, 20), 0.3),
        (Day(2023, 2, 1), 0.0),
        (Day(2023, 2, 30), 0.0),  # there is no such day
    ],
)
def test_how_well_an_instant_fits_a_date(day: Day, fits: float) -> None:
    said = datetime(2023, 5, 10, tzinfo=UTC)
    assert closeness((day,), said) == fits
    assert closeness((Day(1999, None, None), day), said) == fits
    assert closeness((), said) == 0.0
