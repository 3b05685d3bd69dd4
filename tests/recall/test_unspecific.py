"""Questions that name nothing to look for, and those that do."""

from __future__ import annotations

import pytest

from recollect.recall.times import ALWAYS, unspecific

NOW = "2026-11-18T10:30:00.000000Z"


@pytest.mark.parametrize(
    "query",
    [
        "what do you know about me?",
        "what do you remember?",
        "everything",
        "recent",
        "*",
        "",
        "  ",
        "what did we do last time?",
        "What's new?",
        "What have you learned so far?",
        "?",
        "all",
    ],
)
@pytest.mark.parametrize("found", [True, False])
def test_questions_about_everything(query: str, found: bool) -> None:
    assert unspecific(query, NOW, 0, found=found) == ALWAYS


@pytest.mark.parametrize(
    ("query", "since"),
    [
        ("What changed since Monday?", "2026-11-16"),
        ("what happened in September?", "2026-09-01"),
        ("what did I do last week?", "2026-11-09"),
        ("what did we work on 3 days ago", "2026-11-15"),
    ],
)
def test_questions_about_a_time(query: str, since: str) -> None:
    span = unspecific(query, NOW, 0, found=True)
    assert span is not None
    assert (span.since or "")[:10] == since


@pytest.mark.parametrize(
    "query",
    [
        "what do you know about Python?",
        "tell me everything about staging",
        "which port?",
        "的",
        "what did I say about tea last week?",
        "was weißt du über mich?",
        "the old port",
        "42",
        "second",
        "what changed in the schema since Monday?",
        "last 3 releases",
        "on 31 February 2026",
    ],
)
@pytest.mark.parametrize("found", [True, False])
def test_questions_with_a_subject(query: str, found: bool) -> None:
    assert unspecific(query, NOW, 0, found=found) is None


@pytest.mark.parametrize("query", ["user preferences", "Monday", "my profile", "decisions"])
def test_faint_subjects_count_only_if_something_is_about_them(query: str) -> None:
    assert unspecific(query, NOW, 0, found=True) is None
    assert unspecific(query, NOW, 0, found=False) is not None
