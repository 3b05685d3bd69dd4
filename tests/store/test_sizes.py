"""A small change of a long record makes the index a little larger, not by the record's length."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Memory
from recollect.index import tables
from recollect.store.indexed.backend import MemorySpace

pytestmark = pytest.mark.ci

TEXT_BYTES = 100_000
CHANGES = 40
ROOM_BYTES = 300_000  # for the rows of all these changes, and pages that are not full

Change = Callable[[Memory, str, int], object]
Size = Callable[[Memory], int]


def words(count_bytes: int, seed: int = 0) -> str:
    """A text that no engine can make shorter by much, of words that are not all different."""
    rng = random.Random(seed)
    known = [rng.randbytes(12).hex() for _ in range(50)]
    return " ".join(
        rng.choice(known) if at % 20 else rng.randbytes(1_200).hex()
        for at in range(count_bytes // 145)
    )


def tag(memory: Memory, id: str, number: int) -> None:
    memory.revise(id, tags=[f"t{number}"], untag=[f"t{number - 1}"])


def use(memory: Memory, id: str, number: int) -> None:
    memory.used(None, ids=[id])


def correct(memory: Memory, id: str, number: int) -> None:
    memory.revise(id, words(TEXT_BYTES, number + 1))


def grown(
    memory: Memory, size: Size, change: Change, text_bytes: int = TEXT_BYTES, times: int = CHANGES
) -> int:
    """By how many bytes an index grows when a long record is changed many times."""
    record = memory.remember(words(text_bytes))
    change(memory, record.id, 0)  # makes room for the first row of every table
    before = size(memory)
    for number in range(1, times + 1):
        change(memory, record.id, number)
    assert memory.get(record.id).seq > record.seq + times
    return size(memory) - before


def pages(memory: Memory) -> int:
    """What an index on SQLite takes, without the pages that are free."""
    space = memory._handle.space
    if isinstance(space, MemorySpace):
        assert space.index is not None
        return used_bytes(space.index.db._connection)
    index = Path(memory.status().where) / "index.db"
    with closing(sqlite3.connect(index)) as connection:
        return used_bytes(connection)


def used_bytes(connection: sqlite3.Connection) -> int:
    size, count, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "page_count", "freelist_count")
    )
    return int(size * (count - free))


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    return Memory.open(tmp_path if request.param == "files" else ":memory:")


@pytest.mark.parametrize("change", [tag, use])
def test_a_change_that_leaves_the_text_stores_no_copy_of_it(memory: Memory, change: Change) -> None:
    with memory:
        assert grown(memory, pages, change) < ROOM_BYTES


def test_two_hundred_tag_changes_of_a_long_record(memory: Memory) -> None:
    """They made the index 203 MB larger."""
    with memory:
        assert grown(memory, pages, tag, 1_000_000, 200) < 1_000_000


def test_control_new_texts_are_counted(memory: Memory) -> None:
    with memory:
        assert grown(memory, pages, correct) > CHANGES * TEXT_BYTES


def test_control_a_copy_for_each_version_is_counted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "stored_row", lambda row: row)
    with memory:
        assert grown(memory, pages, tag) > CHANGES * TEXT_BYTES
