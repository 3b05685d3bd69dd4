"""S0: its own code blocks run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import recollect.contracts.chrono
from tests.contract.test_s2_files import environment

PROGRAM = Path(__file__).with_name("quickstart_s0.py")  # importing it would run it


def test_the_code_blocks_run_as_printed(tmp_path: Path) -> None:
    # S0-1 S0-3 S0-4 S0-34 S0-42 S0-43
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), "HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    *lines, reread = done.stdout.splitlines()
    status = lines.index("12 10") - 1
    assert lines[:7] == [
        "Water freezes at 0°C at standard pressure 1.0",
        "1 1 0 1 1",
        "tombstone",
        "Chain valid: True",
        "Compacted 3 events → snapshot + 1-line WAL",
        lines[5],
        lines[6],
    ]
    assert re.fullmatch(r"Backup at: .*/\.chronomemory/backup/\d{8}T\d{6}", lines[5])
    assert "confidence=1.0" in lines[6]
    assert "'bench-B-seed42: nll_gap=0.031'" in lines[6]
    assert lines[7] == "{'requirements': 12, 'testcases': 10, 'skipped': 0}"
    assert re.fullmatch(
        r"{'available': True, 'backend': 'ChronoStore WAL', 'record_count': 23, 'wal_seq': \d+,"
        r" 'epoch': 1, 'chain_valid': True}",
        lines[status],
    )
    layout = {*lines[status + 2 :], reread}
    assert {"backup", "events.wal", "snapshot.json"} <= layout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]
    assert sorted(os.listdir(tmp_path / "project")) == [".chronomemory", ".specsmith"]


# The lines of the seed's blocks, in their order; only the package and the path were changed.
PRINTED = """
from chronomemory import ChronoStore, ChronoRecord
# Context manager — auto-opens and closes
with ChronoStore("/path/to/project") as store:
...
# Or manual lifecycle
store = ChronoStore("/path/to/project")
store.open()
# ... do work ...
store.close()
with ChronoStore("/path/to/project") as store:
store.upsert(ChronoRecord(
id="FACT-001",
kind="fact",
label="Water freezes at 0°C at standard pressure",
source_type="observed",
confidence=1.0,
evidence=["NIST", "textbook-chemistry"],
))
with ChronoStore("/path/to/project") as store:
# All active records
all_records = store.query()
# By kind
facts = store.query(kind="fact")
requirements = store.query(kind="requirement")
# Confidence-filtered (for RAG injection) — H18
rag_context = store.query(rag_filter=True) # confidence >= 0.6
# High-confidence only
high_conf = store.query(min_confidence=0.9)
# Single record
rec = store.get("FACT-001")
if rec:
print(rec.label, rec.confidence)
with ChronoStore("/path/to/project") as store:
store.delete("FACT-001")
# Record still exists in WAL with status="tombstone"
# It is excluded from query() by default
rec = store.get("FACT-001") # still returns the record
print(rec.status) # "tombstone"
with ChronoStore("/path/to/project") as store:
valid = store.chain_valid()
print(f"Chain valid: {valid}") # True if untampered
with ChronoStore("/path/to/project") as store:
n = store.compact()
print(f"Compacted {n} events → snapshot + 1-line WAL")
with ChronoStore("/path/to/project") as store:
backup_path = store.backup()
print(f"Backup at: {backup_path}")
store.upsert(ChronoRecord(
id="HYP-001",
kind="hypothesis",
label="Model generalization gap < 5% of Bayes-optimal",
is_hypothesis=True,
confidence=0.75,
source_type="inferred",
evidence=["REQ-NN-006", "paper §4.2"],
))
rec = store.get("HYP-001")
rec.is_hypothesis = False
rec.source_type = "observed"
rec.confidence = 1.0 if confirmed else 0.0
rec.evidence.append("bench-B-seed42: nll_gap=0.031")
store.upsert(rec)
from pathlib import Path
with ChronoStore("/path/to/project") as store:
counts = store.migrate_from_json(Path("/path/to/project/.specsmith"))
print(counts) # {'requirements': 12, 'testcases': 10, 'skipped': 0}
from chronomemory import EsdbBridge
bridge = EsdbBridge(project_dir="/path/to/project")
# Status check
print(bridge.status().to_dict())
# Read requirements (from ESDB or JSON fallback)
reqs = bridge.requirements()
tests = bridge.testcases()
"""


def test_the_blocks_are_those_of_the_seed() -> None:
    rest = PROGRAM.read_text()
    for line in PRINTED.strip().splitlines():
        wanted = line.replace("from chronomemory", "from recollect.contracts.chrono")
        wanted = wanted.replace('"/path/to/project"', "project").replace(" # ", "  # ")
        wanted = wanted.replace('"/path/to/project/', 'f"{project}/')
        assert wanted in rest, line
        rest = rest.partition(wanted)[2]


def test_the_names_can_be_imported() -> None:  # S0-1 S0-34
    assert recollect.contracts.chrono.__all__ == [
        "BridgeStatus",
        "ChronoRecord",
        "ChronoStore",
        "EsdbBridge",
    ]
    assert all(
        hasattr(recollect.contracts.chrono, name) for name in recollect.contracts.chrono.__all__
    )
