"""Importing again: what changed there comes here, and what was changed here stays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from recollect import Memory
from recollect.model.values import Imported, Record


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "store", embedder="none")


def imported(memory: Memory, folder: Path, text: str, *tags: str, **metadata: int) -> Imported:
    """Imports one memory; a dry run must say the same before."""
    given = {"id": "1", "memory": text, "categories": tags, "metadata": metadata}
    file = folder / "mem0.json"
    file.write_text(json.dumps([given]), "utf-8")
    told = memory.admin.import_(file, "mem0", dry_run=True)
    done = memory.admin.import_(file, "mem0")
    assert [told.kept, told.changed, told.known, told.refused] == counts(done)
    return done


def counts(done: Imported) -> list[int]:
    return [done.kept, done.changed, done.known, done.refused]


def only(memory: Memory) -> Record:
    (record,) = memory.list()
    return record


def test_a_text_that_goes_back_there_goes_back_here(memory: Memory, tmp_path: Path) -> None:
    for text, expected in (("A", [1, 0, 0, 0]), *[(text, [0, 1, 0, 0]) for text in "BAB"]):
        assert counts(imported(memory, tmp_path, f"Tea {text}")) == expected
        assert only(memory).text == f"Tea {text}"
    assert counts(imported(memory, tmp_path, "Tea B")) == [0, 0, 1, 0]


def test_tags_that_were_added_here_stay(memory: Memory, tmp_path: Path) -> None:
    imported(memory, tmp_path, "Tea is green", "drinks", "warm")
    memory.revise(only(memory).id, tags=["mine"])
    for text in ("Tea is black", "Tea is white"):
        imported(memory, tmp_path, text, "drinks", "new")
        assert (only(memory).text, set(only(memory).tags)) == (text, {"drinks", "mine", "new"})


def test_what_was_corrected_here_stays_through_any_number_of_imports(
    memory: Memory, tmp_path: Path
) -> None:
    imported(memory, tmp_path, "Tea is green", "a", n=1)
    memory.revise(only(memory).id, "Tea is brown", data={"n": 7})
    assert counts(imported(memory, tmp_path, "Tea is green", "a", n=1)) == [0, 0, 1, 0]
    for tag in "bc":
        done = imported(memory, tmp_path, "Tea is green", tag, n=2)
        assert counts(done) == [0, 0, 0, 1]
        assert "a person has changed" in done.problems[0].why
        assert (only(memory).text, only(memory).data) == ("Tea is brown", {"n": 7})
        assert only(memory).tags == ("a",)
    done = imported(memory, tmp_path, "Tea is black", "c", n=2)
    assert counts(done) == [0, 0, 0, 1]
    assert "changed both there and here" in done.problems[0].why
    assert only(memory).text == "Tea is brown"


def test_what_ends_there_is_archived_here(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "requirements.json"
    for status, expected in (
        ("active", [1, 0, 0, 0]),
        ("deprecated", [0, 1, 0, 0]),
        ("deprecated", [0, 0, 1, 0]),
    ):
        given = [{"id": "R1", "title": "It must fly", "status": status}]
        file.write_text(json.dumps(given), "utf-8")
        assert counts(memory.admin.import_(file)) == expected
    assert memory.list() == []
    assert [record.status for record in memory.list(include=["archived"])] == ["archived"]


def test_what_is_held_is_not_ended(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "requirements.json"
    for status in ("active", "deprecated"):
        given = [{"id": "R1", "title": "It must fly", "status": status}]
        file.write_text(json.dumps(given), "utf-8")
        memory.admin.import_(file, hold=True)
    assert [record.status for record in memory.list(include=["waiting"])] == ["waiting"]


def test_a_record_that_no_import_brought_is_not_changed(memory: Memory, tmp_path: Path) -> None:
    agent = memory.scoped(trust="agent")
    agent.remember("Tea is mine", id="mem0-1", tags=["here"])
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"id": "1", "memory": "Tea is green"}]), "utf-8")
    assert counts(memory.admin.import_(file, "mem0")) == [0, 0, 0, 1]
    assert (only(memory).text, only(memory).tags) == ("Tea is mine", ("here",))


def test_a_copy_that_did_not_change_is_no_conflict(memory: Memory, tmp_path: Path) -> None:
    """Two laptops with one ledger: what was changed here only, and what was changed there only."""
    for id in ("mine", "theirs", "both"):
        memory.remember(f"{id} is as it was", id=id)
    memory.close()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with Memory.open(tmp_path / "copy", embedder="none") as copy:
        copy.revise("theirs", "theirs changed")
        copy.revise("both", "both changed there")
        copy.admin.export("ndjson", tmp_path / "out.ndjson")
    with Memory.open(tmp_path / "store", embedder="none") as here:
        here.revise("mine", "mine changed")
        here.revise("both", "both changed here")
        done = here.admin.import_(tmp_path / "out.ndjson")
        whys = [problem.why for problem in done.problems]
        assert {why.partition(" ")[0] for why in whys} == {"theirs", "both"}
        assert all("has another text there" in why for why in whys)
        assert here.get("mine").text == "mine changed"
