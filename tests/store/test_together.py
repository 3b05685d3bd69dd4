"""Threads that share an append: each hears its own outcome, whatever the others ask for."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Conflict, NotFound
from recollect.index.reads import Reads
from recollect.lifecycle.commands import Actor, Command
from recollect.memory.handle import acts
from recollect.memory.handle.handle import Handle
from recollect.store.files.space import FileSpace
from recollect.store.port import Outcome


@pytest.fixture
def space(tmp_path: Path) -> Iterator[FileSpace]:
    space = FileSpace(tmp_path / "workspace", "main", create=True)
    yield space
    space.close()


def together(space: FileSpace, calls: list[Callable[[], object]]) -> list[object]:
    """What each of these calls, written in one append, comes to: a value or an error."""
    found: list[object] = [None] * len(calls)

    def run(place: int) -> None:
        try:
            found[place] = calls[place]()
        except Exception as error:  # noqa: BLE001 - the error is what the test looks at
            found[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    group = space._files.group
    with group.turn:
        before = len(group._waiting)  # the last call stays until the next leader comes
        for number, thread in enumerate(threads, 1):
            thread.start()
            while len(group._waiting) < before + number and thread.is_alive():
                time.sleep(0.0005)
    for thread in threads:
        thread.join()
    return found


def test_an_answer_that_fails_does_not_affect_the_others(space: FileSpace) -> None:
    memory = Memory(Handle(space))
    one, two = memory.remember("one"), memory.remember("two")
    memory.graph.link(one.id, two.id, idempotency_key="tie")
    memory.graph.unlink(one.id, two.id)
    before = memory.events.position
    first, gone, last = together(
        space,
        [
            lambda: memory.remember("three").text,
            lambda: memory.graph.link(one.id, two.id, idempotency_key="tie"),
            lambda: memory.remember("four").text,
        ],
    )
    assert (first, last) == ("three", "four")
    assert isinstance(gone, NotFound)
    assert memory.events.position == before + 2


def test_a_refused_command_is_never_written(space: FileSpace) -> None:
    """The index fails after a refusal, and the second try comes to something else."""
    tries: list[str] = []

    memory = Memory(Handle(space))
    one, two = memory.remember("one").id, memory.remember("two").id

    def tagging(id: str) -> Command:
        return Command(id=id, actor=Actor(trust="person"), acts=(acts.tag(id, ("new",), ()),))

    def refused_at_first(reads: Reads, outcome: Outcome) -> str:
        tries.append("refused")
        if len(tries) == 1:
            raise Conflict("not now")
        return "written"

    def broken_at_first(reads: Reads, outcome: Outcome) -> str:
        tries.append("broken")
        if len(tries) == 2:
            raise sqlite3.OperationalError("the index does not read")
        return "written"

    found = together(
        space,
        [
            lambda: space.submit(tagging(one), refused_at_first),
            lambda: space.submit(tagging(two), broken_at_first),
        ],
    )
    assert tries == ["refused", "broken", "refused", "broken"]
    assert found == ["written", "written"]
    assert {record.tags for record in memory.list()} == {("new",)}
