"""A text about the subject that lacks the thing asked for is not a likely answer."""

from __future__ import annotations

import re

import pytest

from recollect import Memory
from recollect.recall import asked_for
from recollect.recall.asked_for import lacks, needs_of
from tests.steps import steps_of_search

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
    ("When is Ines's birthday?", "Ines moved in 2026."),
    ("How much did the ferry cost?", "The ferry leaves at 18:15 since 2024."),
    ("What t-shirt size does Jonas wear?", "Jonas wears t-shirts in a mall."),
    ("What t-shirt size does Jonas wear?", "Jonas comes at 16:15 for his t-shirts."),
    ("How much did the flat cost?", "The flat is booked from 3 to 17 July 2026."),
    ("Does Ines or Jonas drive?", "Signe drives."),
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
    ("What port does staging Postgres listen on?", "Staging Postgres listens on 5433."),
    ("which port does the proxy use?", "The proxy is on 80."),
    ("How much did the couch cost?", "We got the couch for 900."),
    ("How much did the flat cost?", "The flat was 950 for the week."),
    ("How much did the tram cost?", "The tram is 4 a ride."),
    ("how much do we pay for Netflix?", "Netflix is 15.99 a month."),
    ("What t-shirt size does Jonas wear?", "Jonas wears XL t-shirts."),
    ("When is Ines's birthday?", "Ines: March 14"),
    ("When is Ines's birthday?", "Ines: 14.3."),
    ("When is the German tax return due?", "Tax return is due on 31 July."),
    ("when do the Swiss invoices go out?", "Invoices go out on Mondays."),
    ("Should I use GitHub Actions or Jenkins for deploys?", "Deploys run on Jenkins."),
    ("Does Ines or Jonas drive?", "Jonas drives."),
    ("Wann ist der Termin beim Zahnarzt?", "Zahnarzt ist am 3. Mai um 9 Uhr."),
    ("Wo liegt der Schl\u00fcssel vom Keller?", "Kellerschl\u00fcssel: im Flur."),
    ("Wann ist die Steuererkl\u00e4rung f\u00fcr die Firma f\u00e4llig?", "Steuer bis Ende Juli."),
    ("Quel est le port de la base Postgres ?", "La base \u00e9coute sur 5433."),
    ("What Day Is The Office Party?", "The party is on 3 June."),
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


@pytest.mark.parametrize("unit", [" ", "how much ", "who is the ", "Ines's ", "9 ", "\u00e9"])
def test_reading_a_question_takes_work_that_grows_with_its_length(unit: str) -> None:
    patterns = [asked for asked, _ in asked_for._THINGS] + [asked_for._AFTER_WHO, asked_for._NAME]
    for pattern in patterns:
        small, large = (
            steps_of_search(pattern, " ".join(f"who is the x{unit * size}".split()), re.IGNORECASE)
            for size in (30, 60)
        )
        assert large <= 2.3 * small + 50, pattern


@pytest.mark.parametrize("unit", [" ", "9", "1 ", "A ", "12.", "may ", "4,", "+1 "])
def test_reading_an_answer_takes_work_that_grows_with_its_length(unit: str) -> None:
    for _, pattern in asked_for._THINGS:
        small, large = (
            steps_of_search(pattern, f"The port {unit * size}x", re.IGNORECASE)
            for size in (30, 60)
        )
        assert large <= 2.3 * small + 50, pattern
