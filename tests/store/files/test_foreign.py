"""Files of other programs that have the names of a memory's own: none is lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.contracts.chrono import ChronoRecord, ChronoStore
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
        memory.admin.backup(str(tmp_path / "backup"))
    was = database(tmp_path / "there" / "index.db")
    with pytest.raises(ConfigError):
        Store.restore_backup(tmp_path / "backup", tmp_path / "there")
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


MINE = "my own words"


def lay(folder: Path, *names: str) -> list[Path]:
    """Writes files of a person into a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(MINE)
    return [folder / name for name in names]


def named_in(places: tuple[str, ...], paths: list[Path]) -> list[Path]:
    return [path for path in paths if any(str(path) in one for one in places if "NOT" in one)]


def test_an_erasure_keeps_what_only_has_a_name_of_ours(tmp_path: Path) -> None:
    names = (
        "snapshot.json", "index.db.new-mine", "sealed/mine.new", "vectors/mine.vec",
        "events.wal.txt", "events.wal.other",
    )  # fmt: skip
    with Memory.open(tmp_path) as memory:
        for _ in range(2):
            record = memory.remember("something secret")
            mine = lay(tmp_path, *names)
            places = memory.erase(record.id).places
            assert [path.read_text() for path in mine] == [MINE] * len(mine)
            assert named_in(places, mine) == mine


def test_an_erasure_keeps_the_ledger_of_another_memory_and_cleans_copies(tmp_path: Path) -> None:
    write(tmp_path / "other")
    with Memory.open(tmp_path / "one") as memory:
        record = memory.remember("zebraquagga")
        there = shutil.copy(
            tmp_path / "other" / "events.wal", tmp_path / "one" / "events.wal.theirs"
        )
        ours = shutil.copy(tmp_path / "one" / "events.wal", tmp_path / "one" / "events.wal.bak")
        torn = tmp_path / "one" / "events.wal.3-1.torn"
        torn.write_text("zebraquag")
        (mine,) = lay(tmp_path / "one", "events.wal.bak.new")
        assert b"zebraquagga" in Path(ours).read_bytes()
        places = memory.erase(record.id).places
        assert f"NOT cleaned, could not be written: {ours}" in places
        assert mine.read_text() == MINE
        mine.unlink()
        memory.erase(memory.remember("more").id)
        assert Path(there).read_bytes() == (tmp_path / "other" / "events.wal").read_bytes()
        assert not torn.exists()


def test_an_erasure_keeps_a_snapshot_of_another_memory(tmp_path: Path) -> None:
    for name, count in (("one", 1), ("two", 3)):
        (tmp_path / name).mkdir()
        with ChronoStore(tmp_path / name) as store:
            for number in range(count):
                store.upsert(ChronoRecord(id=f"{name}{number}", label="said"))
            store.snapshot()
    one, two = (tmp_path / name / ".chronomemory" / "snapshot.json" for name in ("one", "two"))
    shutil.copy(two, one)
    with Memory.open(one.parent) as memory:
        assert f"NOT removed, not a snapshot of this memory: {one}" in memory.erase("one0").places
    assert one.read_bytes() == two.read_bytes()
    with Memory.open(two.parent) as memory:
        memory.erase("two0")
    assert not two.exists(), "the control"


PERSONS = (
    "pages/thesis.md", "pages/sub/deep.md", "vectors/notes.txt", "vectors/mine.vec",
    "sealed/notes.txt", "sealed/mine.new", "checkpoints/notes.txt", "snapshot.json",
    "events.wal.notes", "index.db.old",
)  # fmt: skip


@pytest.mark.parametrize("space", ["main", "work"])
def test_a_drop_keeps_and_names_what_only_lies_there(tmp_path: Path, space: str) -> None:
    folder = tmp_path if space == "main" else tmp_path / "spaces" / "work"
    with Memory.open(tmp_path, space=space) as memory:
        memory.remember("zebraquagga", about="Ada")
        memory.admin.embed()
        memory.pages.render()
        memory.admin.seal()
        memory.remember("zebraquagga again")
    mine = lay(folder, *PERSONS)
    with Store.open(tmp_path) as store:
        places = store.drop(space).places
    assert [path.read_text() for path in mine] == [MINE] * len(mine)
    assert named_in(places, mine) == mine
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path not in mine]
    assert [path.name for path in left if b"zebraquagga" in path.read_bytes()] == []
    assert {path.name for path in left} <= {"dropped.json", ".gitignore", "settings.json"}
    with Memory.open(tmp_path, space=space) as memory:
        assert not memory.list()
    assert [path.read_text() for path in mine] == [MINE] * len(mine)


def test_a_drop_without_notes_about_pages_keeps_and_names_them(tmp_path: Path) -> None:
    with Memory.open(tmp_path, space="work") as memory:
        memory.remember("something", about="Ada")
        memory.pages.render()
    pages = tmp_path / "spaces" / "work" / "pages"
    (pages / ".pages.json").unlink()
    there = sorted(pages.iterdir())
    with Store.open(tmp_path) as store:
        places = store.drop("work").places
    assert there == sorted(pages.iterdir())
    assert named_in(places, there) == there


def test_a_manifest_of_another_program_beside_a_copy_stays_and_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "keep").mkdir()
    shutil.copy(tmp_path / "events.wal", tmp_path / "keep")
    mine = lay(tmp_path / "keep", "manifest.json", "manifest.json.new", "checkpoints/mine.note")
    with Store.open(tmp_path) as store:
        places = store.drop("main").places
    assert not (tmp_path / "keep" / "events.wal").exists()
    assert [path.read_text() for path in mine] == [MINE] * len(mine)
    assert named_in(places, mine[:2]) == mine[:2]
