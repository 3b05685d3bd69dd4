"""What the prompt hook hands over: never what was only typed before, always what it says."""

from __future__ import annotations

import pytest

from recollect import Memory
from recollect.finding import briefing
from recollect.memory.handle.handle import handle_of

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


def test_a_record_and_an_assistants_turn_are_never_a_repeated_prompt(memory: Memory) -> None:
    memory.remember("Staging port: get it from Dana.")
    memory.observe("Get the staging port from Dana.", role="assistant", session="s1")
    prompt = "get me the staging port from Dana, it is hers to say"
    assert len(told(memory, prompt)) == 2


def test_a_long_prompt_of_blanks_is_asked_in_few_looks(memory: Memory) -> None:
    memory.observe("The port of staging is 5433.", session="s1")
    prompt = "what is the port" + " " * 15_000 + "of staging?"
    assert told(memory, prompt) == ["The port of staging is 5433."]
