"""What a short statement says of what, and when two of them differ."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall import clauses as clauses_module
from recollect.recall.clauses import _CHANGES, _VERBS, clauses, differ, has_cue


def differs(older: str, newer: str) -> bool:
    cue = has_cue(newer)
    return any(differ(old, new, cue=cue) for old in clauses(older) for new in clauses(newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I sit in 14C.", "I don't sit in 14C any more, I sit in 2F now."),
        ("I sit in 14C.", "I moved to 2F."),
        ("Staging is on port 5432.", "Staging is on port 5433."),
        ("Staging is on 5432.", "Staging moved to port 5433."),
        ("My manager is Marta.", "My manager is Jonas."),
        ("I live in Berlin.", "I used to live in Berlin, but I live in Rome now."),
        ("It's 14C.", "Actually it’s 2F."),
        ("My favourite colour is blue.", "My favourite colour is green now."),
        ("We deploy on Fridays.", "Actually, we deploy on Mondays."),
    ],
)
def test_two_values_of_one_thing(older: str, newer: str) -> None:
    assert differs(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I sit in 14C.", "I sit in 14C."),
        ("I sit in 14C.", "Ann sits in 2F."),
        ("I like tea.", "I like coffee."),
        ("I ran 5 km.", "I ran 7 km."),
        ("My cat is black.", "My cat is hungry."),
        ("My cat is black.", "My cat is very hungry now."),
        ("I work at Acme.", "I work on Recollect."),
        ("I work at Acme.", "I live at Globex."),
        ("I sit in 14C.", "I moved to Rome."),
        ("I sit in 14C.", "I used to sit in 2F."),
        ("I don't sit in 14C.", "I sit in 2F."),
        ("The tea is.", "The tea is good."),
        ("", "?"),
    ],
)
def test_statements_that_can_both_hold(older: str, newer: str) -> None:
    assert not differs(older, newer)


def test_a_value_that_has_ended() -> None:
    ended, holds = clauses("The office isn't on Main Street any more, the office is in Rome.")
    assert (ended.about, ended.verb, ended.value, ended.holds) == (
        ("office",),
        "be",
        ("on", "main", "street"),
        False,
    )
    assert holds.holds


@given(st.lists(st.sampled_from([*_VERBS, *_CHANGES, "desk", "14C", "the", "a_run", "re-run"])))
def test_a_text_is_passed_over_only_if_it_has_no_verb(words: list[str]) -> None:
    """The short way finds what splitting the whole text finds."""
    text = " ".join(words)
    pieces = re.split(clauses_module._CLAUSE, text, flags=re.IGNORECASE)
    found = (clauses_module._clause(re.findall(clauses_module._WORD, piece)) for piece in pieces)
    assert clauses(text) == tuple(each for each in found if each is not None)
