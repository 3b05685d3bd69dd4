"""Retractions after histories that are rare: each equals the masked fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recollect import Memory
from recollect.lifecycle.commands import Archive
from recollect.memory.handle import Handle
from recollect.store.volatile.space import MemorySpace
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
    memory.submit(Archive(id=mine.id, why="decayed"))
    return source


def brought_back(memory: Memory) -> str:
    mine = memory.remember("one")
    source = revised(memory, mine.id)
    memory.forget(mine.id, sources="keep")
    memory.restore(mine.id)
    memory.forget(mine.id)
    return source


def held_and_forgotten(memory: Memory) -> str:
    claim = memory.scoped(origin="unverified").remember("one")
    source = revised(memory, claim.id)
    memory.forget(claim.id)
    memory.restore(claim.id)
    return source


def reviewed_before(memory: Memory) -> str:
    claim = memory.scoped(origin="unverified").remember("one")
    approve(memory, claim.id)
    return revised(memory, claim.id)


def rejected_before(memory: Memory) -> str:
    web = memory.scoped(origin="unverified")
    claim, source = web.remember("one", key="k"), heard(memory)
    memory.review.reject(claim.id, memory.review.show(claim.id).digest, "no")
    memory.remember("two", key="k", evidence=[source])
    return source


def vouched_before(memory: Memory) -> str:
    claim = memory.scoped(origin="agent").remember("one")
    approve(memory, claim.id)
    return revised(memory, claim.id)


def approved_since(memory: Memory) -> str:
    memory.remember("mine", key="k")
    agent = memory.scoped(origin="agent")
    claim = agent.remember("another", key="k")
    assert claim.status == "held"
    source = revised(memory, claim.id)
    approve(memory, claim.id)
    return source


def approved_and_taken_back(memory: Memory) -> str:
    source = approved_since(memory)
    memory.undo()
    return source


def rejected_since(memory: Memory) -> str:
    claim = memory.scoped(origin="unverified").remember("one")
    source = revised(memory, claim.id)
    memory.review.reject(claim.id, memory.review.show(claim.id).digest, "no")
    return source


def fallen_and_let_in_again(memory: Memory) -> str:
    """It was active at its cut, was held after it, and let in again."""
    web = memory.scoped(origin="unverified")
    base, mine = memory.remember("base"), memory.remember("one", key="k")
    source = heard(memory)
    memory.revise(mine.id, "something else", evidence=[source, base.id])
    memory.link(base.id, web.remember("a rumour").id, "derived_from")
    assert memory.history(mine.id)[-1].record.status == "held"
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
    memory.remember("base", evidence=[heard(memory)])
    return said.id


def evidence_that_is_held(memory: Memory) -> str:
    (said,) = memory.observe("I say so")
    (other,) = memory.observe("And so")
    base = memory.remember("base")
    first = memory.remember("one", key="k", evidence=[base.id, other.id])
    memory.remember("on it", evidence=[first.id])
    memory.revise(first.id, "one, corrected", evidence=[said.id])
    memory.link(base.id, memory.scoped(origin="unverified").remember("bad").id, "derived_from")
    return said.id


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
    memory.link(other.id, mine.id, "derived_from")
    return revised(memory, mine.id)


def a_ring(memory: Memory) -> str:
    ring = [memory.remember(f"belief {n}") for n in range(4)]
    for n, record in enumerate(ring):
        memory.link(record.id, ring[n - 1].id, "derived_from")
    return ring[2].id


def links_that_do_not_count(memory: Memory) -> str:
    root = memory.remember("root")
    agent = memory.scoped(origin="agent")
    held = memory.scoped(origin="unverified").remember("rumour")
    agent.link(memory.remember("mine").id, held.id, "derived_from")
    memory.link(memory.remember("near").id, root.id, "relates_to")
    memory.link(root.id, memory.remember("below").id, "derived_from")
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


def a_key_that_was_free(memory: Memory) -> str:
    memory.remember("one", key="k")
    source = heard(memory)
    two = memory.remember("two", key="k", evidence=[source])
    memory.forget(two.id)
    memory.remember("three", key="k")
    return source


STORIES: list[Story] = [
    archived,
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
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_retraction_equals_the_masked_fold(space: MemorySpace, story: Story) -> None:
    memory = Memory(Handle(space))
    root = story(memory)
    before = events_of(space.pieces())
    done = memory.retract(root)
    with space.reading() as reads:
        wrong, _ = differences(before, root, reads)
    assert wrong == []
    assert done.seq
    assert memory.retract(root).seq == 0
