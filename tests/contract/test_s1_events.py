"""S1: the event log and the audit sink, in files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.contracts.graph import JsonlAuditSink, JsonlMemoryEventLog, Node
from recollect.errors import Conflict
from recollect.model.validate import Json


def event(id: str, kind: str = "recorded", **said: Json) -> dict[str, Json]:
    return {"id": id, "kind": kind, **said}


def test_a_log_only_grows(tmp_path: Path) -> None:
    # S1-52 S1-84: every byte that was written stays
    log, size = JsonlMemoryEventLog(tmp_path / "events.jsonl"), 0
    before = b""
    for number in range(20):
        log.append(event(f"e{number}"))
        now = log.path.read_bytes()
        assert now.startswith(before)
        assert len(now) > size
        before, size = now, len(now)
    with pytest.raises(Conflict):
        log.append(event("e3"))
    assert log.path.read_bytes() == before
    assert not hasattr(log, "remove")


def test_the_same_events_are_the_same_bytes(tmp_path: Path) -> None:
    # S1-86 S1-112: the order of keys does not count, that of events does
    one, two, turned = (JsonlMemoryEventLog(tmp_path / name) for name in ("1", "2", "3"))
    for number in range(3):
        one.append({"id": f"e{number}", "kind": "recorded", "ünï": [1, {"b": 1, "a": 2}]})
        two.append({"ünï": [1, {"a": 2, "b": 1}], "kind": "recorded", "id": f"e{number}"})
        turned.append(event(f"e{2 - number}"))
    assert one.path.read_bytes() == two.path.read_bytes()
    assert [each["id"] for each in turned.list()] == ["e2", "e1", "e0"]


BAD_LINES = {
    b"{": "is not JSON",
    b"": "is not JSON",
    b"[1]": "is not a JSON object",
    b"\xff\xfe": "is not JSON",
    b'{"id": "x"}': "an event needs 'kind', a text",
    b'{"kind": "recorded"}': "an event needs 'id', a text",
    b'{"id": "a b", "kind": "recorded"}': "is not allowed in an id",
    b'{"id": "first", "kind": "merged"}': "repeats the id 'first' of line 1",
    b'{"id": "v", "kind": "merged", "schema_version": "recollect.event.v9"}': "recollect.event.v9",
    b"[" * 100_000: "is not JSON",
    b'{"id": "n", "kind": "recorded", "n": 123456789012345678901234567890}': "beyond",
}


@pytest.mark.parametrize("bad", BAD_LINES, ids=lambda bad: repr(bad[:30]))
def test_a_bad_line_is_named_and_hides_no_other(tmp_path: Path, bad: bytes) -> None:
    # S1-56 S1-57 S1-89 S1-90: no crash, and the lines around it count
    log = JsonlMemoryEventLog(tmp_path / "events.jsonl")
    log.append(event("first"))
    with log.path.open("ab") as file:
        file.write(bad + b"\n")
    log.append(event("last"))
    for each in (log, JsonlMemoryEventLog(log.path)):
        assert [one["id"] for one in each.list()] == ["first", "last"]
        (found,) = each.diagnostics()
        assert "line 2 of events.jsonl" in found.detail
        assert BAD_LINES[bad] in found.detail
        assert (found.level, bool(found.fix)) == ("problem", True)
        assert found.what == ("schema" if b"v9" in bad else "duplicates" if b"first" in bad
            else "lines")  # fmt: skip
        assert each.replay().skipped == ()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_off_stays_a_line_of_its_own(tmp_path: Path, cut: int) -> None:
    # S1-56
    log = JsonlMemoryEventLog(tmp_path / "events.jsonl")
    log.append(event("first"))
    whole = log.path.read_bytes()
    log.append(event("second", note="x" * 20))
    log.path.write_bytes(log.path.read_bytes()[: len(whole) + cut])
    again = JsonlMemoryEventLog(log.path)
    (found,) = again.diagnostics()
    assert "is not a line" in found.detail
    again.append(event("third"))
    assert [one["id"] for one in again.list()] == ["first", "third"]
    (found,) = again.diagnostics()
    assert "line 2" in found.detail
    assert log.path.read_bytes().startswith(whole)


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"{\n" * 250)
    found = JsonlMemoryEventLog(path).diagnostics()
    assert len(found) == 101
    assert found[-1].detail == "150 more lines of events.jsonl"


def test_a_log_without_a_file_is_empty(tmp_path: Path) -> None:
    log = JsonlMemoryEventLog(tmp_path / "not" / "there.jsonl")
    assert (log.list(), log.diagnostics()) == ([], [])
    assert not (tmp_path / "not").exists()
    log.append(event("first"))
    assert len(log.list()) == 1


def test_a_log_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    log = JsonlMemoryEventLog(tmp_path / "events.jsonl")
    for id in ("a", "b"):
        log.append(event(id))
    other = JsonlMemoryEventLog(tmp_path / "other.jsonl")
    other.append(event("c"))
    other.path.rename(log.path)
    assert [one["id"] for one in log.list()] == ["c"]
    log.path.unlink()
    assert log.list() == []


PROGRAM = """
import sys
from recollect.contracts.graph import JsonlMemoryEventLog
from recollect.errors import Conflict
log, won = JsonlMemoryEventLog(sys.argv[1]), 0
for number in range(40):
    try:
        log.append({"id": f"e{number}", "kind": "recorded", "by": sys.argv[2]})
        won += 1
    except Conflict:
        pass
print(won)
"""


def test_two_processes_never_write_one_id_twice(tmp_path: Path) -> None:
    # S1-53 S1-85
    path = tmp_path / "events.jsonl"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    won = [int(each.communicate(timeout=60)[0]) for each in running]
    assert sum(won) == 40
    log = JsonlMemoryEventLog(path)
    assert len(log.list()) == 40
    assert log.diagnostics() == []


def test_updates_that_cannot_be_replayed_are_named(tmp_path: Path) -> None:
    # S1-88
    log = JsonlMemoryEventLog(tmp_path / "events.jsonl")
    node = Node(id="n", kind="claim", text="It rains.").to_dict()
    log.append(event("a", node_updates=[{"node_id": "n", "node": node}, {"node_id": "other"}]))
    log.append(event("b", node_updates=["odd", {"node": {"id": "half"}}, {"operation": "create"}]))
    edge: Json = {"id": "e", "kind": "supports", "source": "n", "target": "other"}
    log.append(event("c", edge_updates=[{"edge": edge}], node_updates={"not": "a list"}))
    done = log.replay()
    assert done.graph["nodes"] == [node]
    assert done.graph["edges"] == []
    assert [text.partition(":")[0] for text in done.skipped] == [
        "event 'a'", "event 'b'", "event 'b'", "edge 'e' lacks a node",
    ]  # fmt: skip


def test_an_audit_file_only_grows(tmp_path: Path) -> None:
    # S1-58
    sink = JsonlAuditSink(tmp_path / "audit.jsonl")
    assert sink.list() == []
    sink.write({"action": "forget", "outcome": "denied"})
    first = sink.path.read_bytes()
    sink.write({"action": "forget", "outcome": "applied"})
    assert sink.path.read_bytes().startswith(first)
    lines = [json.loads(line) for line in sink.path.read_bytes().splitlines()]
    assert [line["outcome"] for line in lines] == ["denied", "applied"]
    assert {line["schema_version"] for line in lines} == {"recollect.audit.v1"}
    with sink.path.open("ab") as file:
        file.write(b"{\n{")
    assert len(sink.list()) == 2
    (found,) = sink.diagnostics()
    assert "2 lines that could not be parsed, the first is line 3" in found.detail
    sink.write({"action": "restore"})
    assert len(JsonlAuditSink(sink.path).list()) == 3
