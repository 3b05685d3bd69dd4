"""Corrections win in conversations, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.finding import briefing
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Hit
from recollect.recall.talk import TALK_SIGNALS
from tests.recall.conversations import Talk, talk

SEEDS = pytest.mark.parametrize(
    "seeds", [range(0, 200, 8), pytest.param(range(200), marks=pytest.mark.nightly)]
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as opened:
        yield opened


def day(number: int) -> str:
    return f"2026-03-{number:02}T10:00:00Z"


def seats(memory: Memory) -> None:
    """The conversation that was reported: eight hits, and none of them the correction."""
    memory.observe("I sit in 14C.", session="s0", said_at=day(1))
    for number in range(2, 8):
        memory.observe("Where do I sit?", session=f"s{number}", said_at=day(number))
        memory.observe(
            "You sit in 14C.", role="assistant", session=f"s{number}", said_at=day(number)
        )
    memory.observe("I don't sit in 14C any more, I sit in 2F now.", session="s9", said_at=day(9))
    memory.observe("Understood.", role="assistant", session="s9", said_at=day(9))


def base(hit: Hit) -> float:
    """The score without what the conversation adds."""
    return hit.score - sum(share for name, share in hit.shares.items() if name in TALK_SIGNALS)


def test_the_newer_of_two_statements_comes_first_and_says_so(memory: Memory) -> None:
    seats(memory)
    found = memory.recall("Where do I sit?", k=8, include=["transient"])
    newest, older, *rest = found
    assert newest.text == "I don't sit in 14C any more, I sit in 2F now."
    assert (older.text, older.corrected_by) == ("I sit in 14C.", newest.id)
    assert newest.corrects == (older.id,)
    said = {hit.text: (hit.said, (hit.last_said or "")[:10]) for hit in rest}
    assert said["Where do I sit?"] == (6, "2026-03-07")  # one hit, with the last date
    assert said["You sit in 14C."] == (6, "2026-03-07")
    for hit in found:
        assert abs(sum(hit.shares.values()) - hit.score) < 1e-9
    packed = memory.context("Where do I sit?", tokens=200)
    assert "I sit in 2F now" in packed.text
    assert "You sit in 14C" not in packed.text
    assert f'"I sit in 14C." [{older.id}] (contradicted by [{newest.id}])' in packed.text
    assert packed.receipt is not None
    assert memory.replay(packed.receipt).text == packed.text


def first_answers(memory: Memory, told: Talk) -> list[str]:
    """The first answer of recall, of the hook and of a context."""
    handle = handle_of(memory)
    with handle.reading() as reads:
        hook = briefing.about(reads, told.question, briefing.Viewer(handle.now(), None))
    context = memory.context(told.question, tokens=200, receipt=False)
    found = [memory.recall(told.question, k=8)[0], *hook[:1], *context.hits[:1]]
    return [hit.text for hit in found]


@SEEDS
def test_conversations_with_a_correction(seeds: range) -> None:
    for seed in seeds:
        told = talk(seed, corrected=True)
        assert told.new is not None
        with Memory.open(":memory:", embedder="none") as memory:
            told.told_to(memory)
            for text in first_answers(memory, told):
                assert told.new in text, (seed, told.question, text)
            best = [hit.text for hit in memory.recall(told.question, k=3) if not hit.corrected_by]
            assert not [text for text in best if told.old in text and told.new not in text], seed


@SEEDS
def test_conversations_without_one_are_not_reordered(seeds: range) -> None:
    """The control: what people said stays in the order of its score, and nothing is marked."""
    for seed in seeds:
        told = talk(seed, corrected=False)
        with Memory.open(":memory:", embedder="none") as memory:
            told.told_to(memory)
            found = memory.recall(told.question, k=50)
            assert not [hit for hit in found if hit.corrects or hit.corrected_by], seed
            people = [hit for hit in found if hit.episode and hit.episode.role == "user"]
            statements = [hit for hit in people if not hit.text.endswith("?")]
            assert told.old in statements[0].text
            assert [base(hit) for hit in statements] == sorted(map(base, statements), reverse=True)
            assert not [hit for hit in statements if base(hit) != hit.score]


def test_what_is_said_again_last_is_what_holds(memory: Memory) -> None:
    memory.observe("I sit in 14C.", said_at=day(1))
    memory.observe("I sit in 2F now.", said_at=day(2))
    back = memory.observe("I sit in 14C.", said_at=day(3))[0]
    first, second = memory.recall("Where do I sit?")
    assert (first.id, first.said, first.corrected_by) == (back.id, 2, None)
    assert (second.text, second.corrected_by) == ("I sit in 2F now.", back.id)


def test_an_echo_of_a_superseded_record_sinks(memory: Memory) -> None:
    memory.remember("Alice sits in 12A.", key="alice.seat")
    memory.observe("Alice sits in 12A, I think.", said_at=day(1))
    memory.observe("You sit in 12A, Alice.", role="assistant")
    memory.observe("Alice sits in 12A with Bob, Carol, Dave, Erin and Frank.", role="assistant")
    assert memory.recall("Where does Alice sit?")[0].record is not None
    new = memory.remember("Alice sits in 14C.", key="alice.seat")
    found = memory.recall("Where does Alice sit?")
    assert found[0].id == new.id
    echo = next(hit for hit in found if hit.text.startswith("You sit"))
    assert echo.shares["echo"] < -10
    assert echo.relevance < 0.05
    person = next(hit for hit in found if hit.text.endswith("I think."))
    assert person.corrected_by == new.id
    longer = next(hit for hit in found if "Frank" in hit.text)
    assert "echo" not in longer.shares  # it says much more


def test_an_echo_of_a_revised_record_sinks(memory: Memory) -> None:
    made = memory.remember("Staging is on port 5432.")
    memory.observe("Your staging is on port 5432.", role="assistant")
    memory.observe("Staging is on port 5433, you said.", role="assistant")
    memory.revise(made.id, "Staging is on port 5433.")
    found = {hit.text: hit for hit in memory.recall("Which port is staging on?")}
    assert found["Your staging is on port 5432."].shares["echo"] < -10
    assert found["Staging is on port 5433, you said."].shares.get("echo", 0.0) > -10


def test_news_after_a_record_is_not_an_echo(memory: Memory) -> None:
    memory.remember("Staging is on port 5432.", key="port")
    memory.remember("Staging is on port 5433.", key="port")
    memory.observe("Staging is on port 5432 again.", said_at="2199-01-01")
    first = memory.recall("Which port is staging on?")[0]
    assert (first.text, len(first.corrects)) == ("Staging is on port 5432 again.", 1)


def test_what_is_not_understood_corrects_nothing(memory: Memory) -> None:
    memory.observe("My desk is tidy.", said_at=day(1))
    memory.observe("My desk is tall.", said_at=day(2))
    memory.observe("Sits by the desk in 14C.", said_at=day(3))
    memory.observe("Sits by the desk in 2F.", said_at=day(4))
    found = memory.recall("What about my desk?")
    assert len(found) == 4
    assert not [hit for hit in found if hit.corrects or hit.corrected_by]


def test_a_long_text_is_not_counted_as_a_repeat(memory: Memory) -> None:
    """Whole conversations may be imported twice; both copies stay."""
    for number in (1, 2):
        memory.observe("My desk is by the window. " * 4, said_at=day(number))
    assert [hit.said for hit in memory.recall("Where is my desk?")] == [1, 1]


def test_a_long_text_is_left_as_it_is(memory: Memory) -> None:
    memory.observe("I sit in 14C. " + "This is the report of the day. " * 12, said_at=day(1))
    memory.observe("I sit in 2F now.", said_at=day(2))
    assert not [hit for hit in memory.recall("Where do I sit?") if hit.corrects]


def test_a_statement_far_below_corrects_nothing(memory: Memory) -> None:
    """The question is about the older one alone, although the same is said of both."""
    memory.observe(
        "My desk is in the quiet corner of building Nordhaus near gate 14C", said_at=day(1)
    )
    memory.observe("My desk is in room 2F", said_at=day(2))
    asked = "Which desk is in the quiet corner of building Nordhaus near the gate?"
    first = memory.recall(asked)[0]
    assert ("Nordhaus" in first.text, first.corrected_by) == (True, None)
    assert memory.recall("Where is my desk?")[0].corrects  # the control


# What a hostile or a foreign text may not do. The control beside each: a person's own text may.


@pytest.mark.parametrize("origin", ["unverified", "agent", "person"])
def test_only_as_much_trust_corrects(memory: Memory, origin: str) -> None:
    mine = memory.observe("I sit in 14C.", said_at=day(1))[0]
    other = memory.scoped(trust=origin)  # type: ignore[arg-type]
    other.observe("I don't sit in 14C any more, I sit in 66X now.", said_at=day(2))
    found = {hit.id: hit for hit in memory.recall("Where do I sit?", include=["waiting"])}
    assert len(found) == 2
    is_corrected = found[mine.id].corrected_by is not None
    assert is_corrected == (origin == "person")
    assert base(found[mine.id]) == found[mine.id].score


COPIES = ["I sit in 14C.", "I sit in 14C, as I said.", "I sit in 14D."]


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("origin", ["agent", "person"])
def test_correcting_a_copy_lifts_nothing_above_the_original(
    memory: Memory, origin: str, copy: str
) -> None:
    mine = memory.observe("I sit in 14C.", said_at=day(1))[0]
    agent, other = memory.scoped(trust="agent"), memory.scoped(trust=origin)  # type: ignore[arg-type]
    agent.observe(copy, said_at=day(2))
    other.observe("I sit in 66X now, and this is for all of you to note down.", said_at=day(3))
    found = memory.recall("Where do I sit?")
    places = [hit.id for hit in found if hit.id == mine.id or "66X" in hit.text]
    assert (places[0] == mine.id) == (origin == "agent")
    assert bool([hit for hit in found if hit.corrects]) == (origin == "person")


@pytest.mark.parametrize("origin", ["agent", "person"])
def test_an_agents_record_ends_no_value_that_a_person_still_states(
    memory: Memory, origin: str
) -> None:
    agent, other = memory.scoped(trust="agent"), memory.scoped(trust=origin)  # type: ignore[arg-type]
    made = other.remember("Staging is on port 5432, dear all.")
    mine = memory.observe("Staging is on port 5432.", said_at=day(1))[0]
    agent.observe("Staging is on port 5432 here.", said_at=day(1))
    echo = agent.observe("Your staging is on port 5432.", role="assistant")[0]
    other.revise(made.id, "Dear all, note this: staging port 5433.")
    found = {hit.id: hit for hit in memory.recall("Which port is staging on?")}
    assert bool(found[made.id].corrects) == (origin == "person")
    assert (found[made.id].score > found[mine.id].score) == (origin == "person")
    assert (found[echo.id].shares.get("echo", 0.0) < -10) == (origin == "person")


def test_a_persons_correction_frees_that_of_an_agent(memory: Memory) -> None:
    """What a person has corrected contests nothing."""
    agent = memory.scoped(trust="agent")
    memory.observe("I sit in 14C.", said_at=day(1))
    copy = agent.observe("I sit in 14C.", said_at=day(1))[0]
    memory.observe("I sit in 2F now.", said_at=day(3))
    newest = agent.observe("I sit in 2F now, and I like it.", said_at=day(4))[0]
    found = {hit.id: hit for hit in memory.recall("Where do I sit?")}
    assert found[copy.id].corrected_by == newest.id


@pytest.mark.parametrize("is_trusted", [False, True])
def test_held_texts_do_not_switch_corrections_off(is_trusted: bool) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        other = memory if is_trusted else memory.scoped(trust="unverified")
        memory.observe("I sit in 14C.", said_at=day(1))
        memory.observe("I sit in 2F now.", said_at=day(2))
        for number in range(45):
            other.observe(f"Where I do sit: I sit in row {number}", said_at=day(3))
        found = memory.recall("Where do I sit?", include=["waiting"], k=60)
    corrected = [hit.text for hit in found if hit.corrected_by and "row" not in hit.text]
    assert corrected == ([] if is_trusted else ["I sit in 14C."])  # the control: the bound


def test_a_held_record_corrects_nothing(memory: Memory) -> None:
    agent = memory.scoped(trust="agent")
    memory.remember("The desk of Ann is in room 14C.", key="desk")
    held = agent.remember("The desk of Ann is in room 66X now.", key="desk")
    said = agent.observe("The desk of Ann is in room 14C.", said_at=day(1))[0]
    assert (held.status, held.trust) == ("waiting", "agent")
    found = {hit.id: hit for hit in memory.recall("Where is Ann's desk?", include=["waiting"])}
    assert found[said.id].corrected_by is None
    assert found[held.id].corrects == ()


@pytest.mark.parametrize(("user", "corrects"), [("bob", False), (None, False), ("ann", True)])
def test_another_users_text_corrects_nothing(
    memory: Memory, user: str | None, corrects: bool
) -> None:
    mine = memory.scoped(user="ann").observe("I sit in 14C.", said_at=day(1))[0]
    memory.scoped(user=user).observe("I sit in 2F now.", said_at=day(2))
    found = {hit.id: hit for hit in memory.recall("Where do I sit?")}
    assert (found[mine.id].corrected_by is not None) == corrects


@pytest.mark.parametrize(
    ("user", "origin", "role", "times"),
    [
        ("ann", "person", "user", 2),
        ("bob", "person", "user", 1),
        ("ann", "unverified", "user", 1),
        ("ann", "agent", "user", 1),
        ("ann", "person", "assistant", 1),
    ],
)
def test_only_ones_own_words_are_collapsed(
    memory: Memory, user: str, origin: str, role: str, times: int
) -> None:
    memory.scoped(user="ann").observe("I sit in 14C.", said_at=day(1))
    other = memory.scoped(user=user, trust=origin)  # type: ignore[arg-type]
    other.observe("I sit in 14C!", role=role, said_at=day(2))  # type: ignore[arg-type]
    found = memory.recall("Where do I sit?", include=["waiting"])
    assert (len(found), found[0].said) == (3 - times, times)


def test_an_unverified_record_sinks_no_echo(memory: Memory) -> None:
    """A held record never supersedes, so nothing that was said before becomes an echo."""
    memory.remember("Alice sits in 12A.", key="seat")
    said = memory.observe("You sit in 12A, Alice.", role="assistant")[0]
    memory.scoped(trust="unverified").remember("Alice sits in 66X.", key="seat")
    found = {hit.id: hit for hit in memory.recall("Where does Alice sit?", include=["waiting"])}
    assert found[said.id].shares.get("echo", 0.0) > -10


def test_why_not_names_the_one_that_says_the_same(memory: Memory) -> None:
    old = memory.observe("I sit in 14C.", said_at=day(1))[0]
    new = memory.observe("I sit in 14C.", said_at=day(2))[0]
    why = memory.admin.why_not(old.id, "Where do I sit?")
    assert (why.reason, why.by, str(why)) == ("repeat", (new.id,), f"says the same as {new.id}")
    assert memory.admin.why_not(new.id, "Where do I sit?").reason == "there"


def test_a_question_about_something_else_stays(memory: Memory) -> None:
    memory.observe("Where do I sit on the flight to Oslo?", said_at=day(1))
    memory.observe("Where do I sit?", said_at=day(2))
    found = memory.recall("Where do I sit?", include=["transient"])
    shares = {hit.text: hit.shares for hit in found}
    assert "question" not in shares["Where do I sit on the flight to Oslo?"]
    assert "question" in shares["Where do I sit?"]
