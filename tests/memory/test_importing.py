"""What an import does to a memory: once, without secrets, with at most an agent's trust."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import InvalidInput
from recollect.exchange.formats import FORMATS

GRAPH: list[dict[str, object]] = [
    {
        "type": "entity",
        "name": "Ada",
        "entityType": "person",
        "observations": ["Ada speaks Spanish", "Ada prefers morning meetings"],
    },
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
]
TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"


def graph(folder: Path, lines: Sequence[Mapping[str, object]]) -> Path:
    file = folder / "memory.json"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return file


def mem0(folder: Path, *memories: Mapping[str, object]) -> Path:
    file = folder / "mem0.json"
    file.write_text(json.dumps({"results": list(memories)}), "utf-8")
    return file


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path / "store")


def test_a_graph_is_imported_once(memory: Memory, tmp_path: Path) -> None:
    file = graph(tmp_path, GRAPH)
    done = memory.import_(file)
    assert (done.format, done.records, done.links, done.refused) == ("mcp-memory", 5, 1, 0)
    digest, position = memory.digest(), memory.position
    again = memory.import_(file, "mcp-memory")
    assert (again.kept, again.known, again.changed) == (0, 6, 0)
    assert (memory.digest(), memory.position) == (digest, position)
    assert memory.recall("where does Ada work?")[0].text == "Ada works at Acme"
    assert {record.trust for record in memory.list()} == {"agent"}


def test_an_import_is_one_append(memory: Memory, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": f"thing {number}", "observations": []} for number in range(300)
    ]
    memory.import_(graph(tmp_path, lines))
    ledger = (tmp_path / "store").rglob("events.wal")
    text = next(ledger).read_bytes()
    assert memory.status().records == 300
    assert text.count(b"\n") >= 301


def test_dates_users_and_sessions_stay(memory: Memory, tmp_path: Path) -> None:
    one = {
        "id": "7f4f2b1a-0000-4000-8000-000000000001",
        "memory": "Likes green tea",
        "user_id": "ada",
        "run_id": "chat-7",
        "agent_id": "barista",
        "categories": ["food"],
        "metadata": {"shop": "corner"},
        "created_at": "2024-05-01T10:00:00-07:00",
    }
    memory.import_(mem0(tmp_path, one))
    (record,) = memory.scoped(user="ada").list()
    assert (record.scope.user, record.scope.session, record.scope.agent) == (
        "ada",
        "chat-7",
        "barista",
    )
    assert record.said_at == "2024-05-01T17:00:00.000000Z"
    assert (record.tags, record.data["shop"]) == (("food",), "corner")
    assert not memory.scoped(user="bob").list()
    refused = memory.scoped(user="bob").import_(mem0(tmp_path, one | {"id": "x"}))
    assert refused.refused == 1
    assert "'ada'" in refused.problems[0].why


def test_what_changed_there_changes_here(memory: Memory, tmp_path: Path) -> None:
    memory.import_(mem0(tmp_path, {"id": "1", "memory": "Lives in Oslo", "user_id": None}))
    done = memory.import_(mem0(tmp_path, {"id": "1", "memory": "Lives in Rome", "user_id": None}))
    assert (done.changed, done.kept, done.known) == (1, 0, 0)
    assert [record.text for record in memory.list()] == ["Lives in Rome"]
    again = memory.import_(mem0(tmp_path, {"id": "1", "memory": "Lives in Rome", "user_id": None}))
    assert (again.changed, again.known) == (0, 1)


def test_what_was_corrected_here_stays(memory: Memory, tmp_path: Path) -> None:
    file = mem0(tmp_path, {"id": "1", "memory": "Lives in Oslo", "user_id": None})
    memory.import_(file)
    memory.revise("mem0-1", "Lives in Bergen")
    assert memory.import_(file).known == 1
    other = mem0(tmp_path, {"id": "1", "memory": "Lives in Rome", "user_id": None})
    done = memory.import_(other)
    assert (done.changed, done.refused) == (0, 1)  # a person's words
    assert memory.get("mem0-1").text == "Lives in Bergen"


def test_what_was_forgotten_or_erased_here_does_not_come_back(
    memory: Memory, tmp_path: Path
) -> None:
    both = [{"id": str(number), "memory": f"Fact {number}", "user_id": None} for number in (1, 2)]
    memory.import_(mem0(tmp_path, *both))
    memory.forget("mem0-1")
    memory.erase("mem0-2")
    for text in ("Fact", "Other fact"):
        later = [one | {"memory": f"{text} {one['id']}"} for one in both]
        done = memory.import_(mem0(tmp_path, *later))
        assert (done.kept, done.changed, done.known) == (0, 0, 2)
    assert memory.list() == []


def test_secrets_are_removed_before_anything_is_hashed(memory: Memory, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": "ci", "observations": [f"uses {TOKEN}", f"key {TOKEN}"]},
        {"type": "entity", "name": TOKEN, "observations": ["an odd name"]},
    ]
    done = memory.import_(graph(tmp_path, lines))
    assert done.redacted["github-token"] >= 2
    lone = mem0(
        tmp_path,
        {"id": TOKEN, "memory": "Odd", "user_id": None, "metadata": {"password": "hunter2hunter"}},
    )
    memory.import_(lone)
    memory.close()
    for file in (tmp_path / "store").rglob("*"):
        if file.is_file():
            assert TOKEN.encode() not in file.read_bytes()
            assert b"hunter2hunter" not in file.read_bytes()


def test_held_records_wait_for_a_review(memory: Memory, tmp_path: Path) -> None:
    done = memory.import_(graph(tmp_path, GRAPH), hold=True)
    assert done.held
    assert memory.list() == []
    assert {record.status for record in memory.list(include=["held"])} == {"held"}


def test_a_dry_run_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    file = graph(tmp_path, GRAPH)
    planned = memory.import_(file, dry_run=True)
    assert (planned.kept, planned.records) == (6, 5)
    memory.import_(file)
    position = memory.position
    changed: list[dict[str, object]] = [
        *GRAPH,
        {"type": "entity", "name": "Bo", "entityType": "", "observations": []},
    ]
    planned = memory.import_(graph(tmp_path, changed), dry_run=True)
    assert (planned.kept, planned.known, memory.position) == (1, 6, position)


def test_a_link_may_come_before_what_it_joins(memory: Memory, tmp_path: Path) -> None:
    done = memory.import_(graph(tmp_path, [GRAPH[2], GRAPH[0], GRAPH[1]]), "mcp-memory")
    assert (done.links, done.refused) == (1, 0)
    lost = {"type": "relation", "from": "Ada", "to": "Nowhere", "relationType": "likes"}
    done = memory.import_(graph(tmp_path, [lost]), "mcp-memory")
    assert (done.links, done.refused) == (0, 1)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"type":"entity","name":"x","observations":[' + b"1" * 10_000 + b"]}",
        b'{"type":"entity","name":NaN}',
        b'{"type":"entity","name":"\\ud800\\u0000\x1b[31m","observations":["\\udfff"]}',
        b"\xff\xfe\x00",
        b'{"type":"relation","from":{},"to":[],"relationType":1e999}',
    ],
)
def test_a_hostile_line_harms_nothing(line: bytes, memory: Memory, tmp_path: Path) -> None:
    good = json.dumps(GRAPH[0]).encode()
    file = tmp_path / "memory.json"
    file.write_bytes(b"\n".join([good, line, good, b""]))
    assert memory.import_(file).records >= 3
    for name in FORMATS:
        memory.import_(file, name, dry_run=True)
    file.write_bytes(b'{"results":[' + line + b"]}")
    assert memory.import_(file, "mem0").kept == 0


def test_no_link_of_a_folder_is_followed(memory: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    graph(outside, GRAPH)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "memory.json").symlink_to(outside / "memory.json")
    (folder / "more").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidInput, match="recognized"):
        memory.import_(folder)
    assert memory.import_(folder, "mcp-memory").kept == 0
    (folder / "own.json").write_bytes((outside / "memory.json").read_bytes())
    assert memory.import_(folder).records == 5


def test_members_of_an_archive_are_read_where_they_are(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.json", graph(tmp_path, GRAPH).read_text())
        archive.writestr("/bomb.json", b" " * 50_000_000)
    assert memory.import_(file, "mcp-memory").records == 5
    assert not (tmp_path.parent / "evil.json").exists()
    damaged = bytearray(file.read_bytes())
    damaged[60:90] = b"\xff" * 30
    file.write_bytes(damaged)
    with pytest.raises(InvalidInput):
        memory.import_(file, "mcp-memory")


def test_a_missing_file_and_an_unknown_format_are_named(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        memory.import_(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match="not a format"):
        memory.import_(tmp_path, "nothing")
