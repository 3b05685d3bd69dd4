"""S0: what a project has already moves in: any log of the original, and from memory to memory.

Field by field the same, for random stores: a few in CI, many at night.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.contracts.chrono import ChronoRecord, ChronoStore, EsdbBridge
from tests.contract.test_s0_files import home
from tests.contract.test_s0_migrating import COMPACT, SPACED, event, log, original
from tests.contract.test_s2_moving_in import MANY, WORDS, some

IDS = ("FACT-001", "REQ-NN-006", "a/b@c", "x" * 120, "chrono-REQ-1", "REQ-1", "__proto__")
STATUSES = ("active", "invalidated", "deprecated", "draft", "accepted", "Hypothesis", "on hold")
SOURCES = ("observed", "inferred", "told", "hearsay", "paper §4.2")


def fields(chance: random.Random) -> dict[str, Any]:
    """What a record of the original may say, whatever it is about."""
    return {
        "kind": chance.choice(["fact", "hypothesis", "requirement", "Design Note", "ünï"]),
        "status": chance.choice(STATUSES),
        "label": chance.choice(["", " \n", " ".join(chance.choices(WORDS, k=5)), "é" * 5_000]),
        "confidence": chance.choice([0.0, 0.6, 1.0, chance.random(), 1, 0]),
        "source_type": chance.choice(SOURCES),
        "evidence": chance.sample(["NIST", "paper §4.2", "REQ-1", "https://a.b/c?d=e f"], 2),
        "epistemic_boundary": [some(chance) for _ in range(chance.randrange(3))],
        "is_hypothesis": chance.random() < 0.5,
        "model_assumptions": {word: some(chance) for word in chance.sample(["a", "b"], 1)},
        "recursion_depth": chance.randrange(4),
        "data": {f"k{n}": some(chance) for n in range(chance.randrange(3))},
    }


def histories(count: int) -> Iterator[tuple[random.Random, list[dict[str, Any]]]]:
    """Upserts and deletions of a few ids, in any order; the last upsert of each counts."""
    for seed in range(count):
        chance = random.Random(seed)
        told: list[dict[str, Any]] = []
        for _ in range(chance.randint(1, 12)):
            id = chance.choice(IDS)
            known = [one for one in told if one["record_id"] == id and one["op"] == "upsert"]
            if known and chance.random() < 0.3:
                told.append(event(id, op="delete", label="", status="tombstone"))
            else:
                told.append(event(id, **fields(chance)))
        yield chance, told


def led_to(told: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The records that a log leads to, as its format says."""
    found: dict[str, dict[str, Any]] = {}
    for one in told:
        if one["op"] == "upsert":
            found[one["record_id"]] = {**one["record"], "about": None}
        else:
            found[one["record_id"]] |= {"status": "tombstone"}
    return found


def held(store: ChronoStore) -> dict[str, dict[str, Any]]:
    return {record.id: asdict(record) for record in store.query(status=None)}


@pytest.mark.parametrize("count", MANY)
def test_any_log_moves_in_by_taking_over_and_by_import(tmp_path: Path, count: int) -> None:
    # S0-33: both ways, in both orders, twice
    for number, (chance, told) in enumerate(histories(count)):
        project, path = tmp_path / str(number), tmp_path / f"{number}-memory"
        project.mkdir()
        original(project, log(told, chance.choice([SPACED, COMPACT])))
        wanted = led_to(told)
        active = {id for id, one in wanted.items() if one["status"] == "active"}
        requirements = {id for id in active if wanted[id]["kind"] == "requirement"}
        assert {one.id for one in EsdbBridge(project).requirements()} == requirements
        with Memory.open(path, embedder="none") as memory:
            for kept, known in ((len(wanted), 0), (0, len(wanted))):
                done = memory.scoped(trust="agent").admin.import_(home(project))
                assert (done.kept, done.known, done.changed) == (kept, known, 0)
                assert done.problems == ()
            assert held(ChronoStore.over(memory)) == wanted
        for _ in range(2):
            with ChronoStore(project) as store:
                assert held(store) == wanted
                assert {one.id for one in store.query()} == active
                assert store.chain_valid()


@pytest.mark.parametrize("count", MANY)
def test_any_store_goes_out_and_in(tmp_path: Path, count: int) -> None:
    """Through our own export, which leaves out what was forgotten."""
    for number, (_, told) in enumerate(histories(count)):
        file = tmp_path / f"{number}.ndjson"
        with Memory.open(tmp_path / f"{number}-a", embedder="none") as memory:
            store = ChronoStore.over(memory)
            for one in told:
                if one["op"] == "delete":
                    store.delete(one["record_id"])
                else:
                    store.upsert(ChronoRecord(**one["record"]))
            wanted = held(store)
            assert wanted == led_to(told)
            memory.admin.export("ndjson", file)
        with Memory.open(tmp_path / f"{number}-b", embedder="none") as memory:
            assert memory.admin.import_(file).problems == ()
            there = held(ChronoStore.over(memory))
        left = {id: one for id, one in wanted.items() if one["status"] != "tombstone"}
        assert {id: one for id, one in there.items() if one["status"] != "tombstone"} == left
