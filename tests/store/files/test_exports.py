"""Exports inside of a workspace: an erasure removes those that may show what is erased."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.memory.exchange.exports import FORMATS
from recollect.memory.store import Store
from recollect.store.disk.layout import is_own

WORD = "zebraquagga71"


def with_word(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(one.relative_to(folder)) for one in files if WORD.encode() in one.read_bytes()]


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_in_the_workspace_goes_with_what_it_shows(tmp_path: Path, format: str) -> None:
    where = tmp_path / "w"
    with Memory.open(where) as memory:
        memory.remember("Of everybody")
        memory.admin.export(format, where / "early")
        record = memory.remember(f"About {WORD}", key="it")
        memory.admin.export(format, where / "deep.export")
        memory.admin.export(format, tmp_path / "outside")
        done = memory.erase(record.id)
        assert "deep.export: removed; export it again" in done.places
        assert with_word(where) == []
        assert (where / "early").exists()  # made before there was anything to erase
        assert with_word(tmp_path) != []  # what lies elsewhere is not reached
        memory.admin.export(format, where / "deep.export")


def test_an_export_that_was_stopped_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path) as memory:
        record = memory.remember(f"About {WORD}")
        (tmp_path / "folder").mkdir()
        with monkeypatch.context() as patch:
            patch.setattr(type(memory._handle.seam), "replace", full_disk)
            patch.setattr(type(memory._handle.seam), "link", full_disk)
            for name in ("unlink", "rmdir"):  # a process that is stopped removes nothing either
                patch.setattr(type(memory._handle.seam), name, lambda *_: None)
            for format in ("ndjson", "pages"):
                with pytest.raises(InvalidInput):
                    memory.admin.export(format, tmp_path / "folder" / format)
        assert {name for name in with_word(tmp_path) if name.startswith("folder")} != set()
        memory.erase(record.id)
        assert with_word(tmp_path) == []


def full_disk(self: object, source: Path, target: Path) -> None:
    if target.name != "exports.json":
        raise OSError(28, "no space left")
    source.rename(target)


def test_a_list_from_elsewhere_removes_nothing_else(tmp_path: Path) -> None:
    where = tmp_path / "w"
    with Memory.open(where) as memory:
        record = memory.remember(f"About {WORD}")
        memory.remember("It stays")
        memory.admin.backup()
        (tmp_path / "precious").write_text("precious")
        (where / "link").symlink_to(tmp_path)
        names = ("events.wal", "backup", "../precious", "link/precious", "", "..", "sealed/x.wal")
        notes = [{"path": name, "seq": 99} for name in (*names, str(tmp_path / "precious"))]
        (where / "exports.json").write_bytes(msgspec.json.encode(notes))
        told = memory.erase(record.id).places
        assert len([line for line in told if "not an export" in line]) == len(notes)
        assert (tmp_path / "precious").exists()
        assert [one.text for one in memory.list()] == ["It stays"]
        assert memory.admin.verify(deep=True).ok
    with Memory.open(where) as memory:
        (where / "exports.json").write_text("{")
        record = memory.remember("Once more")
        (line,) = [one for one in memory.erase(record.id).places if "exports.json" in one]
        assert line.startswith("NOT removed, the list of exports cannot be read")
        with pytest.raises(InvalidInput, match=r"exports\.json cannot be read"):
            memory.admin.export("json", where / "more.json")
        memory.admin.export("json", tmp_path / "more.json")


def edited(path: Path) -> None:
    path.write_text(f"{path.read_text()} and my own words")


def replaced(path: Path) -> None:
    path.unlink()
    path.write_text("my own file")


def linked(path: Path) -> None:
    path.rename(path.with_name("kept.jsonl"))
    path.symlink_to("kept.jsonl")


@pytest.mark.parametrize("alter", [edited, replaced, linked])
def test_an_export_that_was_changed_stays_and_is_named(
    tmp_path: Path, alter: Callable[[Path], None]
) -> None:
    with Memory.open(tmp_path) as memory:
        first, second = (memory.remember(f"{n} {WORD}") for n in ("one", "two"))
        memory.admin.export("ndjson", tmp_path / "all.jsonl")
        alter(tmp_path / "all.jsonl")
        for record in (first, second):
            told = memory.erase(record.id).places
            named = f"NOT removed, changed since it was exported: {tmp_path / 'all.jsonl'}"
            assert named in told
            assert (tmp_path / "all.jsonl").read_text()


def test_own_files_in_an_exported_folder_stay_and_are_named(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        record = memory.remember(f"About {WORD}", about="Ada")
        memory.admin.export("pages", tmp_path / "site")
        for name in ("mine.md", "deep/mine.md"):
            (tmp_path / "site" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "site" / name).write_text("my own notes")
        told = memory.erase(record.id).places
        for name in ("mine.md", "deep/mine.md"):
            path = tmp_path / "site" / name
            assert path.read_text() == "my own notes"
            assert f"NOT removed, changed since it was exported: {path}" in told
        assert with_word(tmp_path) == []


def test_a_list_that_was_copied_or_written_by_hand_removes_no_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "one") as memory:
        memory.remember("Another")
        memory.admin.export("ndjson", tmp_path / "one" / "diary.txt")
    with Memory.open(tmp_path / "two") as memory:
        record, later = memory.remember(f"About {WORD}"), memory.remember("Later")
        diary, listed = tmp_path / "two" / "diary.txt", tmp_path / "two" / "exports.json"
        diary.write_text("my diary")
        listed.write_bytes((tmp_path / "one" / "exports.json").read_bytes())
        memory.erase(record.id)
        assert diary.read_text() == "my diary"
        listed.write_text('[{"path": "diary.txt", "seq": 999, "token": "../diary.txt"}]')
        told = memory.erase(later.id).places
        assert f"NOT removed, listed without its digests: {diary}" in told
        assert diary.read_text() == "my diary"


def test_a_dropped_space_takes_its_exports_along(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.space("main").remember("Another")
        team = store.space("Team")
        team.remember(f"About {WORD}")
        team.admin.export("json", tmp_path / "team.json")
        store.drop("Team")
    assert with_word(tmp_path) == []
    assert not list(tmp_path.rglob("exports.json"))


@pytest.mark.parametrize(
    ("path", "is_ours"),
    [
        ("events.wal", True),
        ("events.wal.3-1.torn", True),
        ("index.db-wal", True),
        ("exports.json", True),
        ("sealed", True),
        ("sealed/0-1.wal", True),
        ("spaces", True),
        ("spaces/team", True),
        ("spaces/team/index.db", True),
        ("spaces/team/pages/a.md", True),
        ("spaces/team/export.json", False),
        ("export.json", False),
        ("exports/monday/records.ndjson", False),
    ],
)
def test_the_files_of_a_memory_are_not_exports(tmp_path: Path, path: str, is_ours: bool) -> None:
    assert is_own(tmp_path, tmp_path / path) is is_ours
