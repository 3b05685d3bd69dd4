"""A text about the subject that lacks the thing asked for is not a likely answer."""

from __future__ import annotations

import pytest

from recollect import Memory
from recollect.recall.asked_for import lacks, needs_of

LACKING = [
    ("what is the password of the guest Wi-Fi?", "The guest Wi-Fi is called 'Pelikan'."),
    ("When is Ines's birthday?", "Jonas was born on 4 May."),
    ("When is Ines's birthday?", "Ines draws the art in Krita."),
    ("Which port does the Redis cache use?", "The staging database is on port 5433."),
    ("which port does Typesense listen on?", "Search moved to Typesense 27."),
    ("How much did the ferry cost?", "The ferry leaves at 8:15 from pier 4."),
    ("what is the licence plate of the car?", "The car is a blue Skoda Octavia."),
    ("what is Oskar's phone number?", "Paulina took over the scanner from Oskar."),
    ("who is the piano tuner?", "The piano teacher is Mr Okonkwo, Tuesdays at 17:00."),
    ("what is the e-mail address of Signe?", "Signe lets the flat."),
]
HAVING = [
    ("what is the password of the guest Wi-Fi?", "The guest Wi-Fi has the password 'Pelikan'."),
    ("When is Ines's birthday?", "Ines turns 40 in May."),
    ("when is Leo's birthday?", "My son Leo was born on 4 May 2026."),
    ("which port is staging on?", "Staging is at stg-db-4:5439."),
    ("how much do we pay for the flat?", "Rent goes up to 1,240 euros."),
    ("who is our tax adviser?", "The tax adviser is Ms Kowalczyk."),
    ("Who's the author of it?", "It was authored by Beatriz."),
    ("who is the same?", "Nobody."),
    ("who is on call", "The rota is in PagerDuty."),
    ("what did we decide in May?", "We dropped Celery."),
    ("how do we format code?", "Biome does it."),
    ("where does Alice sit?", "I sit in 12A."),
]


@pytest.mark.parametrize(("query", "text"), LACKING)
def test_what_lacks_the_thing_asked_for(query: str, text: str) -> None:
    assert lacks(needs_of(query), text)


@pytest.mark.parametrize(("query", "text"), HAVING)
def test_what_has_it_or_needs_nothing(query: str, text: str) -> None:
    assert not lacks(needs_of(query), text)


@pytest.fixture
def memory() -> Memory:
    return Memory.open(":memory:", embedder="none")


def test_it_is_not_likely_and_the_order_stays(memory: Memory) -> None:
    memory.remember("The guest Wi-Fi of the office is called Pelikan.")
    memory.remember("Lunch is at noon.")
    (hit,) = memory.recall("what is the password of the guest Wi-Fi?")
    assert hit.strength == "weak"
    assert memory.recall("what is the name of the guest Wi-Fi?")[0].strength == "strong"


def test_keys_and_turns_beside_it_count(memory: Memory) -> None:
    memory.remember("The guest Wi-Fi: Pelikan-42.", key="wifi.password")
    assert memory.recall("what is the password of the guest Wi-Fi?")[0].strength != "weak"
    memory.observe("So what is the cello's price?", session="s")
    memory.observe("A thousand, says the cello shop.", session="s")
    found = {hit.text: hit.relevance for hit in memory.recall("how much did the cello cost?")}
    assert found["A thousand, says the cello shop."] > 0.5
