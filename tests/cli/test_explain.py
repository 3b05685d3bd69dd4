"""Explaining: every signal has words, every share a bar, and nothing needs colour or width."""

from __future__ import annotations

import pytest

from recollect.interfaces.cli.screens import explain
from recollect.recall.relevance import RANKING_SIGNALS
from recollect.recall.scoring import EARLIER_SIGNAL
from recollect.recall.talk import TALK_SIGNALS
from tests.cli.running import Shell


@pytest.fixture(name="told")
def a_short_talk(store: Shell) -> Shell:
    for role, text in (
        ("user", "Where should we sit on the flight to Lisbon?"),
        ("assistant", "On the flight you could take a window seat."),
        ("user", "I always prefer an aisle seat, near the front."),
    ):
        store.run("observe", text, "--role", role, "--session", "s1")
    store.run("remember", "Alice sits at the window.", "--key", "seat", "--id", "old")
    store.run("remember", "Alice prefers an aisle seat.", "--key", "seat", "--id", "new")
    return store


def test_every_signal_has_words_that_fit() -> None:
    assert set(explain.WORDS) == {*RANKING_SIGNALS, *TALK_SIGNALS, EARLIER_SIGNAL}
    assert max(map(len, explain.WORDS.values())) < 30


def test_shares_are_drawn_with_what_counts_against(told: Shell) -> None:
    drawn = told.run("recall", "which seat on the flight?", "--explain").out
    lines = drawn.splitlines()
    assert max(len(line) for line in lines if "│" in line) <= 80
    assert "\x1b" not in drawn
    against = [line for line in lines if "an assistant said it" in line]
    assert " -" in against[0]
    assert "│░░" in against[0]
    assert any("│███" in line for line in lines)


def test_a_longer_bar_is_a_larger_share() -> None:
    large, small, bad = explain.shares({"words": 4.0, "date": 1.0, "asks": -2.0}, 4.0)
    assert [line.count("█") for line in (large, small)] == [32, 8]
    assert bad.count("░") == 16
    assert explain.shares({"words": 0.001}, 4.0) == []


def test_a_text_without_a_session_is_scored_alone() -> None:
    (alone,) = explain.shares({"session_words": 1.0}, 1.0, alone=True)
    assert "its words alone" in alone
    (among,) = explain.shares({"session_words": 1.0}, 1.0)
    assert "session" in among


def test_json_has_the_shares_and_they_sum_to_the_score(told: Shell) -> None:
    hits = told.run("recall", "which seat on the flight?", "--explain", "--json").json["hits"]
    assert hits
    for hit in hits:
        assert sum(hit["shares"].values()) == pytest.approx(hit["score"])


def test_bars_are_drawn_in_ascii_if_the_terminal_lacks_blocks(told: Shell) -> None:
    ran = told.process("recall", "which seat?", "--explain", env={"PYTHONIOENCODING": "ascii"})
    assert "|###" in ran.out
    assert "?" not in next(line for line in ran.out.splitlines() if "|###" in line)


def test_why_not_names_what_stands_in_its_place(told: Shell) -> None:
    why = told.run("admin", "why-not", "old", "which seat?")
    assert why.code == 0
    assert "Not in the answer: it was replaced by new" in why.out
    assert "new  Alice prefers an aisle seat." in why.out
    answer = told.run("admin", "why-not", "old", "which seat?", "--json").json
    assert (answer["reason"], answer["by"]) == ("replaced", ["new"])


def test_why_not_draws_what_was_weighed(told: Shell) -> None:
    drawn = told.run("admin", "why-not", "new", "which seat on the flight?", "-k", "1").out
    assert "Not in the answer: it comes at place" in drawn
    assert "its relevance is" in drawn
    assert "│███" in drawn
    assert "On the flight" in drawn  # the one before it
    there = told.run("admin", "why-not", "new", "which seat?", "--preset", "task", "--json").json
    assert (there["reason"], there["place"] is not None) == ("there", True)


def test_why_not_about_nothing_is_refused(told: Shell) -> None:
    assert (
        told.run("admin", "why-not", "nonesuch", "which seat?", "--json").error["code"]
        == "not_found"
    )
