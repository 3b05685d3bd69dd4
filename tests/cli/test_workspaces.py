"""`recollect admin doctor` names what to repair in the files of a graph workspace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recollect.contracts.graph import (
    FileBackedMemoryGraphStore,
    PhaseMemoryRuntime,
    Profile,
    fixture,
)
from recollect.exchange import workspace as layout
from recollect.model.validate import Json
from tests.cli.running import Ran, Shell
from tests.contract.test_s1_workspace import visible


def sound(root: Path) -> None:
    with FileBackedMemoryGraphStore(root, trust="person") as store:
        assert store.import_graph(fixture("graph")) == []


def broken(root: Path) -> None:
    """One of each thing to repair, made through the store and its files."""
    sound(root)
    with FileBackedMemoryGraphStore(root, trust="person") as store:
        store.save_profile(Profile(id="p", extra={"schema_version": "markitect.memory.profile.v9"}))
        lost: dict[str, Json] = {
            "id": "e.lost",
            "kind": "recorded",
            "node_updates": [{"node_id": "none"}],
        }
        store.events.append(lost)
        store.memory.forget("question.wind")
        store.render()
    with (root / "events.jsonl").open("ab") as file:
        file.write(b'{malformed\n{"id":"e","kind":"x","schema_version":"recollect.event.v9"}\n')
    with (root / "audit.jsonl").open("ab") as file:
        file.write(b"{\n")
    node = root / "nodes" / "decision.crane.json"
    node.write_bytes(node.read_bytes().replace(b"new crane", b"old crane"))


def doctor(shell: Shell, *more: str) -> Ran:
    return shell.run("--store", "w/.recollect", "admin", "doctor", *more)


# Words of each finding, with its name in the first column.
WANTED = [
    ("edges", "the edge 'edge.open' lacks the node 'question.wind'"),
    ("lines", "line 4 of events.jsonl is not JSON"),
    ("schema", "recollect.event.v9"),
    ("events", "the event 'e.lost' is about the node 'none', which is not there"),
    ("schema", "the profile 'p' says 'markitect.memory.profile.v9'"),
    ("lines", "audit.jsonl"),
    ("files", "nodes/decision.crane.json differs from the memory"),
]


def test_doctor_names_each_thing_to_repair(shell: Shell) -> None:
    # S1-69 S1-106 S1-107 S1-108: one workspace with each of them
    broken(shell.folder / "w")
    before = visible(shell.folder / "w")
    with FileBackedMemoryGraphStore(shell.folder / "w") as store:
        found = PhaseMemoryRuntime(store).diagnostics()
    done, told = doctor(shell), json.loads(doctor(shell, "--json").out)
    assert (done.code, told["ok"]) == (1, False)
    for what, words in WANTED:
        (one,) = (one for one in told["findings"] if words in one["detail"])
        assert (one["what"], bool(one["fix"])) == (what, True), words
        assert words in done.out
    listed = [one for one in told["findings"] if one["level"] != "ok" and one["what"] != "search"]
    assert [one["detail"] for one in listed] == [one.detail for one in found], "all, and once"
    assert visible(shell.folder / "w") == before


def test_a_sound_workspace_is_said_to_be_sound(shell: Shell) -> None:
    # S1-69: the control
    sound(shell.folder / "w")
    done = doctor(shell)
    assert done.code == 0, done.out
    assert "show the memory" in done.out
    assert "✗" not in done.out


def test_a_workspace_of_a_later_release_is_a_finding(shell: Shell) -> None:
    # S1-69 S1-108
    sound(shell.folder / "w")
    head = shell.folder / "w" / layout.HEAD
    head.write_bytes(head.read_bytes().replace(b"workspace.v1", b"workspace.v2"))
    done = doctor(shell)
    assert done.code == 1
    assert "recollect.workspace.v2" in done.out
    assert "update Recollect" in done.out
    assert "self-consistent" in done.out, "the memory was checked all the same"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"{}", b'{"schema_version": 3}', b'{"folders": []}', b"[" * 100_000]
)
def test_a_file_of_another_program_is_left_alone(shell: Shell, raw: bytes) -> None:
    sound(shell.folder / "w")
    (shell.folder / "w" / layout.HEAD).write_bytes(raw)
    (shell.folder / "w" / "nodes" / "decision.crane.json").unlink()
    done = doctor(shell)
    assert done.code == 0, done.out
    assert "workspace" not in done.out
    assert "nodes/" not in done.out


def test_a_link_or_a_fifo_is_not_read_as_a_workspace(shell: Shell) -> None:
    sound(shell.folder / "w")
    head = shell.folder / "w" / layout.HEAD
    head.rename(shell.folder / "elsewhere.json")
    head.symlink_to(shell.folder / "elsewhere.json")
    assert "workspace" not in doctor(shell).out
    head.unlink()
    os.mkfifo(head)
    assert "workspace" not in doctor(shell).out


def test_odd_files_in_a_workspace_are_findings(shell: Shell) -> None:
    sound(shell.folder / "w")
    (shell.folder / "w" / "events.jsonl").unlink()
    os.mkfifo(shell.folder / "w" / "events.jsonl")
    done = doctor(shell)
    assert done.code == 1
    assert "were not checked" in done.out


def test_names_in_a_workspace_cannot_draw_on_the_terminal(shell: Shell) -> None:
    sound(shell.folder / "w")
    with (shell.folder / "w" / "events.jsonl").open("ab") as file:
        file.write(b'{"id":"e","kind":"x","path":"\\u001b[2J\\nnone"}\n')
    done = doctor(shell)
    assert "the event 'e' is about the path" in done.out
    assert "\x1b[2J" not in done.out
