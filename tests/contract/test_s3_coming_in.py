"""S3: files that were written elsewhere, and a folder whose ledger is lost."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from recollect import ConfigError, Memory
from recollect.contracts.pages import MemoryFiles
from tests.contract.quickstart_s3 import FILE, as_written

DERIVED = ("updated", "position", "[Index]")


def kept(page: str) -> list[str]:
    """The lines of a file, without those that every rendering makes."""
    return [line for line in page.splitlines() if line and not line.startswith(DERIVED)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of OpenChronicle, with the file that its documentation prints."""
    folder = tmp_path / ".openchronicle" / "memory"
    folder.mkdir(parents=True)
    (folder / "user-profile.md").write_text(FILE)
    return folder.parent


def test_the_printed_file_comes_in_as_it_stands(root: Path) -> None:
    # S3-177 S3-178 S3-179 S3-195 S3-201 S3-208 S3-209 S3-221
    page = root / "memory" / "user-profile.md"
    with MemoryFiles(root, trust="person") as files:
        assert files.advice == ("user-profile.md says more than the memory: call rebuild_index",)
        assert page.read_text() == FILE  # opening overwrites nothing
        done = files.rebuild_index(unknown="adopt")
        assert (done.entries, done.problems) == (3, ())
        assert kept(page.read_text()) == kept(as_written(FILE))
        assert files.search("Acme")[0].id == "20260421-0915-c4f1a5"
        assert [one.path for one in files.list_memories()] == [
            "user-preferences.md", "user-profile.md",
        ]  # fmt: skip
        chain = files.read_memory("user-profile", tags=["work"], include_superseded=True).entries
        assert [(one.id, one.superseded_by) for one in chain] == [
            ("20260420-1630-3f0e99", "20260421-0915-c4f1a5"),
            ("20260421-0915-c4f1a5", None),
        ]
        again = page.read_text()
        assert files.rebuild_index(unknown="adopt").applied == 0  # asked twice
        assert page.read_text() == again


def test_a_program_is_told_what_a_person_can_do(root: Path) -> None:
    # S3-179 S3-221: an agent takes nothing in, and each entry and the way on are named
    with MemoryFiles(root) as files:
        *entries, way_on = files.rebuild_index().problems
        assert [one.partition(": ")[2] for one in entries] == [
            f"{id} is not in this memory: erased, or never there"
            for id in ("20260420-1402-a1b23c", "20260420-1630-3f0e99", "20260421-0915-c4f1a5")
        ]
        assert "not in this memory: 3 entries." in way_on
        assert "`recollect admin rebuild-index --unknown adopt`" in way_on
        assert files.search("Acme") == []
        assert (root / "memory" / "user-profile.md").read_text() == FILE


def test_an_index_of_the_original_is_left_alone(root: Path) -> None:
    with sqlite3.connect(root / "index.db") as db:
        db.execute("CREATE TABLE captures (text)")
    db.close()
    before = (root / "index.db").read_bytes()
    with pytest.raises(ConfigError, match="belongs to another program"):
        MemoryFiles(root)
    assert (root / "index.db").read_bytes() == before
    with Memory.open(root.parent / "mine") as memory:
        assert memory.admin.import_(root / "memory").records == 3


def test_a_folder_without_its_ledger_is_a_memory_again(tmp_path: Path) -> None:
    # S3-178 S3-179 S3-222: files, entries and index from the Markdown alone
    root = tmp_path / "root"
    with MemoryFiles(root) as files:
        files.create("project-apollo", "The guidance computer", ["space"])
        files.append("project-apollo", "The build runs make.", ["build"])
        old = files.append("user-profile", "User works at Old Corp.", ["work"])
        files.supersede("user-profile", old, "User joined Acme Corp.", "a new job")
        struck = files.folder / "project-apollo.md"
        struck.write_text(
            struck.read_text().replace("The build runs make.", "~~The build runs make.~~")
        )
        files.rebuild_index()
        before = {path.name: kept(path.read_text()) for path in files.folder.glob("*-*.md")}
    for path in root.iterdir():
        if path.name != "memory":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with MemoryFiles(root, trust="person") as files:
        done = files.rebuild_index(unknown="adopt")
        assert (done.files, done.entries, done.problems) == (3, 3, ())
        after = {path.name: kept(path.read_text()) for path in files.folder.glob("*-*.md")}
        for empty in (before, after):  # nothing tells that this one was there before the memory
            del empty["user-preferences.md"]
        assert after == before
        assert [hit.body for hit in files.search("Acme")] == ["User joined Acme Corp."]
        assert files.search("make") == []


def test_a_deleted_file_is_named_before_it_is_written_again(tmp_path: Path) -> None:
    # S3-175 S3-221: never forgotten silently
    with MemoryFiles(tmp_path) as files:
        files.create("tool-make", "Builds")
        id = files.append("tool-make", "Make reads a Makefile.", ["build"])
        (files.folder / "tool-make.md").unlink()
        files.append("user-profile", "User builds with make.", ["build"])
        assert files.advice == (
            "tool-make.md was deleted, and is written again: "
            "strike its entries through (~~), or forget them",
        )
        (files.folder / "tool-make.md").unlink()
        (problem,) = files.rebuild_index().problems
        assert problem.startswith("tool-make.md: the file was deleted, with 1 entry;")
        assert id in problem
        assert files.read_memory("tool-make").entry_count == 1
        files.create("tool-git", "Versions")
        (files.folder / "tool-git.md").unlink()
        (problem,) = files.rebuild_index().problems
        assert "because the page is described" in problem
