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
from recollect.memory.handle.handle import Handle
from recollect.model.presets import BUILT_IN
from recollect.store.files.backend import FileBackend
from tests.suites.histories import Clockwork

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
    done = memory.admin.import_(file)
    assert (done.format, done.records, done.links, done.refused) == ("mcp-memory", 5, 1, 0)
    digest, position = memory.admin.digest(), memory.events.position
    again = memory.admin.import_(file, "mcp-memory")
    assert (again.kept, again.known, again.changed) == (0, 6, 0)
    assert (memory.admin.digest(), memory.events.position) == (digest, position)
    assert memory.recall("where does Ada work?")[0].text == "Ada works at Acme"
    assert {record.trust for record in memory.list()} == {"agent"}


def test_an_import_is_one_append(memory: Memory, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": f"thing {number}", "observations": []} for number in range(300)
    ]
    memory.admin.import_(graph(tmp_path, lines))
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
    memory.admin.import_(mem0(tmp_path, one))
    (record,) = memory.scoped(user="ada").list()
    assert (record.scope.user, record.scope.session, record.scope.agent) == (
        "ada",
        "chat-7",
        "barista",
    )
    assert record.said_at == "2024-05-01T17:00:00.000000Z"
    assert (record.tags, record.data["shop"]) == (("food",), "corner")
    assert not memory.scoped(user="bob").list()
    refused = memory.scoped(user="bob").admin.import_(mem0(tmp_path, one | {"id": "x"}))
    assert refused.refused == 1
    assert "'ada'" in refused.problems[0].why


def test_what_changed_there_changes_here(memory: Memory, tmp_path: Path) -> None:
    memory.admin.import_(mem0(tmp_path, {"id": "1", "memory": "Lives in Oslo", "user_id": None}))
    done = memory.admin.import_(
        mem0(tmp_path, {"id": "1", "memory": "Lives in Rome", "user_id": None})
    )
    assert (done.changed, done.kept, done.known) == (1, 0, 0)
    assert [record.text for record in memory.list()] == ["Lives in Rome"]
    again = memory.admin.import_(
        mem0(tmp_path, {"id": "1", "memory": "Lives in Rome", "user_id": None})
    )
    assert (again.changed, again.known) == (0, 1)


def test_what_was_corrected_here_stays(memory: Memory, tmp_path: Path) -> None:
    file = mem0(tmp_path, {"id": "1", "memory": "Lives in Oslo", "user_id": None})
    memory.admin.import_(file)
    memory.revise("mem0-1", "Lives in Bergen")
    assert memory.admin.import_(file).known == 1
    other = mem0(tmp_path, {"id": "1", "memory": "Lives in Rome", "user_id": None})
    done = memory.admin.import_(other)
    assert (done.changed, done.refused) == (0, 1)  # a person's words
    assert memory.get("mem0-1").text == "Lives in Bergen"


def test_what_was_forgotten_or_erased_here_does_not_come_back(
    memory: Memory, tmp_path: Path
) -> None:
    both = [{"id": str(number), "memory": f"Fact {number}", "user_id": None} for number in (1, 2)]
    memory.admin.import_(mem0(tmp_path, *both))
    memory.forget("mem0-1")
    memory.erase("mem0-2")
    for text in ("Fact", "Other fact"):
        later = [one | {"memory": f"{text} {one['id']}"} for one in both]
        done = memory.admin.import_(mem0(tmp_path, *later))
        assert (done.kept, done.changed, done.known) == (0, 0, 2)
    assert memory.list() == []


def test_a_conflict_that_is_not_about_the_item_is_reported(tmp_path: Path) -> None:
    """A store whose clock is far ahead writes nothing, and so nothing is known."""
    file = graph(tmp_path, GRAPH)
    for start_us in (1_000_000_000_000_000, 1_790_000_000_000_000):
        seam = Clockwork(0, start_us)
        backend = FileBackend(tmp_path / "store", seam=seam)
        memory = Memory(Handle(backend.space("main", create=True), seam))
        if start_us < 1_790_000_000_000_000:
            memory.remember("Long ago")
        else:
            done = memory.admin.import_(file)
            assert (done.kept, done.known, done.refused) == (0, 0, 6)
            assert "the clock says" in done.problems[0].why
        backend.close()


def test_an_id_that_means_something_else_here_is_reported(memory: Memory, tmp_path: Path) -> None:
    (said,) = memory.observe("Ours", role="user", id="mem0-1")
    done = memory.admin.import_(mem0(tmp_path, {"id": "1", "memory": "Theirs", "user_id": None}))
    assert (done.kept, done.known, done.refused) == (0, 0, 1)
    assert memory.get(said.id).text == "Ours"


def test_secrets_are_removed_before_anything_is_hashed(memory: Memory, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": "ci", "observations": [f"uses {TOKEN}", f"key {TOKEN}"]},
        {"type": "entity", "name": TOKEN, "observations": ["an odd name"]},
    ]
    done = memory.admin.import_(graph(tmp_path, lines))
    assert done.redacted["github-token"] >= 2
    lone = mem0(
        tmp_path,
        {"id": TOKEN, "memory": "Odd", "user_id": None, "metadata": {"password": "hunter2hunter"}},
    )
    memory.admin.import_(lone)
    memory.close()
    for file in (tmp_path / "store").rglob("*"):
        if file.is_file():
            assert TOKEN.encode() not in file.read_bytes()
            assert b"hunter2hunter" not in file.read_bytes()


def test_held_records_wait_for_a_review(memory: Memory, tmp_path: Path) -> None:
    done = memory.admin.import_(graph(tmp_path, GRAPH), hold=True)
    assert done.waiting
    assert memory.list() == []
    assert {record.status for record in memory.list(include=["waiting"])} == {"waiting"}


def test_a_dry_run_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    file = graph(tmp_path, GRAPH)
    planned = memory.admin.import_(file, dry_run=True)
    assert (planned.kept, planned.records) == (6, 5)
    memory.admin.import_(file)
    position = memory.events.position
    changed: list[dict[str, object]] = [
        *GRAPH,
        {"type": "entity", "name": "Bo", "entityType": "", "observations": []},
    ]
    planned = memory.admin.import_(graph(tmp_path, changed), dry_run=True)
    assert (planned.kept, planned.known, memory.events.position) == (1, 6, position)


def test_a_link_may_come_before_what_it_joins(memory: Memory, tmp_path: Path) -> None:
    done = memory.admin.import_(graph(tmp_path, [GRAPH[2], GRAPH[0], GRAPH[1]]), "mcp-memory")
    assert (done.links, done.refused) == (1, 0)
    lost = {"type": "relation", "from": "Ada", "to": "Nowhere", "relationType": "likes"}
    done = memory.admin.import_(graph(tmp_path, [lost]), "mcp-memory")
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
    assert memory.admin.import_(file).records >= 3
    for name in FORMATS:
        memory.admin.import_(file, name, dry_run=True)
    file.write_bytes(b'{"results":[' + line + b"]}")
    assert memory.admin.import_(file, "mem0").kept == 0


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
        memory.admin.import_(folder)
    assert memory.admin.import_(folder, "mcp-memory").kept == 0
    (folder / "own.json").write_bytes((outside / "memory.json").read_bytes())
    assert memory.admin.import_(folder).records == 5


def test_members_of_an_archive_are_read_where_they_are(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.json", graph(tmp_path, GRAPH).read_text())
        archive.writestr("/bomb.json", b" " * 50_000_000)
    assert memory.admin.import_(file, "mcp-memory").records == 5
    assert not (tmp_path.parent / "evil.json").exists()
    damaged = bytearray(file.read_bytes())
    damaged[60:90] = b"\xff" * 30
    file.write_bytes(damaged)
    with pytest.raises(InvalidInput):
        memory.admin.import_(file, "mcp-memory")


def test_a_missing_file_and_an_unknown_format_are_named(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        memory.admin.import_(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match="not a format"):
        memory.admin.import_(tmp_path, "nothing")


# Our own exports.


def own(folder: Path, *lines: Mapping[str, object]) -> Path:
    file = folder / "own.ndjson"
    head = {"export": {"format": "recollect", "position": 1, "space": "main", "version": 1}}
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (head, *lines)), "utf-8")
    return file


def test_a_memory_imports_its_own_export_and_nothing_changes(
    memory: Memory, tmp_path: Path
) -> None:
    (said,) = memory.observe("I live in Oslo", role="user")
    record = memory.remember("Lives in Oslo", key="home", evidence=[said.id])
    memory.revise(record.id, "Lives in Bergen")
    memory.settings.presets.set({"name": "mine", "weights": BUILT_IN["task"].to_dict()["weights"]})
    memory.settings.documents.set("profile", "mine", {"a": 1})
    memory.admin.export("json", tmp_path / "all.json")
    digest = memory.admin.digest()
    done = memory.admin.import_(tmp_path / "all.json")
    assert (done.kept, done.changed, done.refused) == (0, 0, 0)
    assert memory.admin.digest() == digest
    memory.settings.documents.set("profile", "mine", {"a": 2})
    done = memory.admin.import_(tmp_path / "all.json")
    assert (done.kept, done.problems[0].why) == (0, "profile/mine says something else here")
    assert memory.settings.documents.get("profile", "mine").data == {"a": 2}


@pytest.mark.parametrize("status", ["hidden", "forgotten"])
def test_a_forged_export_hides_nothing_that_was_here(
    status: str, memory: Memory, tmp_path: Path
) -> None:
    """A file may name any id; it decides only about what it brought."""
    agent = memory.scoped(trust="agent")
    (said,) = agent.observe("Mine", role="assistant", id="e-mine")
    forged = {"role": "assistant", "trust": "agent", "status": status, "said_at": said.said_at}
    lines = [{"episode": forged | {"id": id, "text": "Mine"}} for id in ("e-mine", "e-theirs")]
    memory.admin.import_(own(tmp_path, *lines))
    assert memory.get("e-mine").status == "visible"
    assert [one.id for one in memory.sessions.episodes()] == ["e-mine"]
    memory.undo("e-theirs")
    assert memory.admin.import_(own(tmp_path, *lines)).known == 2
    assert memory.get("e-theirs").status == "visible"


def test_an_export_brings_no_more_than_an_agents_trust(memory: Memory, tmp_path: Path) -> None:
    memory.remember("The gate is green", key="gate", id="r-gate")
    plain = {"trust": "person", "status": "active"}
    red = plain | {"id": "r-red", "text": "The gate is red", "key": "gate", "replaces": "r-gate"}
    policy = {"type": "policy", "name": "agents", "data": {"add": "at_once"}}
    done = memory.admin.import_(own(tmp_path, {"record": red}, {"document": policy}))
    assert (done.records, done.refused) == (1, 1)
    assert memory.get("gate").text == "The gate is green"
    (held,) = memory.list(filter="status = 'waiting'", include=["waiting"])
    assert (held.id, held.trust) == ("r-red", "agent")
    held_all = Memory.open(tmp_path / "held")
    done = held_all.admin.import_(own(tmp_path, {"record": red | {"trust": "agent"}}), hold=True)
    assert held_all.list() == []
    assert held_all.get("r-red").trust == "unverified"


def test_a_dry_run_of_our_own_export_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.settings.documents.set("rules", "mail", {"every": 5})
    memory.remember("One", id="r-1")
    memory.admin.export("ndjson", tmp_path / "all")
    other = Memory.open(tmp_path / "other")
    planned = other.admin.import_(tmp_path / "all", dry_run=True)
    assert (planned.kept, planned.records, planned.refused) == (2, 1, 0)
    assert not (tmp_path / "other").exists() or other.status().records == 0


def test_what_an_export_cannot_say_is_refused(memory: Memory, tmp_path: Path) -> None:
    plain = {"text": "x", "trust": "agent", "status": "active"}
    lines: list[Mapping[str, object]] = [
        {"record": plain | {"id": "a b"}},
        {"record": plain | {"id": "r-1", "expires": "soon"}},
        {"record": plain | {"id": "r-2", "replaced_by": "x y"}},
        {"preset": {"name": "odd", "weights": {}}},
        {"document": {"type": "a/b", "name": " ", "data": {}}},
        {"link": {"source": "r-8", "target": "r-9", "kind": "k", "trust": "agent"}},
    ]
    done = memory.admin.import_(own(tmp_path, *lines))
    assert (done.kept, done.refused) == (0, 6)


def test_an_expiry_that_has_passed_comes_in(memory: Memory, tmp_path: Path) -> None:
    past = {"id": "r-1", "text": "x", "trust": "agent", "status": "active"}
    memory.admin.import_(own(tmp_path, {"record": past | {"expires": "2020-01-01T00:00:00Z"}}))
    assert memory.list() == []
    assert [one.id for one in memory.list(include=["expired"])] == ["r-1"]


def test_a_later_export_supersedes_here_what_it_superseded_there(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember("Lives in Oslo", key="home")
    memory.admin.export("json", tmp_path / "first.json")
    memory.remember("Lives in Rome", key="home")
    memory.admin.export("json", tmp_path / "second.json")
    other = Memory.open(tmp_path / "other")
    other.admin.import_(tmp_path / "first.json")
    done = other.admin.import_(tmp_path / "second.json")
    assert (done.kept, done.refused) == (1, 0)
    assert [record.text for record in other.list()] == ["Lives in Rome"]
