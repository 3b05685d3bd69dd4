"""The code blocks of S0, with ``chronomemory`` replaced by ``recollect.contracts.chrono``.

Every other change has a comment that starts with "changed". Run it in an empty folder; it prints
what it did.
"""
# ruff: noqa: T201, E402, I001

# --- 1. Open a store

from recollect.contracts.chrono import ChronoStore, ChronoRecord

import json
import os
from pathlib import Path as Folder

project = "project"  # changed: a folder that can be written, instead of /path/to/project
os.mkdir(project)  # changed: it is there in the original
specsmith = Folder(project, ".specsmith")  # changed: the files that step 9 says exist
specsmith.mkdir()
(specsmith / "requirements.json").write_text(
    json.dumps([{"id": f"REQ-{n:03}", "title": f"Requirement {n}"} for n in range(12)])
)
(specsmith / "testcases.json").write_text(
    json.dumps([{"id": f"TEST-{n:03}", "title": f"Test {n}"} for n in range(10)])
)

# Context manager — auto-opens and closes
with ChronoStore(project) as store:
    ...

# Or manual lifecycle
store = ChronoStore(project)
store.open()
# ... do work ...
store.close()

# --- 2. Write a record

with ChronoStore(project) as store:
    store.upsert(ChronoRecord(
        id="FACT-001",
        kind="fact",
        label="Water freezes at 0°C at standard pressure",
        source_type="observed",
        confidence=1.0,
        evidence=["NIST", "textbook-chemistry"],
    ))  # fmt: skip

# --- 3. Read records

with ChronoStore(project) as store:
    # All active records
    all_records = store.query()

    # By kind
    facts = store.query(kind="fact")
    requirements = store.query(kind="requirement")

    # Confidence-filtered (for RAG injection) — H18
    rag_context = store.query(rag_filter=True)  # confidence >= 0.6

    # High-confidence only
    high_conf = store.query(min_confidence=0.9)

    # Single record
    rec = store.get("FACT-001")
    if rec:
        print(rec.label, rec.confidence)

print(*map(len, (all_records, facts, requirements, rag_context, high_conf)))  # changed: shown

# --- 4. Delete (tombstone) a record

with ChronoStore(project) as store:
    store.delete("FACT-001")
    # Record still exists in WAL with status="tombstone"
    # It is excluded from query() by default

    rec = store.get("FACT-001")  # still returns the record
    assert rec  # changed: for type checkers
    print(rec.status)  # "tombstone"

# --- 5. Verify chain integrity

with ChronoStore(project) as store:
    valid = store.chain_valid()
    print(f"Chain valid: {valid}")  # True if untampered

# --- 6. Compact the WAL

with ChronoStore(project) as store:
    n = store.compact()
    print(f"Compacted {n} events → snapshot + 1-line WAL")

# --- 7. Backup

with ChronoStore(project) as store:
    backup_path = store.backup()
    print(f"Backup at: {backup_path}")

# --- 8. Write a hypothesis

store.open()  # changed: the block uses an open store
store.upsert(ChronoRecord(
    id="HYP-001",
    kind="hypothesis",
    label="Model generalization gap < 5% of Bayes-optimal",
    is_hypothesis=True,
    confidence=0.75,
    source_type="inferred",
    evidence=["REQ-NN-006", "paper §4.2"],
))  # fmt: skip

confirmed = True  # changed: the result of the experiment

rec = store.get("HYP-001")
assert rec  # changed: for type checkers
rec.is_hypothesis = False
rec.source_type = "observed"
rec.confidence = 1.0 if confirmed else 0.0
rec.evidence.append("bench-B-seed42: nll_gap=0.031")
store.upsert(rec)

print(store.get("HYP-001"))  # changed: shown
store.close()  # changed: opened above

# --- 9. Migrate from .specsmith/ JSON

from pathlib import Path

with ChronoStore(project) as store:
    counts = store.migrate_from_json(Path(f"{project}/.specsmith"))
    print(counts)  # {'requirements': 12, 'testcases': 10, 'skipped': 0}

# --- 10. Use the bridge adapter

from recollect.contracts.chrono import EsdbBridge

bridge = EsdbBridge(project_dir=project)

# Status check
print(bridge.status().to_dict())

# Read requirements (from ESDB or JSON fallback)
reqs = bridge.requirements()
tests = bridge.testcases()

print(len(reqs), len(tests))  # changed: shown

# --- File layout

for path in sorted(Folder(project, ".chronomemory").iterdir()):  # changed: shown
    print(path.name)
