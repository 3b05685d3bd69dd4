"""Questions about a value that was replaced, and those about what holds now."""

from __future__ import annotations

import pytest

from recollect.recall.asking import understand
from recollect.recall.before import asks_for_earlier


def _asked(query: str) -> bool:
    """What a search goes by; it has a quick look at the words first."""
    found = understand(query, lambda _: False).is_earlier
    assert found == asks_for_earlier(query)
    return found


@pytest.mark.parametrize(
    "query",
    [
        "what was the old staging port?",
        "which port was staging on before?",
        "who led payments before Tomasz?",
        "What was the old port?",
        "what was my previous seat?",
        "what was the staging port previously?",
        "what was staging's port formerly?",
        "what did the staging port use to be?",
        "what used to be the staging port?",
        "where did I use to live?",
        "where I used to live",
        "which port did staging previously use?",
        "who previously led payments?",
        "who was the payments lead before?",
        "what's our previous address?",
        "what is the previous staging port?",
        "who is our former CTO?",
        "tell me what the old staging port was",
        "do you remember what my old phone number was?",
        "previous staging port",
        "former payments lead",
        "what was the deploy schedule before the change?",
        "which host was the database on before it moved?",
        "what was it called before?",
        "where did we host it before the move?",
        "which queue did we use before Kafka?",
        "what was the rate limit earlier?",
        "how much was the rate limit before?",
        "what was my seat before we moved?",
        "where did Alice sit before?",
        "What were our old office hours?",
        "what was the value of staging.port before?",
        "what was the old port again?",
        "What was the previous value of staging.db?",
        "who was team lead before Priya?",
        "what did standup use to be?",
        "what used to be our log level?",
        "what was Alice's old seat?",
        "what was the prior rate limit?",
        "when was standup before?",
    ],
)
def test_questions_about_an_earlier_value(query: str) -> None:
    assert _asked(query)
    assert _asked(query.replace("?", ""))


@pytest.mark.parametrize(
    "query",
    [
        "how old is Leo?",
        "how old was Leo?",
        "how old is my son",
        "old API",
        "the old API",
        "until when must we support the old API?",
        "before lunch",
        "what did I eat before lunch?",
        "what happened before Monday?",
        "what do we still run on the old API?",
        "what does the old Button API drop?",
        "what did we discuss before?",
        "what did you say earlier?",
        "what was said previously?",
        "what did we talk about in the previous session?",
        "what happened in the previous sprint?",
        "what was decided in the previous meeting?",
        "which tool is used to deploy?",
        "what was used to build the wheel?",
        "what did we use to run the tests?",
        "what did we try before?",
        "what changed before the release?",
        "which port is staging on?",
        "what was the staging port?",
        "who leads payments?",
        "is celery still used?",
        "have we met before?",
        "what did I do before the meeting?",
        "when was the last deploy before the outage?",
        "what is the old town called?",
        "do the tests before you commit",
        "run the linter before committing",
        "refactor the old parser",
        "remove the old code please",
        "what is due before Friday?",
        "who spoke before the break?",
        "what was the previous commit?",
        "what must I do before deploying?",
        "what did we do before Christmas?",
        "what did we use before Easter?",
        "what should I know before the migration?",
        "I used to live in Porto",
        "when did we previously deploy?",
        "what did you previously recommend?",
        "What did we decide earlier this week?",
        "which old tests were removed?",
        "who wrote the old parser?",
        "what was wrong with the old parser's tests?",
        "which step comes before the build?",
        "former",
        "the former payments lead left",
        "the previous approach was better",
        "previous approach was better",
        "before",
        "old",
        "previously",
        "when was the last deploy before?",
        "what was the old port? " * 30,  # too long for one question
    ],
)
def test_other_questions(query: str) -> None:
    assert not _asked(query)


def test_the_words_that_only_ask_for_it_are_not_searched() -> None:
    assert understand("who is our former cto?", lambda _: False).terms == ("cto",)
    assert understand("our former pupils met", lambda _: False).terms == (
        "former",
        "pupil",
        "met",
    )


@pytest.mark.parametrize(
    ("query", "is_then"),
    [
        ("Who led the billing team in May?", True),
        ("who was the payments lead last year?", True),
        ("where did we host it in March 2025?", True),
        ("which port did staging use three weeks ago?", True),
        ("how much was the rate limit at the start of June?", True),
        ("what was my seat yesterday?", True),
        ("who leads the billing team?", False),
        ("what happened in May?", False),
        ("what did I say in May?", False),
        ("what did we try last week?", False),
        ("who may lead the billing team?", False),
        ("what was the old port in May?", False),
        ("who led the billing team before May?", False),
    ],
)
def test_a_question_about_a_time_that_is_over(query: str, is_then: bool) -> None:
    assert understand(query, lambda _: False).is_then == is_then
