"""S3: the published suite, on every engine, at a path, and on files that it must find wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.pages import Contents, Entry, MemoryFiles
from tests.contract.conftest import memory
from tests.memory_suites.pages.memory_files import MemoryFilesSuite

__all__ = ["memory"]


class TestOverEveryEngine(MemoryFilesSuite):
    @pytest.fixture
    def memory(self, memory: Memory) -> Memory:
        return memory


class TestAtAPath(MemoryFilesSuite):
    @pytest.fixture
    def memory(self, files: MemoryFiles, tmp_path: Path) -> Iterator[Memory]:
        with Memory.open(tmp_path / "root") as memory:
            yield memory

    @pytest.fixture
    def files(self, tmp_path: Path) -> Iterator[MemoryFiles]:
        with MemoryFiles(tmp_path / "root") as files:
            yield files


class Naive:
    """Files as the original writes them: texts are replaced where they first stand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.advice: tuple[str, ...] = ()
        folder.mkdir()
        (folder / "user-profile.md").write_text("---\nentry_count: 0\n---\n")

    def create(self, path: str, description: str) -> None:
        (self.folder / f"{path}.md").write_text(f"---\ndescription: {description}\n---\n")

    def append(self, path: str, content: str, tags: list[str]) -> str:
        page = self.folder / f"{path}.md"
        id = f"20260420-1402-{len(page.read_text()):06x}"
        heading = f"## [2026-04-20T14:02:11] {{id: {id}}} {' '.join(f'#{tag}' for tag in tags)}"
        page.write_text(f"{page.read_text()}\n{heading}\n{content}\n")
        return id

    def supersede(self, path: str, old_id: str, new_content: str, reason: str) -> str:
        page = self.folder / f"{path}.md"
        (old,) = (one for one in self.read_memory(path).entries if one.id == old_id)
        page.write_text(page.read_text().replace(old.body, f"~~{old.body}~~", 1))
        new = self.append(path, new_content, ["x"])
        struck = f"{{id: {old_id}}} #x #superseded-by:{new}"
        page.write_text(page.read_text().replace(f"{{id: {old_id}}} #x", struck, 1))
        return new

    def read_memory(self, path: str, *, include_superseded: bool = False) -> Contents:
        _, *parts = (self.folder / f"{path}.md").read_text().split("\n## [")
        entries = [
            Entry(
                id=part[26:46],
                timestamp=part[:19],
                tags=(),
                body=part.partition("\n")[2].strip(),
                superseded_by=(re.findall(r"superseded-by:(\S+)", part) or [None])[0],
            )
            for part in parts
        ]
        return Contents(
            path=path, description="", tags=(), status="active", created="", updated="",
            entry_count=len(entries), needs_compact=False, entries=tuple(entries),
        )  # fmt: skip

    def rebuild_index(self) -> None:
        for page in self.folder.glob("*.md"):
            page.read_text()


@pytest.mark.parametrize(
    "name",
    [
        "test_only_the_named_entry_is_struck",
        "test_a_heading_in_a_body_is_not_an_entry",
        "test_one_broken_file_stops_nothing",
        "test_an_entry_has_one_to_three_tags",
        "test_a_file_is_created_once",
    ],
)
def test_the_suite_finds_what_the_original_gets_wrong(tmp_path: Path, name: str) -> None:
    files = Naive(tmp_path / "memory")
    with pytest.raises((AssertionError, pytest.fail.Exception, UnicodeDecodeError)):
        getattr(MemoryFilesSuite(), name)(files)


@pytest.mark.parametrize(
    "name", ["test_entries_are_only_appended", "test_the_same_words_twice_are_two_entries"]
)
def test_the_suite_takes_any_files(tmp_path: Path, name: str) -> None:
    """The control of the control: what they do right passes."""
    getattr(MemoryFilesSuite(), name)(Naive(tmp_path / "memory"))
