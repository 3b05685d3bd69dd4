"""A read for another caller ends in time, also inside one statement; folding an index does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from recollect import Memory, Store
from recollect.errors import LimitExceeded
from recollect.store.deadline import within
from recollect.store.sqlite import SqliteDb, memory_index

COUNTING = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT max(i) FROM n"
)


@pytest.fixture
def entered(tmp_path: Path) -> Iterator[Memory]:
    with Store.open(tmp_path / "m", embedder="none") as store:
        store.space("main").remember("the gate opens at nine", id="gate")
        token = store.tokens.create("t", space="main", verbs=("read", "write"), trust="person")
        with store.entered(token.token) as found:
            yield found.space("main")


def test_a_read_that_is_late_is_refused_at_its_next_statement(entered: Memory) -> None:
    with within(-1.0), pytest.raises(LimitExceeded, match="too long"):
        entered.recall("gate")
    assert entered.recall("gate")


def test_control_a_read_in_time_is_answered(entered: Memory) -> None:
    with within(60.0):
        assert entered.recall("gate")


def test_a_write_is_not_ended(entered: Memory) -> None:
    with within(-1.0):
        assert entered.remember("it closes at ten").text == "it closes at ten"


def test_an_index_is_folded_to_its_end_before_the_read_is_refused(
    tmp_path: Path, entered: Memory
) -> None:
    entered.remember("it closes at ten")
    entered.close()
    (index,) = (tmp_path / "m").glob("index.db")
    index.unlink()
    with Store.open(tmp_path / "m", embedder="none") as store:
        token = store.tokens.create("u", space="main", verbs=("read",), trust="person")
        with store.entered(token.token) as found, within(-1.0), pytest.raises(LimitExceeded):
            found.space("main").list()
        assert index.exists()


def counted(db: SqliteDb, count: int) -> int:
    (found,) = db._connection.execute(COUNTING.format(count)).fetchone()
    return int(found)


def test_one_long_statement_is_stopped() -> None:
    db = memory_index("main")
    with pytest.raises(LimitExceeded), db.ending(monotonic() + 0.05):
        counted(db, 10**12)
    assert counted(db, 1_000_000) == 1_000_000  # the connection goes on, without a limit
    assert db.one("get_position") is not None


def test_a_limit_inside_another_ends_with_its_block() -> None:
    db = memory_index("main")
    with db.ending(monotonic() + 60):
        with db.ending(monotonic() - 1), suppress(LimitExceeded):
            db.one("get_position")
        assert db.one("get_position") is not None
    with pytest.raises(LimitExceeded), db.ending(monotonic() + 0.5):
        counted_after_another(db)


def counted_after_another(db: SqliteDb) -> None:
    """A long statement whose limit is that of the block outside."""
    with db.ending(monotonic() + 60):
        db.one("get_position")
    counted(db, 10**12)
