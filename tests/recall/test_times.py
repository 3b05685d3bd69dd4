"""The stretch of time that a question names."""

from __future__ import annotations

import pytest

from recollect.recall.times import ALWAYS, Span, span_of

NOW = "2026-11-18T10:30:00.000000Z"  # a Wednesday


def between(since: str | None, before: str | None = None) -> Span:
    return Span(*(day and f"{day}T00:00:00.000000Z" for day in (since, before)))


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ("what changed since Monday?", between("2026-11-16")),
        ("what did I do on wednesday", between("2026-11-18", "2026-11-19")),
        ("last Wednesday", between("2026-11-11", "2026-11-12")),
        ("until friday", between(None, "2026-11-14")),
        ("what happened in September?", between("2026-09-01", "2026-10-01")),
        ("during December", between("2025-12-01", "2026-01-01")),
        ("since last month", between("2026-10-01")),
        ("last October", between("2026-10-01", "2026-11-01")),
        ("before October", between(None, "2026-10-01")),
        ("after October 2024", between("2024-11-01")),
        ("May 2025", between("2025-05-01", "2025-06-01")),
        ("in 2024", between("2024-01-01", "2025-01-01")),
        ("on 3 September", between("2026-09-03", "2026-09-04")),
        ("the 3rd of September", between("2026-09-03", "2026-09-04")),
        ("December 24th", between("2025-12-24", "2025-12-25")),
        ("March 1, 2024", between("2024-03-01", "2024-03-02")),
        ("since 2026-01-31", between("2026-01-31")),
        ("today", between("2026-11-18", "2026-11-19")),
        ("yesterday", between("2026-11-17", "2026-11-18")),
        ("what did I do last week?", between("2026-11-09", "2026-11-16")),
        ("this week", between("2026-11-16", "2026-11-23")),
        ("last month", between("2026-10-01", "2026-11-01")),
        ("this month", between("2026-11-01", "2026-12-01")),
        ("last year", between("2025-01-01", "2026-01-01")),
        ("this year", between("2026-01-01", "2027-01-01")),
        ("in the last three days", between("2026-11-15", "2026-11-19")),
        ("past 2 weeks", between("2026-11-04", "2026-11-19")),
        ("3 days ago", between("2026-11-15", "2026-11-16")),
        ("a week ago", between("2026-11-11", "2026-11-18")),
        ("since two weeks ago", between("2026-11-04")),
    ],
)
def test_a_time_in_words(query: str, span: Span) -> None:
    assert span_of(query, NOW, 0)[0] == span


@pytest.mark.parametrize(
    "query",
    [
        "what may I eat?",
        "march on",
        "on 31 February",
        "9999-12-31",
        "2026-13-01",
        "999 years ago in",
        "which port is staging on?",
        "the last port",
        "before the release",
        "since then",
        "",
    ],
)
def test_words_that_name_no_time(query: str) -> None:
    span, rest = span_of(query, "0900-01-01T00:00:00.000000Z" if "999 years" in query else NOW, 0)
    assert (span, rest) == (ALWAYS, query)


def test_days_begin_at_the_askers_midnight() -> None:
    late = "2026-11-18T23:30:00.000000Z"  # already Thursday in Berlin, still Wednesday in New York
    assert span_of("today", late, 60)[0].since == "2026-11-18T23:00:00.000000Z"
    assert span_of("today", late, -300)[0].since == "2026-11-18T05:00:00.000000Z"
    assert span_of("yesterday", late, 0)[0] == between("2026-11-17", "2026-11-18")


def test_what_is_left_of_the_question() -> None:
    assert span_of("what did I say about tea last week?", NOW, 0)[1].split() == [
        *("what did I say about tea ?".split())
    ]


def test_a_span_is_closed_at_its_start_and_open_at_its_end() -> None:
    span = between("2026-01-01", "2026-02-01")
    assert span.holds("2026-01-01T00:00:00.000000Z")
    assert not span.holds("2026-02-01T00:00:00.000000Z")
    assert not span.holds("2025-12-31T23:59:59.999999Z")
    assert ALWAYS.holds(NOW)
