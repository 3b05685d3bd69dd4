"""The files engine where things go wrong: torn tails, full disks, lost and foreign files."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory, Store
from recollect.errors import (
    ConfigError,
    Conflict,
    IntegrityError,
    InvalidInput,
    NotFound,
    Unavailable,
    Unsupported,
)
from recollect.ledger.scan import scan
from recollect.ledger.verify import verify
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.disk.layout import folder_name
from recollect.store.files.backend import FileBackend
from recollect.store.files.build import known_head
from recollect.store.files.copies import copies
from recollect.store.files.ledger.active import ActiveFile
from recollect.store.files.space import FileSpace
from recollect.store.seam import Seam
from recollect.testing.rebuilding import rebuilt_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder) as memory:
        memory.remember("one", id="a")
        memory.remember("two", id="b")
        yield memory


def texts(folder: Path) -> set[str]:
    with Memory.open(folder) as memory:
        assert memory.admin.verify().ok
        digest = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == digest
        return {record.text for record in memory.list()}


def levels(folder: Path) -> dict[str, str]:
    with Memory.open(folder) as memory:
        return {finding.what: finding.level for finding in memory.admin.doctor()}


# Torn tails.


@pytest.mark.parametrize("tail", [b"{", b'{"v":1,"seq":4', b"\0" * 700, b"junk\nmore\n"])
def test_a_torn_tail_then_a_write(memory: Memory, folder: Path, tail: bytes) -> None:
    memory.close()
    with open(folder / "events.wal", "ab") as file:
        file.write(tail)
    found = levels(folder)
    assert (found["ledger"], found["index"]) == ("note", "ok")  # the tail is no damage
    with Memory.open(folder) as again:
        again.remember("three", id="c")
        assert again.admin.verify().events == 5  # genesis, a, b, the note on the cut, c
    (torn,) = folder.glob("*.torn")
    assert torn.read_bytes() == tail
    assert texts(folder) == {"one", "two", "three"}
    assert levels(folder)["torn copies"] == "note"


def test_a_ledger_whose_first_append_was_torn_still_begins_with_its_name(folder: Path) -> None:
    folder.mkdir()
    (folder / "events.wal").write_bytes(b"\0" * 300)
    assert texts(folder) == set()
    kinds = [
        line.kind
        for append in scan([(folder / "events.wal").read_bytes()])
        for line in append.lines
    ]
    assert kinds == ["space.opened", "ledger.tail_cut"]


def test_a_torn_tail_of_a_known_handle_is_cut_too(memory: Memory, folder: Path) -> None:
    with open(folder / "events.wal", "ab") as file:
        file.write(b'{"v":1,')
    memory.remember("three", id="c")
    assert texts(folder) == {"one", "two", "three"}


def test_a_whole_append_that_was_not_folded_is_kept(memory: Memory, folder: Path) -> None:
    """A writer was stopped after its fsync: the event is there, the index behind."""
    memory.close()
    ledger = (folder / "events.wal").read_bytes()
    appends = list(scan([ledger]))
    os.truncate(folder / "events.wal", appends[1].end)
    (folder / "index.db").unlink()
    with Memory.open(folder) as again:
        assert len(again.list()) == 1
    with open(folder / "events.wal", "ab") as file:
        file.write(ledger[appends[1].end :])
    assert levels(folder)["index"] == "note"
    assert texts(folder) == {"one", "two"}


# Writes that fail.


class Full(ActiveFile):
    """A disk that takes a part of an append, or whose fsync fails."""

    broken = ""

    def append(self, data: bytes, offset: int) -> None:
        if self.broken == "short":
            os.pwrite(self._fd, data[: len(data) // 2], offset)
            raise OSError(errno.ENOSPC, "no space")
        if self.broken == "fsync":
            os.pwrite(self._fd, data, offset)
            raise OSError(errno.EIO, "fsync failed")
        super().append(data, offset)


@pytest.mark.parametrize("how", ["short", "fsync"])
def test_a_failed_append_then_a_good_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr("recollect.store.files.open_files.ActiveFile", Full)
    with Memory.open(folder) as memory:
        memory.remember("one", id="a")
        monkeypatch.setattr(Full, "broken", how)
        with pytest.raises(Unavailable):
            memory.remember("two", id="b")
        monkeypatch.setattr(Full, "broken", "")
        with pytest.raises(Unavailable, match="open"):
            memory.remember("three", id="c")
        with pytest.raises(Unavailable):
            memory.admin.rebuild()
        assert [record.id for record in memory.list()] == ["a"]
    with Memory.open(folder) as memory:
        memory.remember("three", id="c")
        found = {record.id for record in memory.list()}
    # "b" was not acknowledged; whether it is there depends on what reached the disk.
    assert found == ({"a", "c"} if how == "short" else {"a", "b", "c"})
    assert "three" in texts(folder)


def test_a_real_short_write_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    active = ActiveFile(folder / "events.wal")
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: len(data) - 1)
    with pytest.raises(OSError, match="part"):
        active.append(b"12345", 0)
    active.close()


def test_a_failed_index_commit_is_healed(memory: Memory, folder: Path) -> None:
    """The ledger has the event, the index does not: acknowledged all the same, found again."""
    blocker = sqlite3.connect(folder / "index.db", isolation_level=None)
    space = memory._handle.space
    assert isinstance(space, FileSpace)
    index = space._files.index
    assert index is not None
    original = index.run

    def failing(name: str) -> None:
        if name == "commit":
            raise sqlite3.OperationalError("disk I/O error")
        original(name)

    index.run = failing  # type: ignore[method-assign]
    memory.remember("three", id="c")
    index.run = original  # type: ignore[method-assign]
    blocker.close()
    assert {record.id for record in memory.list()} == {"a", "b", "c"}
    assert texts(folder) == {"one", "two", "three"}


def test_a_failed_index_commit_of_genesis_leaves_no_gap(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event is in the ledger, its rows are not: they must be folded before the next ones."""
    due = ["COMMIT"]
    connect = sqlite3.connect

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if due and sql.strip().upper().startswith("COMMIT") and self.is_index():
                due.clear()
                super().execute("ROLLBACK")  # as SQLite does by itself after some errors
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *values)

        def is_index(self) -> bool:
            return str(super().execute("PRAGMA database_list").fetchone()[2]).endswith("index.db")

    def failing(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return connect(*arguments, factory=Failing, **options)

    monkeypatch.setattr(sqlite3, "connect", failing)
    with Memory.open(folder) as memory:
        memory.remember("one", id="a")
        assert due == []
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
        assert memory.admin.verify().ok


# The index.


def test_a_deleted_index_is_rebuilt(memory: Memory, folder: Path) -> None:
    digest = memory.admin.digest()
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (folder / name).unlink(missing_ok=True)
    assert memory.admin.digest() == digest
    (folder / "index.db").unlink()
    memory.remember("three", id="c")
    assert len(memory.list()) == 3


@pytest.mark.parametrize("junk", [b"", b"junk" * 1000, b"SQLite format 3\0" + b"\0" * 8000])
def test_an_index_that_cannot_be_read_is_rebuilt(memory: Memory, folder: Path, junk: bytes) -> None:
    memory.close()
    for name in ("index.db-wal", "index.db-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "index.db").write_bytes(junk)
    assert levels(folder)["index"] == "note"
    assert texts(folder) == {"one", "two"}


def test_an_index_of_another_release_is_rebuilt(memory: Memory, folder: Path) -> None:
    memory.close()
    with sqlite3.connect(folder / "index.db") as connection:
        connection.execute("UPDATE position SET version = 0")
    connection.close()
    assert texts(folder) == {"one", "two"}


def test_an_index_ahead_of_its_ledger_stops(memory: Memory, folder: Path) -> None:
    memory.close()
    appends = list(scan([(folder / "events.wal").read_bytes()]))
    os.truncate(folder / "events.wal", appends[1].end)
    with Memory.open(folder) as again:
        for call in (again.list, lambda: again.remember("x"), again.admin.rebuild):
            with pytest.raises(IntegrityError, match="event 3"):
                call()
        (finding,) = [f for f in again.admin.doctor() if f.what == "index"]
        assert finding.level == "problem"
        assert finding.fix is not None
        assert "--accept-loss" in finding.fix
        again.admin.accept_loss(reason="restored an old copy")
        assert [record.text for record in again.list()] == ["one"]
    assert texts(folder) == {"one"}
    assert b"ledger.loss_accepted" in (folder / "events.wal").read_bytes()


def test_an_index_of_another_history_stops(memory: Memory, folder: Path, tmp_path: Path) -> None:
    memory.close()
    with Memory.open(tmp_path / "other") as other:
        for text in ("uno", "dos"):
            other.remember(text)
    (folder / "events.wal").write_bytes((tmp_path / "other" / "events.wal").read_bytes())
    with Memory.open(folder) as again:
        with pytest.raises(IntegrityError):
            again.list()
        assert any(f.level == "problem" for f in again.admin.doctor())


def test_a_changed_ledger_is_found(memory: Memory, folder: Path) -> None:
    memory.close()
    ledger = bytearray((folder / "events.wal").read_bytes())
    place = ledger.index(b'"text":"one"') + 9
    ledger[place] ^= 1
    (folder / "events.wal").write_bytes(bytes(ledger))
    with Memory.open(folder) as again:
        report = again.admin.verify()
        assert (report.status, report.broken_at) == ("broken", 2)
        (finding,) = [f for f in again.admin.doctor() if f.what == "ledger"]
        assert "event 2" in finding.detail
    (folder / "index.db").unlink()
    with Memory.open(folder) as again, pytest.raises(IntegrityError, match="event 2"):
        again.list()


def test_a_damaged_ledger_can_be_salvaged(memory: Memory, folder: Path) -> None:
    memory.remember("three", id="c")
    memory.close()
    ledger = (folder / "events.wal").read_bytes()
    (folder / "events.wal").write_bytes(ledger.replace(b'"text":"two"', b'"text":"tw0"'))
    with Memory.open(folder) as again:
        with pytest.raises(IntegrityError, match="event 3"):
            again.remember("four", id="d")  # beyond the damage, which the file's stamp shows
        assert again.admin.verify().broken_at == 3
        (finding,) = [f for f in again.admin.doctor() if f.what == "ledger"]
        assert finding.fix is not None
        assert "--accept-loss" in finding.fix
        again.admin.accept_loss()
        assert [record.id for record in again.list()] == ["a"]
        assert again.admin.verify().ok
    assert texts(folder) == {"one"}
    assert (folder / "events.wal").read_bytes().count(b"ledger.loss_accepted") == 1
    (torn,) = folder.glob("*.torn")
    assert b"three" in torn.read_bytes()


def test_a_loss_is_noted_without_an_index_too_and_never_without_a_loss(
    memory: Memory, folder: Path
) -> None:
    memory.admin.accept_loss()
    assert b"ledger.loss_accepted" not in (folder / "events.wal").read_bytes()
    memory.close()
    (folder / "index.db").unlink()
    ledger = (folder / "events.wal").read_bytes()
    (folder / "events.wal").write_bytes(ledger.replace(b'"text":"one"', b'"text":"0ne"'))
    with Memory.open(folder) as again:
        again.admin.accept_loss()
        assert again.list() == []
    assert b"ledger.loss_accepted" in (folder / "events.wal").read_bytes()


def test_damage_where_the_index_stands_stops_at_once(memory: Memory, folder: Path) -> None:
    memory.close()
    ledger = (folder / "events.wal").read_bytes()
    (folder / "events.wal").write_bytes(ledger.replace(b'"text":"two"', b'"text":"tw0"'))
    with Memory.open(folder) as again, pytest.raises(IntegrityError):
        again.remember("three")


@pytest.mark.parametrize("end", [b"", b"}", b"\r"])
def test_nothing_is_written_behind_a_line_that_lost_its_newline(
    memory: Memory, folder: Path, end: bytes
) -> None:
    memory.close()
    ledger = folder / "events.wal"
    ledger.write_bytes(ledger.read_bytes()[:-1] + end)
    with Memory.open(folder) as again, pytest.raises(IntegrityError):
        again.remember("three")
    assert levels(folder)["ledger"] == "problem"


def test_a_long_last_line_is_found_where_the_index_stands(memory: Memory, folder: Path) -> None:
    memory.remember("\x01" * 100_000, id="long")
    memory.close()
    active = ActiveFile(folder / "events.wal")
    line = active.line_before(active.size)
    active.close()
    assert line + b"\n" == (folder / "events.wal").read_bytes().splitlines(keepends=True)[-1]
    assert "three" in texts_after_writing(folder, "three")


def texts_after_writing(folder: Path, text: str) -> set[str]:
    with Memory.open(folder) as memory:
        memory.remember(text)
    return texts(folder)


def test_another_history_of_the_same_length_stops(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    """As a sync tool may bring it: same size, other branch."""
    memory.close()
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for place, text in ((folder, "x = 1"), (other, "x = 2")):
        with Memory.open(place) as branch:
            branch.remember(text, id="c")
    shutil.copy(other / "events.wal", folder / "events.wal")
    with Memory.open(folder) as again, pytest.raises(IntegrityError):
        again.remember("four")


def test_a_full_disk_can_still_be_read(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.close()
    with open(folder / "events.wal", "ab") as file:
        file.write(b"torn")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(ActiveFile, "cut", full)
    with Memory.open(folder) as again:
        assert len(again.list()) == 2
        with pytest.raises(Unavailable):
            again.remember("three")


def test_an_erasure_leaves_other_workspaces_alone(memory: Memory, folder: Path) -> None:
    """A workspace that was restored from a backup into a folder below is one of its own."""
    backup = memory.admin.backup()
    with Store.restore_backup(backup.path, folder / "copies" / "restored") as below:
        below.remember("three", id="c")
        memory.erase("b")
        assert {record.text for record in below.list()} == {"one", "two", "three"}
        assert below.admin.verify().ok


def test_an_unreadable_backup_does_not_stop_an_erasure(memory: Memory, folder: Path) -> None:
    backup = Path(memory.admin.backup().path)
    (backup / "manifest.json").write_text("{")
    memory.erase("b")
    assert b'"two"' not in (backup / "events.wal").read_bytes()
    assert texts(folder) == {"one"}


def test_an_erasure_that_failed_is_finished_by_the_next_call(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr("recollect.store.files.ledger.segments.erase_bodies", full)
        with pytest.raises(Unavailable):
            memory.erase("b")
    assert b'"two"' in (folder / "events.wal").read_bytes()
    memory.remember("three", id="c")
    assert b'"two"' not in (folder / "events.wal").read_bytes()


def test_an_interrupted_erasure_is_finished_in_backups_even_without_an_index(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new index takes a ledger without the bodies for a finished erasure."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    backup = Path(memory.admin.backup().path)
    copies, bodies = "copies.copies.erase_copies", "ledger.segments.erase_bodies"
    for step in (copies, bodies):
        with monkeypatch.context() as patch:
            patch.setattr(f"recollect.store.files.{step}", full)
            with pytest.raises(Unavailable):
                memory.erase("b") if step == copies else memory.remember("three")
        memory.close()
        (folder / "index.db").unlink()
        memory = Memory.open(folder)
    assert {record.text for record in memory.list()} == {"one"}
    memory.close()
    for copy in (folder, backup):
        assert b'"two"' not in (copy / "events.wal").read_bytes()


def test_a_missing_ledger_is_a_loss(memory: Memory, folder: Path) -> None:
    memory.close()
    (folder / "events.wal").unlink()
    assert levels(folder) == {"ledger": "problem"}
    with Memory.open(folder) as again, pytest.raises(IntegrityError):
        again.list()
    with Store.open(folder) as store, pytest.raises(IntegrityError):
        store.space(create=False).list()
    assert not (folder / "events.wal").exists()


def test_a_cut_tail_is_found_by_the_index(memory: Memory, folder: Path) -> None:
    """The chain alone cannot see it: what is left is a whole, shorter ledger."""
    memory.close()
    ledger = folder / "events.wal"
    appends = list(scan([ledger.read_bytes()]))
    os.truncate(ledger, appends[-2].end)
    assert verify([ledger.read_bytes()]).ok
    with Memory.open(folder) as again:
        report = again.admin.verify()
        assert (report.status, report.broken_at) == ("broken", 3)
        with pytest.raises(IntegrityError):
            again.list()


def test_a_rewritten_ledger_is_found_by_the_index(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    """The whole file was rewritten, with another valid chain."""
    memory.close()
    with Memory.open(tmp_path / "forged") as forged:
        forged.remember("uno", id="a")
        forged.remember("two", id="b")
    (folder / "events.wal").write_bytes((tmp_path / "forged" / "events.wal").read_bytes())
    with Memory.open(folder) as again:
        report = again.admin.verify()
        assert (report.status, report.broken_at) == ("broken", 3)


def test_an_emptied_ledger_is_found(memory: Memory, folder: Path) -> None:
    memory.close()
    os.truncate(folder / "events.wal", 0)
    with Memory.open(folder) as again, pytest.raises(IntegrityError):
        again.list()


def test_a_ledger_of_another_space_is_refused(memory: Memory, folder: Path) -> None:
    memory.close()
    other = folder / "spaces" / "other"
    other.mkdir(parents=True)
    (other / "events.wal").write_bytes((folder / "events.wal").read_bytes())
    with Memory.open(folder, space="other") as wrong, pytest.raises(IntegrityError, match="'main'"):
        wrong.list()


def test_the_head_an_index_knows_can_be_asked(memory: Memory, folder: Path) -> None:
    assert memory.events.position == 3
    head = known_head(folder / "index.db")
    assert head is not None
    assert head.seq == 3
    assert known_head(folder / "nothing.db") is None


# Backups.


def test_a_backup_is_restored(memory: Memory, folder: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    backup = memory.admin.backup(progress=lambda done, total: told.append((done, total)))
    assert Path(backup.path).parent == folder / "backup"
    assert told
    memory.remember("three")
    with Store.restore_backup(backup.path, tmp_path / "restored") as restored:
        assert {record.text for record in restored.list()} == {"one", "two"}
        assert restored.events.position == backup.seq
    with pytest.raises(Conflict):
        Store.restore_backup(backup.path, tmp_path / "restored")
    with pytest.raises(NotFound):
        Store.restore_backup(tmp_path / "nothing", tmp_path / "x")
    with pytest.raises(Unsupported):
        Store.restore_backup(backup.path, ":memory:")


def test_a_backup_has_a_whole_manifest_or_none(folder: Path, tmp_path: Path) -> None:
    class Full(Seam):
        def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
            if bytes(data).startswith(b'{"space"'):
                raise OSError(errno.ENOSPC, "no room for the manifest")
            return super().pwrite(fd, data, offset)

    memory = Memory(Handle(FileBackend(folder, seam=Full()).space("main", create=True)))
    memory.remember("one")
    with pytest.raises(Unavailable):
        memory.admin.backup(tmp_path / "copy")
    memory._handle.space.close()
    with pytest.raises(NotFound, match="does not contain a complete backup"):
        Store.restore_backup(tmp_path / "copy", tmp_path / "restored")


def test_a_damaged_backup_is_not_restored(memory: Memory, tmp_path: Path) -> None:
    backup = memory.admin.backup(tmp_path / "copy")
    ledger = Path(backup.path) / "events.wal"
    whole = ledger.read_bytes()
    for bad in (whole[:-10], whole.replace(b'"one"', b'"0ne"'), b""):
        ledger.write_bytes(bad)
        with pytest.raises(IntegrityError):
            Store.restore_backup(backup.path, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()
    (Path(backup.path) / "manifest.json").write_text("{")
    with pytest.raises(InvalidInput):
        Store.restore_backup(backup.path, tmp_path / "restored")


def test_a_backup_whose_manifest_cannot_be_read_is_named_and_left_as_it_was(
    memory: Memory, tmp_path: Path
) -> None:
    backup = Path(memory.admin.backup().path)
    (backup / "manifest.json").rename(tmp_path / "manifest.json")
    (backup / "manifest.json").mkdir()
    places = memory.erase("b").places
    assert [place for place in places if place.startswith("NOT") and str(backup) in place]
    (backup / "manifest.json").rmdir()
    (tmp_path / "manifest.json").rename(backup / "manifest.json")
    with Store.restore_backup(backup, tmp_path / "restored") as restored:
        assert restored.admin.verify().ok


def test_a_copy_that_cannot_be_read_is_named(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = folder / "backup" / "strange" / "events.wal"
    unreadable.parent.mkdir(parents=True)
    unreadable.write_bytes(b"of somebody else")
    real = copies._begins_with

    def refused(path: Path, lines: Collection[bytes]) -> bool:
        if path == unreadable:
            raise PermissionError(errno.EACCES, "not allowed")
        return real(path, lines)

    monkeypatch.setattr(copies, "_begins_with", refused)
    places = memory.erase("b").places
    assert [place for place in places if place.startswith("NOT") and str(unreadable) in place]


def test_an_interrupted_erasure_reaches_the_backups_even_if_the_index_is_rebuilt(
    memory: Memory, folder: Path
) -> None:
    backup = Path(memory.admin.backup().path)
    (folder / "index.db.new").mkdir()  # in the way of what is made after the ledger was cleaned
    with pytest.raises(Unavailable):
        memory.erase("b")
    memory.close()
    (folder / "index.db.new").rmdir()
    (folder / "index.db").unlink()
    with Memory.open(folder) as again:
        again.remember("three")
    assert b'"two"' not in (backup / "events.wal").read_bytes()
    assert b'"two"' not in (folder / "events.wal").read_bytes()


def test_a_backup_that_cannot_be_written_back_is_told_apart(memory: Memory, tmp_path: Path) -> None:
    backup = memory.admin.backup()
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(Unavailable):
        Store.restore_backup(backup.path, tmp_path / "file" / "below")


def test_a_doctor_who_cannot_read_says_so(memory: Memory, folder: Path) -> None:
    memory.close()
    (folder / "events.wal").rename(folder / "elsewhere")
    (folder / "events.wal").mkdir()
    assert levels(folder) == {"files": "problem"}


def test_what_was_erased_later_stays_erased_in_a_restored_backup(
    memory: Memory, folder: Path, tmp_path: Path
) -> None:
    backup = memory.admin.backup()
    memory.remember("two and a half")
    memory.erase("b")
    assert b'"two"' not in (Path(backup.path) / "events.wal").read_bytes()
    with Store.restore_backup(backup.path, tmp_path / "restored") as restored:
        assert [record.text for record in restored.list()] == ["one"]
        report = restored.admin.verify()
        assert (report.ok, report.erased) == (True, 1)
        restored.remember("three")
    assert texts(tmp_path / "restored") == {"one", "three"}


# Places.


def test_a_workspace_holds_several_spaces(folder: Path) -> None:
    with Store.open(folder) as store:
        store.space("main").remember("mine")
        store.space("Team A").remember("ours")
        assert store.spaces() == ["main", "Team A"]
        assert [str(r) for r in store.space("Team A").list()] == ["ours"]
        assert "Store(" in repr(store)
    assert (folder / "spaces" / "%54eam%20%41" / "events.wal").exists()


@pytest.mark.parametrize("name", ["..", ".", "../../x", "a/b", "A", "é", "con", "x" * 64, ".hid"])
def test_no_name_leads_out_of_the_workspace(tmp_path: Path, name: str) -> None:
    folder = folder_name(name)
    assert "/" not in folder
    assert not folder.startswith(".")
    assert folder == folder.lower()
    with Memory.open(tmp_path / "w", space=name) as memory:
        memory.remember("here")
        assert memory.scope.space == name
    assert [p.name for p in tmp_path.iterdir()] == ["w"]
    with Store.open(tmp_path / "w") as store:
        assert store.spaces() == [name]


def test_a_file_is_not_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError):
        Memory.open(tmp_path / "file")
    with pytest.raises(Unsupported):
        Memory.open("mysql://example")
    with pytest.raises(ConfigError):
        Memory.open("")


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with Memory.open(tmp_path / "file" / "below") as memory, pytest.raises(Unavailable):
        memory.remember("x")


def test_files_are_private(memory: Memory, folder: Path) -> None:
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_a_progress_callback_that_writes_is_refused_and_does_not_hang(memory: Memory) -> None:
    def write(done: int, total: int) -> None:
        memory.remember("three")

    with pytest.raises(Unavailable):
        memory.admin.rebuild(write)
    told: list[int] = []
    memory.admin.rebuild(lambda done, total: told.append(len(memory.list())))
    assert told
    assert memory.remember("three").text == "three"


# Branches.


def test_a_writer_does_not_wait_for_a_reader_of_a_branch(memory: Memory) -> None:
    memory.branches.open("plans")
    on = memory.on("plans")
    on.remember("later", id="later")
    with ThreadPoolExecutor(1) as threads, handle_of(on).reading() as reads:
        threads.submit(memory.remember, "meanwhile", id="meanwhile").result(30)
        assert reads.version("meanwhile") is None
    assert {record.text for record in on.list()} == {"one", "two", "later", "meanwhile"}
    assert {record.text for record in memory.list()} == {"one", "two", "meanwhile"}


def test_control_with_a_large_index_it_waits(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.files.space._COPIED_MAX_BYTES", 0)
    memory.branches.open("plans")
    on = memory.on("plans")
    on.remember("later", id="later")
    with ThreadPoolExecutor(1) as threads:
        with handle_of(on).reading():
            written = threads.submit(memory.remember, "meanwhile")
            with pytest.raises(TimeoutError):
                written.result(0.2)
        assert written.result(30).text == "meanwhile"
    assert {record.text for record in on.list()} == {"one", "two", "later", "meanwhile"}
