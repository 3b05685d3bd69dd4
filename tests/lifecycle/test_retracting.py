"""Retractions after histories that are rare: each equals the masked fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from recollect import Memory
from recollect.errors import Forbidden
from recollect.index.fold import versions
from recollect.index.rows import VersionRow
from recollect.lifecycle.commands import Actor, Archive, Command
from recollect.lifecycle.ledger_merge import Take
from recollect.memory.handle.handle import Handle
from recollect.model import events as e
from recollect.store.indexed.backend import MemorySpace
from tests.suites.masked import differences, events_of

Story = Callable[[Memory], str]  # returns what is retracted


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    space = MemorySpace("main")
    yield space
    space.close()


def heard(memory: Memory, text: str = "the bot said so") -> str:
    return memory.observe(text, role="assistant")[0].id


def approve(memory: Memory, id: str) -> None:
    memory.review.approve(id, memory.review.show(id).digest)


def revised(memory: Memory, id: str) -> str:
    """The source of a correction."""
    source = heard(memory)
    memory.revise(id, "something else", evidence=[source])
    return source


def archived(memory: Memory) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    memory.events.submit(Archive(id=mine.id, why="decayed"))
    return source


def archived_with_other_words(memory: Memory) -> str:
    """It was let in with words that go. Without them it waits, and what waits does not fade."""
    source = approved_since(memory)
    claim = next(row for row in memory.list() if row.text == "something else")
    memory.events.submit(Archive(id=claim.id, why="decayed"))
    return source


def let_in_with_other_words(memory: Memory) -> str:
    """What waited was forgotten, given other words in another ledger, brought back and let in."""
    claim = memory.scoped(trust="unverified").remember("one")
    memory.forget(claim.id)
    source = heard(memory)
    other = e.RecordRevised(id=claim.id, text="two", trust="unverified", evidence=(source,))
    merged(memory, other)
    memory.undo(claim.id)
    approve(memory, claim.id)
    return source


def brought_back(memory: Memory) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    memory.forget(mine.id, sources="keep")
    memory.undo(mine.id)
    memory.forget(mine.id)
    return source


def held_and_forgotten(memory: Memory) -> str:
    claim = memory.scoped(trust="unverified").remember("one")
    source = revised(memory, claim.id)
    memory.forget(claim.id)
    memory.undo(claim.id)
    return source


def reviewed_before(memory: Memory) -> str:
    claim = memory.scoped(trust="unverified").remember("one")
    approve(memory, claim.id)
    return revised(memory, claim.id)


def rejected_before(memory: Memory) -> str:
    web = memory.scoped(trust="unverified")
    claim, source = web.remember("one", key="k"), heard(memory)
    memory.review.reject(claim.id, memory.review.show(claim.id).digest, "no")
    memory.remember("two", key="k", evidence=[source])
    return source


def vouched_before(memory: Memory) -> str:
    claim = memory.scoped(trust="agent").remember("one")
    approve(memory, claim.id)
    return revised(memory, claim.id)


def approved_since(memory: Memory) -> str:
    memory.remember("mine", key="k")
    agent = memory.scoped(trust="agent")
    claim = agent.remember("another", key="k")
    assert claim.status == "waiting"
    source = revised(memory, claim.id)
    approve(memory, claim.id)
    return source


def approved_and_taken_back(memory: Memory) -> str:
    source = approved_since(memory)
    memory.undo()
    return source


def rejected_since(memory: Memory) -> str:
    claim = memory.scoped(trust="unverified").remember("one")
    source = revised(memory, claim.id)
    memory.review.reject(claim.id, memory.review.show(claim.id).digest, "no")
    return source


def fallen_and_let_in_again(memory: Memory) -> str:
    """It was active at its cut, was held after it, and let in again."""
    web = memory.scoped(trust="unverified")
    base, mine = memory.remember("base"), memory.remember("one", key="k")
    source = heard(memory)
    memory.revise(mine.id, "something else", evidence=[source, base.id])
    memory.graph.link(base.id, web.remember("a rumour").id, "derived_from")
    assert memory.history(mine.id)[-1].record.status == "waiting"
    memory.remember("two", key="k")
    approve(memory, mine.id)
    return source


def evidence_that_fell(memory: Memory) -> str:
    """What it rested on before was lowered while it said something else."""
    (said,) = memory.observe("I say so")
    base = memory.remember("base")
    first = memory.remember("one", evidence=[base.id, "elsewhere"])
    second = memory.remember("two", evidence=[base.id, first.id])
    memory.remember("on both", evidence=[first.id, second.id])
    for record in (first, second):
        memory.revise(record.id, f"{record.text}, corrected", evidence=[said.id])
    lower_base(memory)
    return said.id


def evidence_that_is_held(memory: Memory) -> str:
    (said,) = memory.observe("I say so")
    (other,) = memory.observe("And so")
    base = memory.remember("base")
    first = memory.remember("one", key="k", evidence=[base.id, other.id])
    memory.remember("on it", evidence=[first.id])
    memory.revise(first.id, "one, corrected", evidence=[said.id])
    memory.graph.link(base.id, memory.scoped(trust="unverified").remember("bad").id, "derived_from")
    return said.id


def begun(memory: Memory) -> tuple[str, str]:
    """Something that a person said, and a record that rests on a base."""
    (said,) = memory.observe("I say so")
    base = memory.remember("base", id="base")
    return said.id, memory.remember("one", evidence=[base.id]).id


def corrected(memory: Memory, said: str, *ids: str) -> str:
    """These are corrected by what was said, and the base is lowered while they say that."""
    for id in ids:
        memory.revise(id, f"{id}, corrected", evidence=[said])
    lower_base(memory)
    return said


def lower_base(memory: Memory) -> None:
    """It turns out that the base was derived from what an agent says."""
    base = next(row for row in memory.list() if row.text == "base")
    memory.graph.link(base.id, memory.scoped(trust="agent").remember("hearsay").id, "derived_from")


def a_way_through_words_that_go(memory: Memory) -> str:
    """The claim comes back held. What rests on "mine" does not rest on the claim any more."""
    (page,) = memory.scoped(trust="unverified").observe("a page", role="tool")
    root, mine = memory.remember("root"), memory.remember("mine")
    memory.remember("on mine", evidence=[mine.id])
    claim = memory.remember("claim", evidence=[page.id])
    approve(memory, claim.id)
    memory.revise(claim.id, "claim, corrected", evidence=[root.id])
    memory.revise(mine.id, "mine, corrected", evidence=[claim.id])
    return root.id


def a_way_through_what_stays(memory: Memory) -> str:
    """Both come back, and the second rests on the first through a record that says the same."""
    said, first = begun(memory)
    between = memory.remember("between", evidence=[first])
    second = memory.remember("two", evidence=[between.id])
    return corrected(memory, said, first, second.id)


def a_link_between_two(memory: Memory) -> str:
    """Both come back, and the second is linked to the first."""
    said, first = begun(memory)
    second = memory.remember("two")
    memory.graph.link(second.id, first, "derived_from")
    memory.graph.link(second.id, first, "relates_to")
    return corrected(memory, said, first, second.id)


def a_link_that_was_reviewed(memory: Memory) -> str:
    """A person let the second in after it was linked to the first, so it does not fall."""
    said, first = begun(memory)
    second = memory.scoped(trust="agent").remember("two")
    memory.graph.link(second.id, first, "derived_from")
    approve(memory, second.id)
    return corrected(memory, said, first, second.id)


def a_review_of_other_words(memory: Memory) -> str:
    """A person let the second in, but not what it says when it comes back."""
    said, first = begun(memory)
    memory.remember("mine", key="k")
    second = memory.scoped(trust="agent").remember("two", key="k")
    memory.graph.link(second.id, first, "derived_from")
    rumour = memory.scoped(trust="unverified").remember("a rumour")
    memory.revise(first, "one, corrected", evidence=[said])
    memory.revise(second.id, "two, corrected", evidence=[said])
    approve(memory, second.id)
    memory.graph.link("base", rumour.id, "derived_from")
    return said


def revised_before(memory: Memory) -> str:
    mine = memory.remember("one")
    memory.revise(mine.id, "one, in other words")
    return revised(memory, mine.id)


def revised_twice(memory: Memory) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    memory.revise(mine.id, "a third", evidence=[source])
    memory.revise(mine.id, "a fourth", evidence=[heard(memory), source])
    return source


def corrected_since(memory: Memory) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    memory.revise(mine.id, "my own words")
    return source


def a_link_before_the_cut(memory: Memory) -> str:
    mine, other = memory.remember("one"), memory.remember("on one")
    memory.graph.link(other.id, mine.id, "derived_from")
    return revised(memory, mine.id)


def a_ring(memory: Memory) -> str:
    ring = [memory.remember(f"belief {n}") for n in range(4)]
    for n, record in enumerate(ring):
        memory.graph.link(record.id, ring[n - 1].id, "derived_from")
    return ring[2].id


def links_that_do_not_count(memory: Memory) -> str:
    root = memory.remember("root")
    agent = memory.scoped(trust="agent")
    held = memory.scoped(trust="unverified").remember("rumour")
    agent.graph.link(memory.remember("mine").id, held.id, "derived_from")
    memory.graph.link(memory.remember("near").id, root.id, "relates_to")
    memory.graph.link(root.id, memory.remember("below").id, "derived_from")
    memory.remember("root", evidence=[root.id])
    memory.scoped(user="ann").remember("Ann's", evidence=[root.id])
    return root.id


def a_twin_without_a_key(memory: Memory) -> str:
    memory.remember("The port is 5432")
    source = heard(memory)
    memory.remember("The port is 5432", key="port", evidence=[source])
    return source


def superseded_and_forgotten(memory: Memory) -> str:
    old, source = memory.remember("one", key="k"), heard(memory)
    memory.remember("two", key="k", evidence=[source])
    memory.forget(old.id)
    return source


def forgotten_and_undone(memory: Memory) -> str:
    """The undo says that it was superseded by what is retracted."""
    old, source = memory.remember("one", key="k"), heard(memory)
    memory.remember("two", key="k", evidence=[source])
    memory.forget(old.id)
    memory.undo()
    return source


def forgotten_and_undone_under_a_key(memory: Memory) -> str:
    old, source = memory.remember("one", key="k"), heard(memory)
    memory.remember("two", key="k", evidence=[source])
    memory.remember("three", key="k")
    memory.forget(old.id)
    memory.undo()
    return source


def lowered_forgotten_and_undone(memory: Memory) -> str:
    """What is back is held, so it takes no key."""
    old, source = memory.remember("one", key="k"), heard(memory)
    memory.remember("two", key="k", evidence=[source])
    rumour = memory.scoped(trust="unverified").remember("a rumour")
    memory.graph.link(old.id, rumour.id, "derived_from")
    memory.remember("three", key="k")
    memory.forget(old.id)
    memory.undo()
    return source


def a_key_that_was_free(memory: Memory) -> str:
    memory.remember("one", key="k")
    source = heard(memory)
    two = memory.remember("two", key="k", evidence=[source])
    memory.forget(two.id)
    memory.remember("three", key="k")
    return source


def merged(memory: Memory, *bodies: e.AnyBody) -> None:
    """These events come from another ledger of the same person."""
    take = Take(id="merge", bodies=bodies, fork=0, is_mine=True)
    command = Command(id="merge", actor=Actor(trust="person"), acts=(take,))
    memory._handle.space.submit(command, lambda reads, outcome: None)


def settle(memory: Memory, id: str, state: e.RecordState, trust: e.Trust = "person") -> None:
    """A person chooses between what two ledgers made of a record."""
    body = e.RecordReviewed(id=id, trust=trust, digest="", verdict="settled", state=state)
    merged(memory, body)


def state(text: str, status: e.Status = "active", **more: Any) -> e.RecordState:
    return e.RecordState(text=text, kind="fact", confidence=0.7, status=status, **more)


def settled_before(memory: Memory) -> str:
    """What was chosen before the cut is what it says again."""
    mine = memory.remember("one")
    settle(memory, mine.id, state("theirs"))
    return revised(memory, mine.id)


def settled_as_forgotten_before(memory: Memory) -> str:
    """It was brought back since."""
    mine = memory.remember("one")
    settle(memory, mine.id, state("theirs", "forgotten"))
    memory.undo(mine.id)
    return revised(memory, mine.id)


def settled_with_the_source(memory: Memory) -> str:
    """What was chosen rests on what is retracted."""
    mine, source = memory.remember("one"), heard(memory)
    settle(memory, mine.id, state("theirs", evidence=(source,)))
    return source


def settled_as_superseded(memory: Memory) -> str:
    """What took its place, as was chosen, goes."""
    mine, source = memory.remember("one"), heard(memory)
    other = memory.remember("two", evidence=[source])
    chosen = state("theirs", "archived", reason="superseded", superseded_by=other.id)
    settle(memory, mine.id, chosen)
    return source


def settled_since(memory: Memory, status: e.Status, **more: Any) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    settle(memory, mine.id, state("something else", status, evidence=(source,), **more))
    return source


def settled_as_it_is(memory: Memory) -> str:
    return settled_since(memory, "active")


def settled_as_forgotten(memory: Memory) -> str:
    return settled_since(memory, "forgotten")


def settled_as_faded(memory: Memory) -> str:
    return settled_since(memory, "archived", reason="decayed")


def settled_as_replaced(memory: Memory) -> str:
    by = memory.remember("two").id
    return settled_since(memory, "archived", reason="superseded", superseded_by=by)


def settled_as_replaced_by_what_goes(memory: Memory) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    by = memory.remember("two", evidence=[source]).id
    chosen = state("something else", "archived", reason="superseded", superseded_by=by)
    settle(memory, mine.id, chosen)
    return source


def settled_as_living(memory: Memory) -> str:
    """It was forgotten here, and the person chose that it holds."""
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    memory.forget(mine.id)
    settle(memory, mine.id, state("something else", evidence=(source,)))
    return source


STORIES: list[Story] = [
    archived,
    archived_with_other_words,
    let_in_with_other_words,
    brought_back,
    held_and_forgotten,
    reviewed_before,
    rejected_before,
    vouched_before,
    approved_since,
    approved_and_taken_back,
    rejected_since,
    fallen_and_let_in_again,
    evidence_that_fell,
    evidence_that_is_held,
    revised_before,
    revised_twice,
    corrected_since,
    a_link_before_the_cut,
    a_ring,
    links_that_do_not_count,
    a_twin_without_a_key,
    a_key_that_was_free,
    superseded_and_forgotten,
    forgotten_and_undone,
    forgotten_and_undone_under_a_key,
    lowered_forgotten_and_undone,
    a_way_through_words_that_go,
    a_way_through_what_stays,
    a_link_between_two,
    a_link_that_was_reviewed,
    a_review_of_other_words,
    settled_before,
    settled_as_forgotten_before,
    settled_with_the_source,
    settled_as_superseded,
    settled_as_it_is,
    settled_as_forgotten,
    settled_as_faded,
    settled_as_replaced,
    settled_as_replaced_by_what_goes,
    settled_as_living,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_retraction_equals_the_masked_fold(space: MemorySpace, story: Story) -> None:
    memory = Memory(Handle(space))
    root = story(memory)
    before = events_of(space.pieces())
    shown = memory.forget(root, derived=True, dry_run=True)
    done = memory.forget(root, derived=True)
    assert (shown.taken, shown.back) == (done.taken, done.back)
    with space.reading() as reads:
        wrong, _ = differences(before, root, reads)
    assert wrong == []
    assert done.seq
    assert memory.forget(root, derived=True).seq == 0


Beliefs = dict[str, tuple[str, str]]


@pytest.mark.parametrize(
    ("story", "beliefs"),
    [
        (
            a_way_through_words_that_go,
            {
                "mine": ("active", "person"),
                "on mine": ("active", "person"),
                "claim": ("waiting", "unverified"),
            },
        ),
        (
            a_way_through_what_stays,
            {
                "base": ("active", "agent"),
                "one": ("active", "agent"),
                "between": ("active", "agent"),
                "two": ("active", "agent"),
            },
        ),
        (
            a_link_between_two,
            {
                "base": ("active", "agent"),
                "one": ("active", "agent"),
                "two": ("active", "agent"),
            },
        ),
        (
            a_link_that_was_reviewed,
            {
                "base": ("active", "agent"),
                "one": ("active", "agent"),
                "two": ("active", "person"),
            },
        ),
    ],
    ids=lambda story: getattr(story, "__name__", ""),
)
def test_what_falls_is_what_rests_on_it_afterwards(
    space: MemorySpace, story: Story, beliefs: Beliefs
) -> None:
    memory = Memory(Handle(space))
    memory.forget(story(memory), derived=True)
    listed = [each for each in memory.list(include=["waiting"]) if each.text != "hearsay"]
    assert {each.text: (each.status, each.trust) for each in listed} == beliefs


@pytest.mark.parametrize(
    ("story", "holder"),
    [(forgotten_and_undone, "one"), (forgotten_and_undone_under_a_key, "three")],
)
def test_a_key_has_one_holder_after_a_forgetting_that_was_undone(
    space: MemorySpace, story: Story, holder: str
) -> None:
    memory = Memory(Handle(space))
    memory.forget(story(memory), derived=True)
    assert [record.text for record in memory.list()] == [holder]


def test_nothing_is_retracted_if_something_would_fall_that_the_actor_may_not_lower(
    space: MemorySpace,
) -> None:
    memory = Memory(Handle(space))
    ann = memory.scoped(user="ann")
    said, first = begun(ann)
    ours = memory.remember("on one", evidence=[first])
    corrected(ann, said, first)
    with pytest.raises(Forbidden, match="something of another user is derived from"):
        ann.forget(said, derived=True)
    assert memory.get(first).text == f"{first}, corrected"
    assert memory.forget(said, derived=True).back == (ours.id, first)
    assert memory.get(ours.id).trust == "agent"


def test_what_was_chosen_between_two_ledgers_is_what_a_record_says_again(
    space: MemorySpace,
) -> None:
    memory = Memory(Handle(space))
    memory.forget(settled_before(memory), derived=True)
    assert [record.text for record in memory.list()] == ["theirs"]


def test_what_was_chosen_to_be_forgotten_stays_forgotten(space: MemorySpace) -> None:
    memory = Memory(Handle(space))
    memory.forget(settled_as_forgotten(memory), derived=True)
    assert memory.list() == []


def test_what_waits_without_the_words_that_were_let_in_does_not_come_back_active(
    space: MemorySpace,
) -> None:
    memory = Memory(Handle(space))
    memory.forget(let_in_with_other_words(memory), derived=True)
    (claim,) = memory.list(include=["waiting"])
    assert (claim.text, claim.status) == ("one", "waiting")


def always_archived(row: VersionRow, why: e.Archival) -> VersionRow:
    """An archiving that has effect on everything."""
    return row._replace(status="archived", reason=why)


@pytest.mark.parametrize(
    ("story", "name", "instead"),
    [
        (archived_with_other_words, "archived", always_archived),
        (settled_before, "verdict_of", lambda row: "approved"),
        (settled_as_forgotten, "verdict_of", lambda row: "approved"),
    ],
)
def test_control_rules_that_differ_from_the_folds_are_caught(
    space: MemorySpace,
    monkeypatch: pytest.MonkeyPatch,
    story: Story,
    name: str,
    instead: object,
) -> None:
    memory = Memory(Handle(space))
    root, before = story(memory), events_of(space.pieces())
    with monkeypatch.context() as patch:
        patch.setattr(versions, name, instead)
        memory.forget(root, derived=True)
    with space.reading() as reads:
        wrong, _ = differences(before, root, reads)
    assert wrong
