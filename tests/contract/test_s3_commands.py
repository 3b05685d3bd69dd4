"""S3: its commands as printed, on a terminal, and an index that was deleted or damaged."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.pages import MemoryFiles, SearchHit
from tests.cli.running import Ran, Shell
from tests.contract.quickstart_s3 import CLEAN_MEMORY, REBUILD
from tests.memory_suites.pages.pages import holding

CANARY = "canary-5b2d"
QUERY = "Where does the user work?"


class Home(Shell):
    """A person's home folder, with their memory and its files in it."""

    @property
    def root(self) -> Path:
        return self.home / ".recollect"

    @property
    def profile(self) -> Path:
        return self.root / "memory" / "user-profile.md"

    def printed(self, command: str, typed: str | None = None) -> Ran:
        """A command of the document; on a terminal if something is typed."""
        words = shlex.split(command)[1:]
        return self.process(*words) if typed is None else self.terminal(*words, typed=typed)

    def search(self) -> list[SearchHit]:
        with MemoryFiles(self.root) as files:
            return files.search(QUERY, include_superseded=True)

    def words(self, query: str) -> str:
        with MemoryFiles(self.root) as files:
            return " ".join(hit.body for hit in files.search(query))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, tmp_path, lambda *words: Ran(1, "", "not used"))
    with MemoryFiles(home.root) as files:
        old = files.append("user-profile", f"User works at Old Corp, {CANARY}.", ["work"])
        files.supersede("user-profile", old, "User works at Acme Corp.", "a new job")
        files.append("user-preferences", "User prefers short answers.", ["style"])
    return home


def deleted(root: Path) -> None:
    for path in root.glob("index.db*"):
        path.unlink()


def overwritten(root: Path) -> None:
    size = (root / "index.db").stat().st_size
    deleted(root)
    (root / "index.db").write_bytes(b"not a database" * (size // 14))


def emptied(root: Path) -> None:
    """The rows of every entry and every word are gone, and the position says nothing of it."""
    with sqlite3.connect(root / "index.db") as db:
        for table in ("versions", "recallable", "tags"):
            db.execute(f"DELETE FROM {table}")  # names of this test
    db.close()


def changed(root: Path) -> None:
    """A row says what no event says."""
    with sqlite3.connect(root / "index.db") as db:
        db.execute("UPDATE versions SET text = 'User works for Mallory.' WHERE text IS NOT NULL")
    db.close()


@pytest.mark.parametrize("damage", [deleted, overwritten, emptied, changed])
def test_the_index_is_rebuilt_at_any_time(home: Home, damage: Callable[[Path], None]) -> None:
    # S3-179 S3-222: as printed, without a question, from the ledger, into a new file
    before, pages = home.search(), home.profile.read_bytes()
    assert len(before) == 3
    damage(home.root)
    if damage in (emptied, changed):
        with Memory.open(home.root) as memory:  # the control: the damage is seen
            found = {record.text for record in memory.list(include=["replaced"])}
        assert found != {hit.body for hit in before}
    index = home.root / "index.db"
    for _ in range(2 if damage is changed else 1):  # the same again changes nothing
        number = index.stat().st_ino if index.exists() else 0
        ran = home.printed(REBUILD)
        assert (ran.code, "Rebuilt the index from" in ran.err) == (0, True), ran
        assert index.stat().st_ino != number  # after each: a third file may get the first's number
        assert home.search() == before
        assert home.profile.read_bytes() == pages
    with MemoryFiles(home.root) as files:
        assert [(one.path, one.entry_count) for one in files.list_memories()] == [
            ("user-preferences.md", 1),
            ("user-profile.md", 2),
        ]


def test_a_rebuild_that_is_stopped_leaves_the_old_index(home: Home) -> None:
    # S3-222: the new index takes its place only when it is complete
    class Stopped(Exception):
        """The rebuild ends here."""

    def stop(done: int, of: int) -> None:
        raise Stopped

    before, number = home.search(), (home.root / "index.db").stat().st_ino
    with Memory.open(home.root) as memory, pytest.raises(Stopped):
        memory.admin.rebuild(stop)
    assert (home.root / "index.db").stat().st_ino == number
    assert home.search() == before
    assert home.printed(REBUILD).code == 0
    assert (home.root / "index.db").stat().st_ino != number  # the control
    assert home.search() == before


def test_the_two_files_are_on_every_list_from_the_beginning(tmp_path: Path) -> None:  # S3-187
    home = Home(tmp_path, tmp_path, lambda *words: Ran(1, "", "not used"))
    assert home.process("init").code == 0
    listed = home.process("pages", "list").out
    for name in ("user-profile", "user-preferences"):
        assert name in listed
        assert f"# {name.replace('-', ' ').title()}\n" in home.process("pages", "show", name).out


def test_a_fresh_install_writes_the_two_files_with_its_first_sync(tmp_path: Path) -> None:
    # S3-187: init writes none, as decision 41 says
    home = Home(tmp_path, tmp_path, lambda *words: Ran(1, "", "not used"))
    assert home.process("init").code == 0
    assert [path.name for path in tmp_path.rglob("*.md")] == []
    synced = home.process("pages", "sync", "--json").json
    pages = Path(synced["folder"])
    assert pages.name == "pages"
    for name in ("user-profile", "user-preferences"):
        assert f"# {name.replace('-', ' ').title()}\n" in (pages / f"{name}.md").read_text()


def test_an_edit_is_taken_over_after_a_question(home: Home) -> None:
    # S3-200 S3-221: edit, then rebuild-index
    edited = home.profile.read_text().replace("Acme Corp", "Beta Corp")
    edited = edited.replace("Identity and background of the user", "Who the user is")
    home.profile.write_text(edited)
    for ran in (home.printed(REBUILD), home.printed(REBUILD, typed="n\n")):
        assert ran.code != 0
        assert "Beta" not in home.words(QUERY)
        assert home.profile.read_text() == edited
    ran = home.printed(REBUILD, typed="y\n")
    assert (ran.code, "Take over 2 changes? [y/N]" in ran.out) == (0, True), ran
    assert home.words(QUERY).startswith("User works at Beta Corp.")
    with MemoryFiles(home.root) as files:
        assert files.read_memory("user-profile").description == "Who the user is"
    again = home.printed(REBUILD)
    assert (again.code, "Take over" in again.out) == (0, False)


def test_cleaning_asks_for_the_name_and_empties_the_folder(home: Home) -> None:
    # S3-223: as printed; anything but the name keeps everything, and a file of others always stays
    foreign = home.root / "memory" / "notes.md"
    foreign.write_text("My own notes.\n")
    kept = holding(home.root, CANARY)
    assert any(path.endswith("user-profile.md") for path in kept)
    assert home.printed(CLEAN_MEMORY).code == 4  # no terminal, no question
    ran = home.printed(CLEAN_MEMORY, typed="y\n")
    assert (ran.code != 0, "Would erase from the space" in ran.out) == (True, True)
    assert "did not write stay: notes.md\n" in ran.out.replace("\r", "")
    assert holding(home.root, CANARY) == kept
    assert len(home.search()) == 3
    ran = home.printed(CLEAN_MEMORY, typed="main\n")
    assert (ran.code, "3 records" in ran.out) == (0, True), ran
    assert f"NOT checked, not a page as it was rendered: {foreign}" in ran.out
    assert foreign.read_text() == "My own notes.\n"
    assert holding(home.root, CANARY) == []
    assert home.search() == []
    with sqlite3.connect(home.root / "index.db") as db:
        left = [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("recallable", "rest", "tags", "versions")]  # fmt: skip
    db.close()
    assert left == [0, 0, 0, 0]
    names = sorted(path.name for path in (home.root / "memory").glob("*.md"))
    assert names == ["index.md", "notes.md", "user-preferences.md", "user-profile.md"]
    with MemoryFiles(home.root) as files:
        assert [one.entry_count for one in files.list_memories()] == [0, 0]


def test_the_row_of_what_was_superseded_is_marked(home: Home) -> None:
    # S3-210: still there, in the table that the default search does not read
    with MemoryFiles(home.root) as files:
        other = files.append("user-profile", "User works on a zeppelin.", ["work"])
        before = rows(home.root, other, "zeppelin")
        new = files.supersede("user-profile", other, "User works on a boat.", "it flew away")
    assert before == {"recallable": 1, "rest": 0, "superseded_by": None}
    assert rows(home.root, other, "zeppelin") == {
        "recallable": 0, "rest": 1, "superseded_by": new,
    }  # fmt: skip
    assert rows(home.root, new, "boat") == {"recallable": 1, "rest": 0, "superseded_by": None}
    assert "zeppelin" not in home.words("zeppelin")
    with MemoryFiles(home.root) as files:
        (hit,) = [hit for hit in files.search("zeppelin", include_superseded=True)
                  if hit.id == other]  # fmt: skip
    assert hit.superseded_by == new


def rows(root: Path, id: str, word: str) -> dict[str, object]:
    """How the index has an entry and a word that only that entry says."""
    with sqlite3.connect(root / "index.db") as db:
        found: dict[str, object] = {
            table: db.execute(
                f"SELECT count(*) FROM {table} WHERE {table} MATCH ?",
                [word],
            ).fetchone()[0]
            for table in ("recallable", "rest")
        }
        (found["superseded_by"],) = db.execute(
            "SELECT superseded_by FROM versions WHERE id = ? ORDER BY seq DESC", [id]
        ).fetchone()
    db.close()
    return found


def test_the_folder_of_the_seed_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # S3-173: ours is the default, as decision 41 says
    monkeypatch.setenv("HOME", str(tmp_path))
    with MemoryFiles("~/.openchronicle") as files:
        files.append("user-profile", "User goes by Kming.", ["identity"])
    folder = tmp_path / ".openchronicle" / "memory"
    assert "User goes by Kming." in (folder / "user-profile.md").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".openchronicle"]
