"""Folding a whole ledger many events at a time: the same rows as one event after the other."""

from __future__ import annotations

import random
from contextlib import closing
from functools import partial

import pytest

from recollect import Memory
from recollect.index.fold import Clock, Fold
from recollect.index.rows import Row
from recollect.index.tables import Tables
from recollect.ledger.batches import batches
from recollect.ledger.codec import decode
from recollect.ledger.scan import Damage, scan
from recollect.memory.handle.handle import Handle
from recollect.model.events import GENESIS
from recollect.store import fold_ledger
from recollect.store.fold_ledger import fold_whole
from recollect.store.indexed.backend import MemorySpace
from recollect.store.sqlite import SqliteDb, memory_index
from tests.suites.histories import Clockwork, History

SEED = random.randrange(2**32)
WORDS = ("recallable", "rest")


def ledger(rng: random.Random, steps: int) -> bytes:
    """Everything that can happen to records: they are held, superseded, forgotten, erased."""
    seam = Clockwork(rng.getrandbits(32))
    with closing(MemorySpace("main", seam)) as space:
        History(Memory(Handle(space, seam)), seam, rng).play(steps)
        space.purge()
        return b"".join(space.pieces())


def rows_of(db: SqliteDb) -> dict[str, list[Row]]:
    """Every row of every table, and every word of full text."""
    connection = db._connection
    found: dict[str, list[Row]] = {}
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        if not table.startswith(WORDS):
            found[table] = sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)
    for shelf in WORDS:
        db.run(f"show_words_{shelf}")
        found[shelf] = list(db.stream(f"words_{shelf}", ()))
    return found


def one_by_one(data: bytes) -> dict[str, list[Row]]:
    with closing(memory_index("main")) as db:
        tables = Tables(db)
        fold = Fold(tables, Clock(GENESIS.at, 0))
        for append in scan([data]):
            fold.append([decode(line) for line in append.lines])
            tables.flush()
        return rows_of(db)


def at_once(data: bytes) -> dict[str, list[Row]]:
    with closing(memory_index("main")) as db:
        fold_whole(db, [data], None, 0)
        return rows_of(db)


@pytest.mark.parametrize("size", [2_000, 1 << 18])
def test_folding_many_events_at_once_gives_the_same_rows(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold_ledger, "batches", partial(batches, size=size))
    rng = random.Random(SEED)
    for number in range(6):
        data = ledger(rng, rng.choice((30, 120)))
        assert at_once(data) == one_by_one(data), (SEED, number)


def test_ids_that_share_a_bit_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits only say which ids are new for certain; here nearly none is."""
    monkeypatch.setattr("recollect.index.tables._USED_BYTES", 1)
    monkeypatch.setattr("recollect.index.tables._USED_MASK", 0)
    data = ledger(random.Random(SEED), 120)
    assert at_once(data) == one_by_one(data), SEED


def test_a_torn_tail_is_not_folded() -> None:
    data = ledger(random.Random(SEED), 10)
    with closing(memory_index("main")) as db, pytest.raises(Damage, match="unfinished"):
        fold_whole(db, [data[:-5]], None, 0)
