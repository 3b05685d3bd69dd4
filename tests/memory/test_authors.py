"""Who acted, in files and in memory; what a hostile name or a forged event can do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recollect.errors import InvalidInput
from recollect.memory import Memory
from tests.memory_suites.trust.authors import AuthorSuite, mara, named

__all__ = ["mara"]


class TestFiles(AuthorSuite):
    @pytest.mark.usefixtures("mara")
    def test_no_byte_of_an_erased_name_stays(self, place: str) -> None:
        with Memory.open(place, embedder="none") as memory:
            memory.remember("Tea is at four.")
            assert files_with(place, b"Mara")  # the control
            memory.erase(author="Mara")
        assert files_with(place, b"Mara") == []

    @pytest.mark.usefixtures("mara")
    def test_names_go_with_a_copy_of_the_ledger(self, place: str, tmp_path: Path) -> None:
        copy = str(tmp_path / "copy")
        with Memory.open(place, embedder="none") as memory:
            tea = memory.remember("Tea is at four.")
            before = memory.history(tea.id)[0].author
        shutil.copytree(place, copy)
        with Memory.open(copy, embedder="none") as memory:
            assert memory.history(tea.id)[0].author == before


def files_with(place: str, words: bytes) -> list[Path]:
    """The files of a store that hold these bytes."""
    files = (file for file in Path(place).rglob("*") if file.is_file())
    return [file for file in files if words in file.read_bytes()]


@pytest.mark.parametrize(
    "name",
    [
        "Ma\x1b[31mra",
        "Mara\nperson: approved",
        "x" * 201,
        "\ud800",
        "Ma\u202era",
        "person",
        "Agent planner",
        "(name erased)",
        "\u3164",
    ],
)
def test_a_name_that_no_person_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("recollect.config.os.environ", {"RECOLLECT_NAME": name})
    with pytest.raises(InvalidInput, match="name"):
        Memory.open(tmp_path, embedder="none")


def test_a_dash_in_the_variable_names_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.config.os.environ", {"RECOLLECT_NAME": "-"})
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.remember("Tea is at four.")
        assert named(memory) == []


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"x" * 5_000])
def test_a_file_that_holds_no_name_names_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.delenv("RECOLLECT_NAME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".recollect").mkdir()
    (tmp_path / ".recollect" / "name").write_bytes(content)
    with Memory.open(tmp_path / "w", embedder="none") as memory:
        memory.remember("Tea is at four.")
        assert named(memory) == []
