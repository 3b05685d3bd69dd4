"""Audits on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.contracts.graph import JsonlAuditSink
from tests.cli.running import Shell
from tests.cli.test_verbs import remembered


@pytest.fixture
def audited(store: Shell) -> str:
    id = remembered(store, "Alice sits in 14C. \x1b[31m\u202e<script>alert(1)</script>")
    store.run("proof", "key", "create")
    store.run("proof", "checkpoint")
    remembered(store, "Bob sits in 3A.")
    return id


def test_a_report_in_each_format(store: Shell, audited: str, tmp_path: Path) -> None:
    told = store.run("proof", "audit")
    assert told.code == 0
    assert "Audit of main: anchored up to event 2" in told.out
    assert "person: remembered" in told.out
    assert "\x1b[31m" not in told.out
    assert "\u202e" not in told.out
    document = store.run("proof", "audit", "--json").json
    assert document["audit"]["status"] == "anchored"
    assert [entry["seq"] for entry in document["entries"]] == [1, 2, 2, 3]
    assert store.run("proof", "audit", "--format", "json").json["entries"] == document["entries"]
    page = tmp_path / "audit.html"
    done = store.run("proof", "audit", "--format", "html", "--out", str(page))
    assert (done.code, done.out) == (0, "")
    assert "&lt;script&gt;" in page.read_text()
    assert "<script" not in page.read_text()
    assert store.run("proof", "audit", "--format", "html", "--out", str(page)).code == 5


def test_lines_are_read_by_the_sink_of_a_workspace(
    store: Shell, audited: str, tmp_path: Path
) -> None:  # S1-58 S1-115
    file = tmp_path / "audit.jsonl"
    store.run("proof", "audit", "--format", "jsonl", "--out", str(file))
    sink = JsonlAuditSink(file)
    assert not sink.diagnostics()
    assert [record["seq"] for record in sink.list()] == [1, 2, 2, 3]
    printed = store.run("proof", "audit", "--format", "jsonl").out
    assert [json.loads(line)["seq"] for line in printed.splitlines()] == [1, 2, 2, 3]


def test_a_range_and_what_a_tired_person_types(store: Shell, audited: str) -> None:
    assert len(store.run("proof", "audit", "--id", audited, "--json").json["entries"]) == 1
    for words in (["--since", "today"], ["--until", "today"], ["--since", "yesterday"]):
        assert len(store.run("proof", "audit", *words, "--json").json["entries"]) == 4
    assert store.run("proof", "audit", "--until", "2001-01-01", "--json").json["entries"] == []
    assert "Nothing is recorded" in store.run("proof", "audit", "--until", "2001-01-01").out
    assert store.run("proof", "audit", "--format", "pdf").code == 2
    assert store.run("proof", "audit", "--since", "whenever").code == 2
    assert store.run("proof", "audit", "--user", "bob", "--json").json["entries"] == []
    assert store.run("proof", "audit", "--at", "2", "--json").json["entries"][-1]["seq"] == 2


def test_a_broken_ledger_is_said_and_fails(store: Shell, audited: str) -> None:
    ledger = store.folder / ".recollect" / "events.wal"
    ledger.write_bytes(ledger.read_bytes().replace(b"Alice sits", b"Alina sits"))
    done = store.run("proof", "audit")
    assert done.code != 0
