"""A ledger that was changed from outside is noticed by the next open or write, and walked once."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import IntegrityError
from recollect.store.files import index


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    with Memory.open(folder) as memory:
        for i in range(6):
            memory.remember(f"The gate code of house {i} is 4711.", id=f"m{i}")
    return folder


def edit(path: Path) -> None:
    """One character of an early event, as an editor would leave it."""
    path.write_bytes(path.read_bytes().replace(b"house 1 is 4711", b"house 1 is 9911"))


def test_an_edited_ledger_stops_the_next_write(folder: Path) -> None:
    with Memory.open(folder) as memory:
        memory.remember("opened")
        edit(folder / "events.wal")
        assert memory.get("m1").id == "m1"  # reads come from the index and do not look
        with pytest.raises(IntegrityError, match="event 3"):
            memory.remember("over a changed ledger")


def test_an_edited_ledger_stops_the_next_open(folder: Path) -> None:
    edit(folder / "events.wal")
    with Memory.open(folder) as memory, pytest.raises(IntegrityError, match="event 3"):
        memory.list()


def test_an_edited_segment_stops_the_next_open(folder: Path) -> None:
    with Memory.open(folder) as memory:
        memory.admin.seal()
        memory.remember("after the seal")
    (segment,) = (folder / "sealed").glob("*.wal")
    edit(segment)
    with Memory.open(folder) as memory, pytest.raises(IntegrityError, match="event 3"):
        memory.remember("over a changed segment")


def test_the_control_without_a_stamp_a_change_is_not_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "look_at_changes", lambda db, active, seen, **_: None)
    edit(folder / "events.wal")
    with Memory.open(folder) as memory:
        memory.remember("over a changed ledger")
        assert not memory.admin.verify().ok


def test_everyday_use_walks_nothing(folder: Path, walks: list[int]) -> None:
    with Memory.open(folder) as one, Memory.open(folder) as two:
        for i in range(3):  # two handles, as two processes would
            one.remember(f"one {i}")
            two.remember(f"two {i}")
        one.admin.seal()
        two.remember("after a seal")
        one.erase("m2")
        two.remember("after an erasure")
        one.admin.rebuild()
        two.remember("after a rebuild")
    with Memory.open(folder) as memory:
        memory.remember("opened again")
        assert walks == []
        backup = memory.admin.backup().path
        walks.clear()
    with Store.restore_backup(backup, folder.with_name("restored")) as restored:
        restored.remember("restored")
        assert walks == []


def test_a_copy_is_walked_once(folder: Path, walks: list[int]) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy, copy_function=shutil.copy)  # without the times of change
    for _ in range(3):
        with Memory.open(copy) as memory:
            memory.list()
            memory.remember("in the copy")
    assert len(walks) == 1


def test_a_touched_ledger_is_walked_once_also_by_who_only_reads(
    folder: Path, walks: list[int]
) -> None:
    os.utime(folder / "events.wal")
    for _ in range(3):
        with Memory.open(folder) as memory:
            assert len(memory.list()) == 6
    assert len(walks) == 1


def test_an_index_that_lagged_is_caught_up_with(folder: Path, walks: list[int]) -> None:
    """As after a crash between the ledger's fsync and the index's commit."""
    before = (folder / "index.db").read_bytes()
    with Memory.open(folder) as memory:
        memory.remember("acknowledged", id="late")
    (folder / "index.db").write_bytes(before)
    for _ in range(2):
        with Memory.open(folder) as memory:
            assert memory.get("late").id == "late"
            memory.remember("and on")
    assert len(walks) == 1


def test_an_index_without_a_stamp_gets_one(folder: Path, walks: list[int]) -> None:
    with sqlite3.connect(folder / "index.db") as db:
        db.execute("UPDATE position SET active = '', sealed = ''")
    db.close()
    (folder / "ledger.lock").write_bytes(b"")  # where a process notes the stamp while rows wait
    for _ in range(2):
        with Memory.open(folder) as memory:
            memory.remember("and on")
    assert len(walks) == 1
