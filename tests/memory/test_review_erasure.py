"""Erasing takes along every byte that proposals and reviews say about what is erased."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory, Quote

WORD = "zanzibar"
Story = Callable[[Memory], list[str]]


def rejected(memory: Memory) -> list[str]:
    """A change that was proposed and rejected."""
    mine = memory.remember("Tea is at four.")
    agent = memory.scoped(trust="agent")
    agent.revise(mine.id, f"Tea is in {WORD}.", reason=f"{WORD} it is", data={"where": WORD})
    (waits,) = memory.review.list()
    memory.review.reject(waits.id, waits.digest, f"no {WORD}")
    return [mine.id]


def approved(memory: Memory) -> list[str]:
    """An addition that was approved, and its record."""
    made = memory.scoped(trust="agent").review.propose(f"They met in {WORD}.", key=WORD)
    done = memory.review.approve(made.id, made.digest, reason=f"yes, {WORD}")
    assert done.record is not None
    return [done.record]


def quoted(memory: Memory) -> list[str]:
    """An episode that proposals quote and name."""
    (said,) = memory.observe(f"I went to {WORD} in May.")
    agent = memory.scoped(trust="agent")
    agent.review.propose(f"Was in {WORD}.", evidence=[Quote(said.id, f"to {WORD}")])
    agent.review.propose(f"Likes {WORD}.", evidence=[said.id])
    return [said.id]


def held(memory: Memory) -> list[str]:
    """A held record that was rejected with a reason."""
    record = memory.scoped(trust="unverified").remember(f"Pay in {WORD}.")
    (waits,) = memory.review.list()
    memory.review.reject(waits.id, waits.digest, f"never {WORD}")
    return [record.id]


STORIES: list[Story] = [rejected, approved, quoted, held]


def places_of(folder: Path, word: str) -> list[str]:
    """The files that hold a word."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if word.encode() in path.read_bytes()]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_no_byte_of_it_is_left(tmp_path: Path, story: Story) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        ids = story(memory)
        memory.admin.digest()
        assert places_of(tmp_path, WORD)  # the control: it was there
        for id in ids:
            memory.erase(id)
        assert memory.review.list() == []
        live = memory.admin.digest()
        memory.admin.rebuild()
        assert memory.admin.digest() == live
        assert memory.admin.verify(deep=True).status == "self-consistent"
    assert places_of(tmp_path, WORD) == []
