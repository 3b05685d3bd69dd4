"""Condensing: entries that say the same are merged, and a proposer's rewrite is checked."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

import pytest

from recollect import Memory
from recollect.errors import Forbidden, NotFound
from recollect.model.values import Episode, Record, Suggestion


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        yield memory


def entries(memory: Memory, name: str) -> int:
    return next(page.entry_count for page in memory.pages.list() if page.name == name)


def flagged(memory: Memory, name: str = "person-alice") -> bool:
    return next(page.needs_compact for page in memory.pages.list() if page.name == name)


def known(memory: Memory, *texts: str) -> list[Record]:
    return [memory.remember(text, about="person:Alice") for text in texts]


def test_what_says_the_same_is_merged(memory: Memory) -> None:
    # S3-215: fewer tokens, the same facts
    first, *_ = known(memory, "Alice sits in row 3.", "Alice sits in row 3", "alice sits in row 3!")
    other = memory.remember("the Alice sits in row 3", about="person:Alice", tags=["seat"])
    memory.remember("Alice has a cat.", about="person:Alice")
    memory.pages.flag("person-alice", "long")
    before = memory.pages.condense("person-alice", dry_run=True)
    assert (len(before.merged), entries(memory, "person-alice")) == (3, 5)
    done = memory.pages.condense("person-alice")
    assert (done.merged, done.dropped, done.problem) == (before.merged, (), None)
    assert done.tokens_after == before.tokens_after < done.tokens_before
    assert entries(memory, "person-alice") == 2
    assert not flagged(memory)
    assert memory.get(first.id).tags == ("seat",)  # type: ignore[union-attr]  # a record
    assert memory.history(other.id)[-1].what == "archived"
    (link,) = memory.why(other.id).links
    assert (link.target, link.kind) == (first.id, "near_duplicate_of")
    memory.undo()
    assert entries(memory, "person-alice") == 5
    assert flagged(memory)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Alice pays Bob.", "Bob pays Alice."),
        ("Alice uses C++.", "Alice uses C#."),
        ("Alice chose plan a.", "Alice chose plan."),
        ("Alice likes tea.", "Alice liked tea."),
        ("Alice sits in row 3.", "Alice sits in row 4."),
        ("Alice likes tea.", "Alice does not like tea."),
        ("Is Alice in?", "Is Alice in."),
        ("Alice speaks Polish.", "Alice speaks polish."),
        ("Row ٣ is free.", "Row 3 is free."),
    ],
)
def test_what_differs_is_kept(memory: Memory, one: str, two: str) -> None:
    # S3-215: nothing to merge, so the page is no longer flagged
    known(memory, one, two)
    memory.pages.flag("person-alice")
    done = memory.pages.condense("person-alice")
    assert (done.merged, done.tokens_after) == ((), done.tokens_before)
    assert not flagged(memory)  # it was looked at, and there is nothing to merge


def test_trust_users_and_fields_are_not_mixed(memory: Memory) -> None:
    text, agent = "Alice sits in row 3.", memory.scoped(trust="agent")
    memory.remember(text, about="person:Alice")
    agent.remember(text + " ", about="person:Alice")
    memory.scoped(user="ann").remember(text, about="person:Alice")
    memory.scoped(trust="unverified").remember(text, about="person:Alice")  # held
    memory.remember(text, about="person:Alice", kind="event", id="kind")
    memory.remember(text, about="person:Alice", expires="2099-01-01T00:00:00Z", id="expires")
    memory.remember(text, about="person:Alice", key="alice.seat", id="keyed")
    done = memory.pages.condense("person-alice", dry_run=True)
    assert len(done.merged) <= 1  # the first, into the one with the key
    assert not {"kind", "expires", "keyed"} & set(done.merged)
    assert agent.pages.condense("person-alice", dry_run=True).merged == ()  # a person's
    with pytest.raises(Forbidden):
        memory.scoped(user="ann").pages.condense("person-alice")
    with pytest.raises(NotFound):
        memory.pages.condense("person-alise")


def test_a_value_that_came_back_is_struck_once(memory: Memory) -> None:
    # S3-215: a chain stays one, without a note that nobody wrote, as decision 40 says
    for text in ("Row 3.", "Row 4.", "Row 3.", "Row 4.", "Row 5."):
        memory.remember(text, about="person:Alice", key="alice.seat")
    before = memory.pages.read("person-alice")
    done = memory.pages.condense("person-alice")
    assert len(done.merged) == 2
    text = memory.pages.read("person-alice")
    assert [text.count(f"~~Row {n}.~~") for n in (3, 4)] == [1, 1]
    assert text.endswith("\nRow 5.\n")
    assert memory.recall("row")[0].text == "Row 5."
    assert memory.history(done.merged[0])  # still there
    memory.undo()
    assert memory.pages.read("person-alice").count("~~") == before.count("~~")


class Shortening:
    """A proposer that puts everything into its first entry, without some words."""

    def __init__(self, *without: str, more: str = "") -> None:
        self.without, self.more = without, more
        self.given: list[list[Record]] = []

    def __call__(self, episodes: Sequence[Episode], records: Sequence[Record]) -> list[Suggestion]:
        assert episodes == ()
        self.given.append([*records])
        text = "; ".join(record.text.rstrip(".") for record in records) + self.more
        for word in self.without:
            text = text.replace(word, "")
        first, *others = records
        return [
            Suggestion(intent="update", quotes=(), target=first.id, text=text),
            *(Suggestion(intent="delete", quotes=(), target=one.id) for one in others),
        ]


FACTS = [f"Alice met Guest{chr(65 + n)} in room {n}00." for n in range(10)]  # 21 facts


def test_what_a_proposer_writes_waits_for_a_person(memory: Memory) -> None:
    # S3-215: rewritten as one entry with every fact, after a review
    known(memory, *FACTS)
    memory.pages.flag("person-alice")
    before = memory.pages.read("person-alice")
    done = memory.pages.condense("person-alice", Shortening())
    assert (done.problem, done.dropped, len(done.proposals)) == (None, (), 10)
    assert done.tokens_after < done.tokens_before
    assert memory.pages.read("person-alice") == before  # nothing changed yet
    assert flagged(memory)
    waiting = memory.review.list()
    assert {one.trust for one in waiting} == {"agent"}
    assert len(waiting[0].evidence) == 9  # what it would stand for
    for one in waiting:
        memory.review.approve(one.id, memory.review.show(one.id).digest)
    assert entries(memory, "person-alice") == 1
    text = memory.pages.read("person-alice")
    assert all(f"Guest{chr(65 + n)} in room {n}00" in text for n in range(10))


@pytest.mark.parametrize(
    ("proposer", "problem"),
    [
        (Shortening("GuestA", "GuestB"), "drops 2 of 21 facts"),
        (Shortening(more="; Mallory has the key"), "says what the page does not: mallory"),
        (Shortening("GuestA", more=" <!-- GuestA -->"), "markup that could hide"),
        (Shortening("GuestA", more=" Guest\u200bA"), "no reader sees"),
        (Shortening(more=" room 100" * 500), "longer than|not shorter"),
    ],
)
def test_a_rejected_rewrite_leaves_the_page_flagged(
    memory: Memory, proposer: Shortening, problem: str
) -> None:
    # S3-216 S3-217
    known(memory, *FACTS)
    before = memory.pages.read("person-alice")
    done = memory.pages.condense("person-alice", proposer)
    assert done.problem is not None
    assert re.search(problem, done.problem)
    assert (done.proposals, memory.review.list()) == ((), [])
    assert flagged(memory)
    assert before.split("\n# ")[1] == memory.pages.read("person-alice").split("\n# ")[1]


def test_an_ordinary_noun_may_go_but_not_unread(memory: Memory) -> None:
    # S3-216: of an entry with a name, the name counts, as decision 40 says
    known(memory, "Alice has a cat.", "Alice has a dog.")
    before = memory.pages.read("person-alice")
    done = memory.pages.condense("person-alice", Shortening(" a cat", "; Alice has a dog"))
    assert (done.problem, done.dropped, len(done.proposals)) == (None, (), 2)
    assert memory.pages.read("person-alice") == before
    waiting = [memory.review.show(one.id) for one in memory.review.list()]
    assert {one.intent for one in waiting} == {"update", "delete"}
    for one in waiting:
        memory.review.reject(one.id, one.digest)
    assert memory.pages.read("person-alice") == before


def test_the_nouns_of_an_entry_without_a_name_are_facts(memory: Memory) -> None:
    # S3-216: so that none can be dropped unseen
    known(memory, "she has a cat.", "she has a dog.")
    done = memory.pages.condense("person-alice", Shortening(" a cat"))
    assert done.problem == "the rewrite drops 1 of 2 facts, more than 5%: cat"
    assert memory.review.list() == []
    assert flagged(memory)


def test_one_of_twenty_one_facts_may_go(memory: Memory) -> None:
    """The control: 4.8 % is not above 5 %."""
    known(memory, *FACTS)
    done = memory.pages.condense("person-alice", Shortening("GuestA"))
    assert (done.problem, done.dropped) == (None, ("guesta",))


def test_a_proposer_sees_one_user_and_one_trust_at_a_time(memory: Memory) -> None:
    known(memory, "Alice sits in row 3.", "Alice has a cat.")
    memory.scoped(trust="agent").remember("Alice has a dog.", about="person:Alice")
    memory.scoped(user="ann").remember("Alice has a bird.", about="person:Alice")
    memory.scoped(trust="unverified").remember("Alice is Mallory.", about="person:Alice")
    memory.remember("Alice has a key.", about="person:Alice", key="alice.key")
    asked = Shortening()
    memory.pages.condense("person-alice", asked, dry_run=True)
    assert sorted(len(group) for group in asked.given) == [1, 1, 2]
    for group in asked.given:
        assert len({(one.trust, one.scope.user) for one in group}) == 1
        assert not any("Mallory" in one.text or one.key for one in group)


def test_facts_of_one_do_not_stand_for_anothers(memory: Memory) -> None:
    known(memory, "Alice sits in row 3.", "Alice sits in row 4.")
    memory.scoped(user="ann").remember("Alice sits in row 3.", about="person:Alice")
    done = memory.pages.condense("person-alice", Shortening("3"))
    assert "3" in done.dropped


@pytest.mark.parametrize(
    "wrong",
    [
        lambda ids: [Suggestion(intent="add", quotes=(), text="x")],
        lambda ids: [Suggestion(intent="update", quotes=(), target="nowhere", text="x")],
        lambda ids: [Suggestion(intent="delete", quotes=(), target=ids[0])] * 2,
        lambda ids: [Suggestion(intent="update", quotes=(), target=ids[0])],
        lambda ids: [Suggestion(intent="update", quotes=(), target=ids[0], text=" ")],
        lambda ids: ["delete everything"],
        lambda ids: [Suggestion(intent="delete", quotes=(), target=id) for id in ids],
    ],
)
def test_wrong_answers_are_rejected_whole(memory: Memory, wrong: object) -> None:
    records = known(memory, "Alice sits in row 3.", "Alice has a cat.")
    assert callable(wrong)
    answer = wrong([one.id for one in records])
    done = memory.pages.condense("person-alice", lambda episodes, given: answer)
    assert done.problem is not None
    assert memory.review.list() == []
    assert flagged(memory)


def test_random_pages_lose_nothing(memory: Memory) -> None:
    # S3-215
    chance = random.Random(5)
    for number in range(30):
        name = f"T{number}"
        texts = [
            f"{name} has {chance.randint(1, 9)} of kind {chance.choice('abc')}" for _ in range(20)
        ]
        for text in texts:
            key = chance.choice([None, None, None, f"k{chance.randint(0, 3)}"])
            memory.remember(text + chance.choice((".", "")), about=f"tool:{name}", key=key)
        words = set(
            memory.pages.read(f"tool-{name.lower()}").replace("~", " ").replace(".", " ").split()
        )
        done = memory.pages.condense(f"tool-{name.lower()}")
        text = memory.pages.read(f"tool-{name.lower()}").replace("~", " ").replace(".", " ")
        assert all(word in text for word in words if word.isdigit() and len(word) == 1)
        assert (done.dropped, done.problem) == ((), None)
        assert memory.pages.condense(f"tool-{name.lower()}").merged == ()  # done at once
