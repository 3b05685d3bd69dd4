"""Files of other programs that have the names of a memory's own: none is lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import ConfigError, IntegrityError
from recollect.store.files.quick_read import quick_read


def database(path: Path) -> bytes:
    """Another program's database; its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (words)")
    db.execute("INSERT INTO mine VALUES ('years of work')")
    db.commit()
    db.close()
    return path.read_bytes()


def words_in(path: Path) -> list[tuple[str]]:
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT words FROM mine").fetchall()
    finally:
        db.close()


def read(folder: Path) -> None:
    with Memory.open(folder) as memory:
        memory.recall("anything")


def write(folder: Path) -> None:
    with Memory.open(folder) as memory:
        memory.remember("something")


def read_quickly(folder: Path) -> None:
    assert quick_read(folder) is None
    read(folder)


@pytest.mark.parametrize("use", [read, write, read_quickly])
def test_a_folder_with_another_programs_index_is_refused(
    tmp_path: Path, use: Callable[[Path], None]
) -> None:
    was = database(tmp_path / "index.db")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"index\.db belongs to another program") as told:
            use(tmp_path)
        assert told.value.hint
    assert (tmp_path / "index.db").read_bytes() == was
    assert not (tmp_path / "events.wal").exists()


def test_a_text_called_index_db_is_refused_beside_an_empty_ledger_too(tmp_path: Path) -> None:
    (tmp_path / "index.db").write_text("my own text")
    (tmp_path / "events.wal").touch()
    with pytest.raises(ConfigError):
        write(tmp_path)
    assert (tmp_path / "index.db").read_text() == "my own text"


def test_a_backup_is_not_restored_over_another_programs_index(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory") as memory:
        memory.remember("something")
        memory.backup(str(tmp_path / "backup"))
    was = database(tmp_path / "there" / "index.db")
    with pytest.raises(ConfigError):
        Memory.restore_backup(tmp_path / "backup", tmp_path / "there")
    assert (tmp_path / "there" / "index.db").read_bytes() == was
    assert not (tmp_path / "there" / "events.wal").exists()


def test_a_database_that_took_the_place_of_an_index_is_kept_aside(tmp_path: Path) -> None:
    write(tmp_path)
    for number in (1, 2):
        for path in tmp_path.glob("index.db*"):
            if not path.name.endswith(".other"):
                path.unlink()
        database(tmp_path / "index.db")
        with Memory.open(tmp_path) as memory:
            assert [record.text for record in memory.list()] == ["something"]
        assert words_in(tmp_path / f"index.db.{number}.other") == [("years of work",)]


def test_a_database_whose_log_was_moved_aside_before_a_stop_follows_it(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "index.db").unlink()
    database(tmp_path / "index.db")
    (tmp_path / "index.db.1.other-wal").touch()
    read(tmp_path)
    assert words_in(tmp_path / "index.db.1.other") == [("years of work",)]


def test_a_damaged_index_of_a_ledger_is_built_again_and_not_kept(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "index.db").write_bytes(b"junk" * 3_000)
    read(tmp_path)
    assert not list(tmp_path.glob("*.other"))


def test_an_index_without_its_ledger_still_tells_of_the_loss(tmp_path: Path) -> None:
    write(tmp_path / "memory")
    shutil.copytree(tmp_path / "memory", tmp_path / "copy")
    (tmp_path / "copy" / "events.wal").unlink()
    with pytest.raises(IntegrityError):
        read(tmp_path / "copy")
