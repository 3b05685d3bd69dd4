"""On a server too a small change of a long record leaves its text where it is."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from recollect.index import tables
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.build import INDEX_TABLES
from tests.store.test_sizes import (
    CHANGES,
    ROOM_BYTES,
    TEXT_BYTES,
    Change,
    Size,
    correct,
    grown,
    tag,
    use,
)


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    backend = PostgresBackend(database)
    yield Memory(Handle(backend.space("main", create=True)))
    backend.close()


@pytest.fixture
def size(database: str) -> Size:
    """What the tables of the index take, with what the server keeps beside them.

    Without the postings: tags are searched, so a change of tags writes those of the record again,
    and the server reuses their room only after a vacuum.
    """

    def measure(memory: Memory) -> int:
        total = "SELECT pg_total_relation_size(%s::regclass)"
        with psycopg.connect(database, autocommit=True) as owner:
            rows = [
                owner.execute(total, (f"recollect.{name}",))
                for name in INDEX_TABLES
                if name != "postings"
            ]
            return sum(size for row in rows for (size,) in row)

    return measure


@pytest.mark.parametrize("change", [tag, use])
def test_a_change_that_leaves_the_text_stores_no_copy_of_it(
    memory: Memory, size: Size, change: Change
) -> None:
    assert grown(memory, size, change) < ROOM_BYTES


def test_two_hundred_tag_changes_of_a_long_record(memory: Memory, size: Size) -> None:
    assert grown(memory, size, tag, 1_000_000, 200) < 1_000_000


def test_control_new_texts_are_counted(memory: Memory, size: Size) -> None:
    assert grown(memory, size, correct) > CHANGES * TEXT_BYTES / 2  # it packs hexadecimal signs


def test_control_a_copy_for_each_version_is_counted(
    memory: Memory, size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "stored_row", lambda row: row)
    assert grown(memory, size, tag) > CHANGES * TEXT_BYTES / 2
