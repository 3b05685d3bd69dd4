"""What an export writes: everything that the handle sees at one position, and nothing erased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import Conflict, InvalidInput
from recollect.memory.exporting import FORMATS


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path / "store")
    memory.remember("Ada works at Acme", about="Ada", id="r-1", tags=["work"], data={"n": 1})
    memory.remember("Acme makes anvils", about="Acme", id="r-2")
    memory.remember("Left out of what holds", id="r-3")
    memory.link("r-1", "r-2", "works_at")
    memory.forget("r-3")
    memory.observe("Hello there", id="e-1")
    memory.documents.set("profile", "mine", {"a": 1})
    return memory


def lines(file: Path) -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_lines_and_the_document_say_the_same(memory: Memory, tmp_path: Path) -> None:
    done = memory.export("ndjson", tmp_path / "out.ndjson")
    assert (done.records, done.episodes, done.links) == (3, 1, 1)
    assert done.size_bytes == (tmp_path / "out.ndjson").stat().st_size
    memory.export("json", tmp_path / "out.json")
    whole = json.loads((tmp_path / "out.json").read_text("utf-8"))
    head, *rest = lines(tmp_path / "out.ndjson")
    assert head["export"]["position"] == whole["position"] == memory.position
    for part in ("records", "episodes", "links", "frames", "documents"):
        assert whole[part] == [one[part[:-1]] for one in rest if part[:-1] in one]
    statuses = {one["id"]: one["status"] for one in whole["records"]}
    assert statuses == {"r-1": "active", "r-2": "active", "r-3": "forgotten"}


def test_the_same_state_gives_the_same_bytes(memory: Memory, tmp_path: Path) -> None:
    for format in FORMATS:
        made = [tmp_path / f"{number}.{format}" for number in range(2)]
        for file in made:
            memory.export(format, file)
        assert made[0].read_bytes() == made[1].read_bytes()


def test_a_past_position_can_be_exported(memory: Memory, tmp_path: Path) -> None:
    before = memory.position
    memory.export("json", tmp_path / "now.json")
    memory.revise("r-1", "Ada works at Globex")
    memory.at(before).export("json", tmp_path / "then.json")
    assert (tmp_path / "now.json").read_bytes() == (tmp_path / "then.json").read_bytes()


def test_what_was_erased_is_in_no_export(memory: Memory, tmp_path: Path) -> None:
    before = memory.position
    memory.erase("r-2")
    for format in FORMATS:
        for name, handle in (("now", memory), ("then", memory.at(before))):
            handle.export(format, tmp_path / f"{name}.{format}")
            assert "anvils" not in (tmp_path / f"{name}.{format}").read_text("utf-8")


@pytest.mark.parametrize("format", ["mem0", "mcp-memory"])
def test_other_programs_formats_come_back(format: str, memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    memory.export(format, file)
    other = Memory.open(tmp_path / "other")
    done = other.import_(file)
    assert (done.format, done.refused) == (format, 0)
    texts = {record.text for record in other.list()}
    assert {"Ada works at Acme", "Acme makes anvils"} <= texts
    assert "Left out of what holds" not in texts


def test_a_user_exports_only_what_is_theirs(memory: Memory, tmp_path: Path) -> None:
    memory.scoped(user="ada").remember("Mine alone")
    memory.scoped(user="bob").remember("Not hers")
    memory.scoped(user="ada").export("ndjson", tmp_path / "ada")
    head, *rest = lines(tmp_path / "ada")
    assert "export" in head
    assert [one["record"]["text"] for one in rest] == ["Mine alone"]


def test_nothing_is_overwritten_and_unknown_formats_are_named(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("mine", "utf-8")
    with pytest.raises(Conflict, match="exists already"):
        memory.export("json", tmp_path / "there")
    assert (tmp_path / "there").read_text("utf-8") == "mine"
    with pytest.raises(InvalidInput, match="format of export"):
        memory.export("xml", tmp_path / "new")
    with pytest.raises(InvalidInput, match="could not be written"):
        memory.export("json", tmp_path / "no folder" / "new")
