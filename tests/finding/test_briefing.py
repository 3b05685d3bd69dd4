"""What the prompt hook hands over: never what was only typed before, always what it says."""

from __future__ import annotations

import pytest

from recollect import Memory, Quote
from recollect.finding import briefing
from recollect.memory.handle.handle import handle_of
from recollect.model.events import Role, Trust

# Prompts that are no questions and no clear orders, so they are memory.
AGAIN = (
    "I want to know the staging port",
    "my tests are failing, can you help?",
    "there's a bug in login.py, fix it",
    "take a look at the login page",
    "get me the staging port",
    "looks good, ship it",
    "I can't find the staging config, where is it?",
    "sag mir den Port von Staging",
    "ich wei\u00df den Port von Staging nicht mehr",
    "corrige le bug dans login.py",
    "rappelle-moi le port de staging",
    "dime el puerto de staging",
    "\u30b9\u30c6\u30fc\u30b8\u30f3\u30b0\u306e\u30dd\u30fc\u30c8\u3092\u6559\u3048\u3066",
    "ship " * 400 + "the staging port",
)


@pytest.fixture
def memory() -> Memory:
    return Memory.open(":memory:", embedder="none")


def told(memory: Memory, prompt: str) -> list[str]:
    handle = handle_of(memory)
    with handle.reading() as reads:
        viewer = briefing.Viewer(handle.now(), memory.scope.user, "now")
        return [hit.text for hit in briefing.about(reads, prompt, viewer)]


@pytest.mark.parametrize("prompt", AGAIN)
def test_an_earlier_prompt_does_not_come_back_as_its_own_answer(
    memory: Memory, prompt: str
) -> None:
    for number in range(3):
        memory.observe("The build is slow.", session=f"s{number}")
        memory.observe(prompt, session=f"s{number}")
        memory.observe("Dana fetched the parcel.", session=f"s{number}")
    assert told(memory, prompt) == []
    assert told(memory, f"{prompt.upper()}, please!") == []


def test_of_another_user_neither(memory: Memory) -> None:
    memory.scoped(user="ann").observe(AGAIN[0], session="s1")
    assert told(memory, AGAIN[0]) == []


def test_what_answers_is_handed_over_beside_it(memory: Memory) -> None:
    memory.observe(AGAIN[0], session="s1")
    memory.observe("The staging port is 5433.", session="s2")
    assert told(memory, AGAIN[0]) == ["The staging port is 5433."]


@pytest.mark.parametrize(
    ("said", "prompt"),
    [
        ("Do not deploy the shop on Fridays", "deploy the shop on Fridays"),
        ("I'm allergic to peanuts", "am I allergic to peanuts?"),
        ("I have a peanut allergy", "do I have a peanut allergy?"),
        ("The shop is deployed from release", "is the shop deployed from release?"),
        ("the staging port is 5433", "which port is staging on?"),
    ],
)
def test_what_says_more_or_confirms_is_handed_over(memory: Memory, said: str, prompt: str) -> None:
    memory.observe(said, session="s1", metadata={"transient": False})
    assert told(memory, prompt) == [said]


@pytest.mark.parametrize("is_record", [True, False])
def test_a_record_and_an_assistants_turn_are_never_a_repeated_prompt(
    memory: Memory, is_record: bool
) -> None:
    text = "Get the staging port from Dana."
    if is_record:
        memory.remember(text)
    else:
        memory.observe(text, role="assistant", session="s1")
    assert told(memory, "get me the staging port from Dana, it is hers to say") == [text]


PORT = "The staging database is on port 5440."


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("user", "The staging database is on port 5433."),
        ("user", "Hi Dana! The staging database is on port 5433, as far as I know."),
        ("user", "Let us move the staging database to another port. Which port is free?"),
        ("assistant", "I suggest port 7000 for the staging database."),
        ("assistant", "It is 5433."),
    ],
)
def test_what_was_said_before_a_record_settled_it_is_not_handed_over(
    memory: Memory, role: Role, said: str
) -> None:
    record = memory.remember("The staging database is on port 5433.", key="staging.port")
    memory.observe("Which port is the staging database on?", session="s1")
    memory.observe(said, role=role, session="s1")
    memory.revise(record.id, PORT)
    assert told(memory, "Which port is the staging database on?") == [PORT]


@pytest.mark.parametrize(
    "said",
    [
        "The staging database was moved to port 5450 today.",  # nothing else may hold it
        "Dana is whom to ask about the staging database.",
    ],
)
def test_what_a_person_says_beyond_a_record_is_handed_over(memory: Memory, said: str) -> None:
    memory.remember(PORT, key="staging.port")
    memory.observe(said, session="s1")
    assert said in told(memory, "Which port is the staging database on, and whom do I ask?")


@pytest.mark.parametrize("is_later", [True, False])
def test_a_suggestion_does_not_outlive_the_decision(memory: Memory, is_later: bool) -> None:
    said = "gRPC would suit the payment service of the shop."
    decided = "The payment service of the shop stays on REST."
    for text in (
        "Python is formatted with Black.",
        "Ines tags the releases.",
        "Standup is at ten.",
    ):
        memory.remember(text)
    for step in (said, decided) if is_later else (decided, said):
        if step == said:
            memory.observe(said, role="assistant", session="s1")
        else:
            memory.remember(decided)
    found = told(memory, "gRPC, payment service of the shop")
    assert decided in found
    assert (said in found) is not is_later


def test_a_persons_word_is_not_settled_by_a_record_with_less_trust(memory: Memory) -> None:
    said = "The staging database is on port 5433."
    memory.observe(said, session="s1")
    memory.scoped(trust="agent").remember(PORT)
    assert said in told(memory, "Which port is the staging database on?")


def test_an_agents_record_settles_what_a_person_said_if_it_rests_on_later_words(
    memory: Memory,
) -> None:
    memory.observe("The staging database is on port 5433.", session="s1")
    (later,) = memory.observe("It is on port 5440 now.", session="s2")
    quote = Quote(later.id, "port 5440")
    memory.scoped(trust="agent").remember(PORT, evidence=[quote])
    found = told(memory, "Which port is the staging database on?")
    assert PORT in found
    assert not any("5433" in text for text in found)


@pytest.mark.parametrize(
    ("trust", "said", "quoted"),
    [
        ("agent", "The staging database is on port 5440.", "on port 5440"),  # by an agent
        ("person", "Please carry on with the staging database port.", "staging database port"),
    ],
)
def test_an_agents_record_needs_a_persons_later_words_for_all_that_it_adds(
    memory: Memory, trust: Trust, said: str, quoted: str
) -> None:
    first = "The staging database is on port 5433."
    memory.observe(first, session="s1")
    (later,) = memory.scoped(trust=trust).observe(said, role="user", session="s2")
    memory.scoped(trust="agent").remember(PORT, evidence=[Quote(later.id, quoted)])
    assert first in told(memory, "Which port is the staging database on?")


def test_a_statement_stays_if_a_record_borrows_words_that_were_said_of_something_else(
    memory: Memory,
) -> None:
    first = "The staging database is on port 5433."
    for words in (first, "The build database is on port 5440."):
        memory.observe(words, session="s1")
    memory.scoped(trust="agent").remember(PORT)  # without evidence
    assert first in told(memory, "Which port is the staging database on?")


def test_a_prompt_that_states_and_asks_is_more_than_a_question(memory: Memory) -> None:
    said = "The staging database is on port 5433. Does the smoke test use it?"
    memory.observe(said, session="s1")
    memory.scoped(trust="agent").remember(PORT)
    assert said in told(memory, "Which port is the staging database on?")


def test_a_request_is_settled_by_a_record_of_what_the_person_said_later(memory: Memory) -> None:
    asked = "Let's cache the product pages. What do you suggest?"
    decided = "No, not Redis, ops does not run it. We cache product pages in Postgres."
    for words in (asked, decided):
        memory.observe(words, session="s1")
    record = "Product pages are cached in Postgres; ops does not run Redis."
    memory.scoped(trust="agent").remember(record, key="cache")
    found = told(memory, "Where do we cache product pages?")
    assert record in found
    assert asked not in found


def test_a_quote_settles_with_all_that_its_person_said_then(memory: Memory) -> None:
    first = "Python is formatted with Black, with a line length of 88."
    agent = memory.scoped(trust="agent")
    known = agent.remember(first, key="format")
    memory.observe(first, session="s1")
    said = "We use Ruff for formatting now, with a line length of 100."
    (later,) = memory.observe(said, session="s2")
    record = "Python is formatted with Ruff, with a line length of 100."
    agent.revise(known.id, record, evidence=[Quote(later.id, "We use Ruff for formatting now")])
    found = told(memory, "What line length do we format Python with?")
    assert record in found
    assert first not in found


def test_without_a_record_the_answer_of_a_talk_is_handed_over(memory: Memory) -> None:
    memory.observe("Which port is the staging database on?", session="s1")
    memory.observe("The port is 5433.", role="assistant", session="s1")
    assert "The port is 5433." in told(memory, "Which port is the staging database on?")


def test_a_question_about_an_earlier_value_gets_what_was_said_of_it(memory: Memory) -> None:
    record = memory.remember("The staging database is on port 5433.", key="staging.port")
    memory.observe("The staging database is on port 5433.", session="s1")
    memory.revise(record.id, PORT)
    assert len(told(memory, "What was the old port of the staging database?")) > 1


def test_a_long_prompt_of_blanks_is_asked_in_few_looks(memory: Memory) -> None:
    memory.observe("The port of staging is 5433.", session="s1")
    prompt = "what is the port" + " " * 15_000 + "of staging?"
    assert told(memory, prompt) == ["The port of staging is 5433."]
