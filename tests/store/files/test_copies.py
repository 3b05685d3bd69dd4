"""Copies of a ledger: an erasure finds them all over the workspace, and names what it leaves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.memory import Store
from recollect.model.values import Erasure
from recollect.store.files.copies import copies
from tests.suites.canaries import files_hit

WORD = "Vrélqomůdabigozk"
OTHER = "Drémqatůvobefuzk"


def erased(memory: Memory, text: str = f"The word is {WORD}") -> Erasure:
    """Erases the one record with this text."""
    (id,) = [record.id for record in memory.list() if record.text == text]
    return memory.erase(id)


def not_cleaned(report: Erasure) -> list[str]:
    return [place for place in report.places if place.startswith("NOT")]


def backup_deep(where: Path, memory: Memory) -> None:
    memory.admin.backup(where / "backup" / "monthly" / "november")
    memory.admin.backup(where / "a" / "b" / "c" / "d")


def copied_by_hand(where: Path, memory: Memory) -> None:
    path = memory.admin.backup().path
    shutil.copy(f"{path}/events.wal", where / "backup" / "events.wal.old")
    shutil.copy(where / "events.wal", where / "events.bak")
    shutil.copy(where / "events.wal", where / "saved")


def second_name(where: Path, memory: Memory) -> None:
    """A hard link keeps the old bytes when the ledger's own name goes to new ones."""
    (where / "kept").mkdir()
    os.link(where / "events.wal", where / "kept" / "events.wal")


def of_a_sealed_ledger(where: Path, memory: Memory) -> None:
    memory.admin.seal()
    memory.remember("After the seal")
    (where / "x" / "y" / "z").mkdir(parents=True)
    for path in (*(where / "sealed").iterdir(), where / "events.wal"):
        shutil.copy(path, where / "x" / "y" / "z")


@pytest.mark.parametrize("leave", [backup_deep, copied_by_hand, second_name, of_a_sealed_ledger])
def test_every_copy_in_the_workspace_is_cleaned(
    tmp_path: Path, leave: Callable[[Path, Memory], None]
) -> None:
    with Memory.open(tmp_path) as memory:
        memory.remember(f"The word is {WORD}")
        memory.remember(f"Another is {OTHER}")
        leave(tmp_path, memory)
        assert len(files_hit(tmp_path, [WORD])) > 2
        report = erased(memory)
        assert files_hit(tmp_path, [WORD]) == set()
        assert not_cleaned(report) == []
        assert any(" cleaned" in place for place in report.places)
        assert memory.admin.verify().ok
    assert len(files_hit(tmp_path, [OTHER])) > 2


def test_copies_of_every_space_are_cleaned_by_their_own_erasure(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        main, alice = store.space("main"), store.space("alice")
        main.remember(f"Another is {OTHER}")
        alice.remember(f"The word is {WORD}")
        main.admin.backup(tmp_path / "backup" / "main-1")
        alice.admin.backup(tmp_path / "backup" / "alice-1")
        alice.admin.backup(tmp_path / "spaces" / "alice" / "backup" / "deep" / "x")
        report = erased(alice)
        assert files_hit(tmp_path, [WORD]) == set()
        assert not_cleaned(report) == []
        assert "backup/main-1/events.wal" in files_hit(tmp_path, [OTHER])
        for path in ("backup/main-1", "backup/alice-1"):
            with Store.restore_backup(tmp_path / path, tmp_path / "restored") as restored:
                assert restored.admin.verify().ok


def test_control_two_folders_deep_was_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk that stops after two folders leaves the word, and the search sees it."""
    real = copies._Walk.files

    def shallow(walk: copies._Walk) -> list[Path]:
        return [path for path in real(walk) if len(path.relative_to(tmp_path).parts) < 4]

    with Memory.open(tmp_path) as memory:
        memory.remember(f"The word is {WORD}")
        backup_deep(tmp_path, memory)
        (tmp_path / "backups.json").unlink()
        monkeypatch.setattr(copies._Walk, "files", shallow)
        erased(memory)
    assert files_hit(tmp_path, [WORD])


def test_a_noted_backup_is_cleaned_even_beyond_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_FILES_MAX_COUNT", 3)
    with Memory.open(tmp_path) as memory:
        memory.remember(f"The word is {WORD}")
        memory.admin.backup(tmp_path / "zz" / "yy" / "last")
        report = erased(memory)
    assert files_hit(tmp_path, [WORD]) == set()
    assert [place for place in not_cleaned(report) if "after the first 3 files" in place]


def test_a_backup_elsewhere_is_named(tmp_path: Path) -> None:
    workspace, disk = tmp_path / "workspace", tmp_path / "disk"
    with Memory.open(workspace) as memory:
        memory.admin.backup(disk / "before")  # it does not hold what is erased
        memory.remember(f"The word is {WORD}")
        memory.admin.backup(disk / "here")
        memory.admin.backup(disk / "gone")
        shutil.rmtree(disk / "gone")
        told = not_cleaned(erased(memory))
    assert len(told) == 2
    assert "NOT cleaned: the backup up to" in told[0]
    assert str(disk / "here") in told[0]
    assert told[1].startswith("NOT reached")
    assert str(disk / "gone") in told[1]
    assert files_hit(workspace, [WORD]) == set()
    assert files_hit(disk, [WORD]) == {"here/events.wal"}


def test_many_backups_elsewhere_are_counted(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "workspace") as memory:
        memory.remember(f"The word is {WORD}")
        for number in range(8):
            memory.admin.backup(tmp_path / "disk" / str(number))
        told = not_cleaned(erased(memory))
    assert len(told) == 6
    assert "3 more" in told[-1]


def test_what_cannot_be_read_and_what_is_a_link_is_named(tmp_path: Path) -> None:
    workspace, disk = tmp_path / "workspace", tmp_path / "disk"
    with Memory.open(workspace) as memory:
        memory.remember(f"The word is {WORD}")
        memory.admin.backup(disk / "linked")
        (workspace / "link").symlink_to(disk / "linked")
        (workspace / "deep").mkdir()
        os.mkfifo(workspace / "deep" / "pipe")  # nobody waits for it
        (workspace / "backups.json").write_bytes(b"no list")
        told = not_cleaned(erased(memory))
    assert [place for place in told if place.endswith(str(workspace / "backups.json"))]
    assert [place for place in told if "links are not followed" in place]
    assert files_hit(disk, [WORD])


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser reads everything")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    with Memory.open(tmp_path) as memory:
        memory.remember(f"The word is {WORD}")
        closed.mkdir(mode=0)
        told = not_cleaned(erased(memory))
        closed.chmod(0o700)
    assert [place for place in told if str(closed) in place]


def test_a_copy_in_use_is_reported_and_left(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    with Memory.open(workspace) as memory:
        memory.remember(f"The word is {WORD}")
        backup = memory.admin.backup()
        with Store.restore_backup(backup.path, workspace / "restored") as used:
            used.list()
            told = not_cleaned(erased(memory))
            assert [place for place in told if "an independent memory" in place]
            assert used.admin.verify().ok
    assert {name.partition("/")[0] for name in files_hit(workspace, [WORD])} == {"restored"}


def test_a_linked_ledger_is_not_taken_for_a_copy(tmp_path: Path) -> None:
    """The ledger's own name may lead to a file elsewhere in the workspace."""
    with Memory.open(tmp_path) as memory:
        memory.remember(f"The word is {WORD}")
        memory.remember("It stays")
    (tmp_path / "data").mkdir()
    os.rename(tmp_path / "events.wal", tmp_path / "data" / "events.wal")
    (tmp_path / "events.wal").symlink_to(tmp_path / "data" / "events.wal")
    with Memory.open(tmp_path) as memory:
        erased(memory)
        assert memory.admin.verify().ok
        assert memory.remember("And goes on").text == "And goes on"
    assert files_hit(tmp_path, [WORD]) == set()


def test_notes_of_backups_stay_true(tmp_path: Path) -> None:
    """Those inside are kept by a path that moves with the workspace, and go with the backup."""
    with Memory.open(tmp_path / "workspace") as memory:
        memory.remember("One")
        first = memory.admin.backup()
        memory.admin.backup(tmp_path / "disk")
        shutil.rmtree(first.path)
        memory.admin.backup(tmp_path / "workspace" / "mine")
        notes = msgspec.json.decode((tmp_path / "workspace" / "backups.json").read_bytes())
    assert [note["path"] for note in notes] == [str(tmp_path / "disk"), "mine"]


def test_notes_that_cannot_be_read_refuse_a_backup(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.remember("One")
        (tmp_path / "backups.json").write_bytes(b"[")
        with pytest.raises(InvalidInput, match=r"backups\.json"):
            memory.admin.backup()
