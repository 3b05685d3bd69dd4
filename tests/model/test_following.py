"""Events that are followed: each once, one by one or look by look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Memory
from recollect.model.feed import Following
from recollect.model.values import Change


def changes() -> list[Change]:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("One.")
        memory.remember("Two.")
        return memory.events.list()


def looks(found: list[Change]) -> Iterator[list[Change]]:
    yield found[:2]
    yield []
    yield found[2:]


def never() -> None:
    """Nothing waits here."""


def test_each_event_is_given_once() -> None:
    found = changes()
    assert list(Following(looks(found), never)) == found
    by_look = Following(looks(found), never)
    assert [by_look.look() for _ in range(4)] == [found[:2], [], found[2:], None]


def test_closing_ends_what_waits() -> None:
    ended: list[bool] = []
    following = Following(looks(changes()), lambda: ended.append(True))
    assert not following.is_closed
    following.close()
    assert (following.is_closed, ended) == (True, [True])


def test_what_is_left_of_a_look_is_the_next_one() -> None:
    found = changes()
    following = Following(looks(found), never)
    assert next(following) == found[0]
    assert following.look() == [found[1]]
    assert next(following) == found[2]
    with pytest.raises(StopIteration):
        next(following)
