"""Texts that still state a value which another has replaced."""

from __future__ import annotations

import pytest

from recollect.recall.clause_words import content
from recollect.recall.replaced import Reader, Said, Value

BEFORE, SINCE, AFTER = "2026-01-01", "2026-06-01", "2026-09-01"


def value(
    text: str = "Staging is on port 5433.",
    now: str = "Staging is on port 6000.",
    names: str = "staging.port",
    evidence: tuple[str, ...] = (),
    sessions: tuple[str, ...] = (),
    grounds: tuple[str, ...] = (),
) -> Value:
    return Value(text, names, now, SINCE, frozenset(evidence), frozenset(sessions), grounds)


def said(
    text: str,
    *,
    at: str = BEFORE,
    of_person: bool = False,
    is_record: bool = False,
    session: str | None = None,
) -> Said:
    return Said("e-1", text, at, of_person, is_record, session)


def states(said: Said, value: Value) -> bool:
    return Reader([said]).states(said, value)


def says_more(text: str, values: list[Value]) -> bool:
    return Reader([said(text)]).says_more(said(text), values)


def may_state(said: Said, value: str, names: str) -> bool:
    return Reader([said]).may_state(said, value, names)


HOME = value("The user lives in Porto.", "The user lives in Lisbon.", "home.city")
CAR = value("Anna's car is red.", "Anna's car is blue.", "anna.car")


@pytest.mark.parametrize(
    "text",
    [
        "Staging is on port 5433.",
        "Please remember that staging is on port 5433 and that we deploy from the release branch.",
        "Noted: staging uses 5433; deploys come from release.",
        "About staging: 5433, if I remember well.",
        "Deploy to staging at 5433 and run every one of the smoke tests there.",
        "Staging is on port 5433 and prod is on port 6000.",
        "Is staging still on 5433?",
    ],
)
def test_these_state_the_value(text: str) -> None:
    assert states(said(text), value())


@pytest.mark.parametrize(
    "text",
    [
        "Staging is slow today.",
        "Invoice 5433 was paid.",
        "Staging moved from port 5433 to 6000.",
        "Sorry, staging is on port 6000, not 5433.",
        "Staging was on port 5433. Staging is on port 6000 now.",
        "",
    ],
)
def test_these_do_not(text: str) -> None:
    assert not states(said(text), value())


def test_a_word_must_be_all_that_a_clause_is_about() -> None:
    assert states(said("Anna's red car."), CAR)
    assert not states(said("Anna painted her whole room red."), CAR)
    assert states(said("My home is in Porto."), HOME)
    assert not states(said("My home is far away from beautiful Porto."), HOME)


def test_beside_a_name_a_clause_may_say_a_little_more() -> None:
    names = "The user's dentist is Dr Okafor.", "The user's dentist is Dr Baruah."
    dentist = value(*names, "dentist.name")
    assert states(said("I go to Dr Okafor for my teeth."), dentist)
    assert not states(said("Our neighbour Dr Okafor sings in a choir."), dentist)


def test_a_part_of_the_value_is_enough_only_if_it_is_half() -> None:
    long = value("Backups run early on Friday nights.", "Backups run late on Monday mornings.", "")
    assert not states(said("Backups run at night."), long)
    assert states(said("Backups run early Friday."), long)


def test_in_the_same_conversation_a_name_is_enough() -> None:
    there = value(*HOME[:1], HOME.now, HOME.names, sessions=("s1",))
    assert states(said("Porto it is, and how lovely that must be.", session="s1"), there)
    assert not states(said("Porto it is, and how lovely that must be.", session="s2"), there)
    assert states(said("Porto!"), value(*HOME[:1], HOME.now, HOME.names, evidence=("e-1",)))
    moved = value("The user lives in Porto.", "The user moved to Lisbon.", "", sessions=("s1",))
    assert not states(said("Where do these penguins live?", session="s1"), moved)
    assert states(said("So the user lives there.", session="s1"), moved)


def test_a_person_has_the_last_word() -> None:
    again = "Staging is on port 5433 again."
    assert not states(said(again, at=AFTER, of_person=True), value())
    assert states(said(again, at=BEFORE, of_person=True), value())
    assert states(said(again, at=AFTER), value())
    assert not states(said(again, at=AFTER, is_record=True), value())


def test_the_words_that_a_value_rests_on_do_not_state_the_old_one() -> None:
    text = "It is not 5433 for staging, 6000 is right."
    now = "Staging is on port 6000, behind the proxy."
    assert states(said(text), value(now=now))
    assert not states(said(text), value(now=now, grounds=("e-1",)))
    assert states(said("Staging is on 5433."), value(now=now, grounds=("e-1",)))


def test_a_record_must_say_little_else() -> None:
    text = "The staging database listens on 5433 at night."
    assert states(said(text), value())
    assert not states(said(text, is_record=True), value())
    assert states(said("Use port 5433 on staging.", is_record=True), value())


def test_a_value_that_was_only_denied() -> None:
    tea = value("Alice likes tea.", "Alice no longer likes tea.", "alice.tea")
    assert states(said("Alice likes tea."), tea)
    assert not states(said("Alice sings."), tea)


def test_a_value_with_nothing_in_common_with_the_new_one() -> None:
    plain = value("Port 5433.", "Use the socket.", "")
    assert not states(said("Use the socket."), plain)
    assert not states(said("The socket is 5433."), plain)


def test_whether_a_text_says_more() -> None:
    assert not says_more("OK, noted: staging is on port 5433.", [value()])
    assert says_more("Staging is on port 5433, and there is cake.", [value()])
    assert not says_more("Staging is on 5433; you live in Porto.", [value(), HOME])


def test_which_values_are_worth_a_look() -> None:
    assert may_state(said("Staging uses 5433."), "Staging is on port 5433.", "")
    assert may_state(said("My home is Porto."), "The user lives in Porto.", "home.city")
    assert not may_state(said("We use 5433."), "Staging is on port 5433.", "")


def test_numbers_are_words_with_what_belongs_to_them() -> None:
    assert content("At 09:15 in 12A, on v2.1!") == {"09:15", "12a", "v2.1"}
    tokens = Reader([said("Port 5433."), said("Port six.")]).all_tokens()
    assert tokens == ["433", "5", "5433", "5k", "6", "port", "six"]
    reader = Reader([said("Port 5433.")])
    for _ in range(2):
        assert reader.has_one_of(said("Port 5433."), frozenset({"5433", "6000"}))
        assert not reader.has_one_of(said("Port 5433."), frozenset({"6000"}))
