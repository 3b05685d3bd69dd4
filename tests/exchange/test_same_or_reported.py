"""What other programs hold is the same here, field by field, or a line of the report names it.

Each store has one item with hostile values, so that a line can only be about that item. If nothing
is changed there is no line.
"""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.contracts.chrono import ChronoStore
from recollect.contracts.graph import InMemoryGraphStore
from tests.contract.test_s0_migrating import event, log

COUNTS = [40, pytest.param(400, marks=pytest.mark.nightly)]
Said = dict[str, Any]
TEXT = "The crane lifts forty tonnes."


def nested(depth: int, inner: Any = "deep") -> Any:
    for level in range(depth):
        inner = [inner] if level % 2 else {"in": inner}
    return inner


HOSTILE: tuple[Any, ...] = (
    2**53 - 1, 2**53, -(2**53), 2**64, 10**30, 0, -1, 0.5, 1e308, True, False, None, "", " ", "x",
    "x" * 201, "\x00", "a\nb", " a ", "e\u0301", "Zoë", "\u2028", "2026-13-45", "yesterday",
    "2026-05-01T00:00:00+00:00", "9999-12-31", nested(3), nested(15), nested(16), nested(40),
    nested(14, 2**60), ["a", "b"], ["x" * 300], ["a", 1], [f"t{n}" for n in range(300)], {},
    {"": 1}, {"a\x00b": 1}, {"recollect": [1, {"big": 2**55}]}, {"episodic": 1}, {"chrono": {}},
)  # fmt: skip
UNSTORABLE = (math.nan, math.inf, "\ud800", {"\ud800": 1})


def filled(chance: random.Random, usual: Said, hostile: tuple[Any, ...] = HOSTILE) -> Said:
    """The usual fields, a few of them hostile, sometimes with one that nobody knows."""
    made = dict(usual)
    for name in chance.sample(sorted(usual), chance.randint(0, min(3, len(usual)))):
        made[name] = chance.choice(hostile)
    if chance.random() < 0.3:
        made[chance.choice(["unknown", "Zoë", "note"])] = chance.choice(hostile)
    return made


def same(there: Any, here: Any) -> bool:
    """True for equal values of equal types; nothing is equal to NaN."""
    if isinstance(there, dict) and isinstance(here, dict):
        return there.keys() == here.keys() and all(same(there[k], here[k]) for k in there)
    if isinstance(there, list) and isinstance(here, list):
        return len(there) == len(here) and all(map(same, there, here))
    return isinstance(there, bool) == isinstance(here, bool) and bool(there == here)


def is_nothing(value: Any) -> bool:
    """True for what says nothing, so that a default may stand there."""
    return value is None or value in ("", [], {})


def judge(memory: Memory, path: Path, format: str, there: Said, here: Callable[[], Said]) -> None:
    """Compares what a store says with what is here now."""
    done = memory.admin.import_(path, format)
    problems = [one.why for one in done.problems]
    if not done.kept:
        assert problems, there
        return
    found = here()
    differs = {name: value for name, value in there.items() if not same(value, found.get(name))}
    changed = {name: value for name, value in differs.items() if not is_nothing(value)}
    for name, value in changed.items():
        assert any(f"'{name}" in why for why in problems), (name, value, found.get(name), problems)
    assert bool(problems) <= bool(differs), (problems, there, found)


# The formats of the seeds.


def stargraph(chance: random.Random, folder: Path, memory: Memory) -> tuple[Path, Said]:
    scope = {"user": "ada", "session": "S1", "agent": "rag"}
    content = filled(chance, {"content": TEXT, **scope, "source_node": "n1"})
    metadata = filled(chance, {"subject": "crane", "weight": 3, "deep": {"a": [1, None]}})
    row = {
        "id": chance.choice(["e1", "e1", "e1", "ep 1", "ü", "x" * 121]),
        "scope_key": chance.choice(["/user/ada/session/S1/agent/rag/"] * 3 + ["/user/eve/"]),
        "content": json.dumps(content).encode(),
        "timestamp": chance.choice(["2026-05-01T00:00:00+00:00"] * 3 + ["soon", "2026-02-30"]),
        "metadata": json.dumps(metadata).encode(),
    }
    path = folder / "episodes.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE episodes (id, scope_key, content, timestamp, metadata)")
        marks = ", ".join(f":{name}" for name in row)
        database.execute(f"INSERT INTO episodes VALUES ({marks})", row)
        database.commit()
    plain = {name: row[name] for name in ("id", "scope_key", "timestamp")}
    return path, {**content, **{f"metadata.{k}": v for k, v in metadata.items()}, **plain}


def of_stargraph(memory: Memory) -> Said:
    (one,) = memory.sessions.episodes(limit=10)
    metadata = dict(one.metadata)
    own: Any = metadata.pop("episodic", {})
    scope = {"user": one.scope.user, "session": one.scope.session, "agent": one.scope.agent}
    key = "".join(f"/{name}/{value or ''}" for name, value in scope.items())
    said_at = datetime.fromisoformat(one.said_at or one.at).astimezone(UTC)
    return {
        "content": one.text, **scope, "source_node": own.get("source_node"), "id": one.id,
        "scope_key": f"{key}/", "timestamp": said_at.isoformat(),
        **{f"metadata.{name}": value for name, value in metadata.items()},
    }  # fmt: skip


def chrono(chance: random.Random, folder: Path, memory: Memory) -> tuple[Path, Said]:
    usual = event("F-1", confidence=0.5, evidence=["NIST"], data={"a": 1}, label=TEXT)["record"]
    for name in ("epistemic_boundary", "model_assumptions"):
        usual.setdefault(name, [] if name == "epistemic_boundary" else {})
    del usual["id"]
    fields = filled(chance, usual, (*HOSTILE, math.nan))
    if fields.get("status") in ("tombstone", "deleted"):
        fields["status"] = "active"
    id = chance.choice(["F-1", "F-1", "F-1", "F 1", " F-1", "é", "x" * 300])
    told = event(id)
    told["record"] = {**fields, "id": id}
    (folder / "events.wal").write_bytes(log([told]))
    return folder / "events.wal", told["record"]


def of_chrono(memory: Memory) -> Said:
    (one,) = ChronoStore.over(memory).query(status=None)
    return one.to_dict()


def markitect(chance: random.Random, folder: Path, memory: Memory) -> tuple[Path, Said]:
    usual = {"id": "n.1", "kind": "claim", "text": TEXT, "confidence": 0.5, "meta": {"a": [1]}}
    node = filled(chance, usual, (*HOSTILE, *UNSTORABLE))
    if chance.random() < 0.5:
        node["id"] = "n.1"
    path = folder / "graph.json"
    path.write_text(json.dumps({"schema_version": "markitect.memory.graph.v1", "nodes": [node]}))
    return path, node


def of_markitect(memory: Memory) -> Said:
    (one,) = InMemoryGraphStore(memory).list_nodes()
    return one.to_dict()


# Others.


def mem0(chance: random.Random, folder: Path, memory: Memory) -> tuple[Path, Said]:
    usual = {"id": "a1", "memory": TEXT, "user_id": "ada", "agent_id": "rag", "run_id": "S1"}
    given = filled(chance, {**usual, "kept": 1}, (*HOSTILE, *UNSTORABLE))
    given["id"] = "a1"
    metadata = filled(chance, {"deep": {"a": 1}, "number": 7}, (*HOSTILE, *UNSTORABLE))
    path = folder / "mem0.json"
    path.write_text(json.dumps({"results": [{**given, "metadata": metadata}]}))
    del given["id"]
    if isinstance(given["memory"], str):
        given["memory"] = given["memory"].strip()  # blanks around a text are left out
    return path, {**given, **{f"metadata.{name}": value for name, value in metadata.items()}}


def of_mem0(memory: Memory) -> Said:
    (one,) = memory.list(limit=10)
    scope = {"user_id": one.scope.user, "agent_id": one.scope.agent, "run_id": one.scope.session}
    data = {**one.data, **{f"metadata.{name}": value for name, value in one.data.items()}}
    return {"memory": one.text, **scope, **data}


def elfmem(chance: random.Random, folder: Path, memory: Memory) -> tuple[Path, Said]:
    usual = {"s": 0, "content": TEXT, "tags": ["a"], "confidence": 0.5, "extra": {"a": [1]}}
    line = {"t": "2026-05-01T00:00:00+00:00", "k": "birth", "id": "b1", **filled(chance, usual)}
    line["content"] = TEXT
    if chance.random() < 0.3:
        line["t"] = "soon"
    path = folder / "2026-05.jsonl"
    path.write_text(json.dumps(line) + "\n")
    return path, line


def of_elfmem(memory: Memory) -> Said:
    (one,) = memory.list(limit=10)
    said = None if one.said_at is None else datetime.fromisoformat(one.said_at).isoformat()
    return {
        **one.data, "content": one.text, "tags": list(one.tags), "confidence": one.confidence,
        "t": said,
    }  # fmt: skip


MAKERS: Mapping[str, tuple[Callable[..., tuple[Path, Said]], Callable[[Memory], Said]]] = {
    "stargraph": (stargraph, of_stargraph),
    "chrono": (chrono, of_chrono),
    "markitect": (markitect, of_markitect),
    "mem0": (mem0, of_mem0),
    "elfmem": (elfmem, of_elfmem),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("format", MAKERS)
def test_a_field_is_the_same_or_in_the_report(tmp_path: Path, format: str, count: int) -> None:
    # S0-33 S1-67 S2-161
    make, read = MAKERS[format]
    for seed in range(count):
        folder = tmp_path / str(seed)
        folder.mkdir()
        with Memory.open(":memory:", embedder="none") as memory:
            path, there = make(random.Random(f"{format} {seed}"), folder, memory)
            judge(memory, path, format, there, lambda memory=memory: read(memory))  # type: ignore[misc]


def lines(memory: Memory, path: Path, format: str) -> Iterator[str]:
    return (one.why for one in memory.admin.import_(path, format).problems)


def test_what_a_number_loses_is_kept_as_its_digits(tmp_path: Path) -> None:
    # S2-161: nothing is dropped that can be written down
    chance = random.Random(0)
    path, _ = stargraph(chance, tmp_path, Memory.open(":memory:", embedder="none"))
    metadata = {"n": 2**53, "m": 10**30, "deep": nested(30), "fits": 2**53 - 1, "episodic": 1}
    with closing(sqlite3.connect(path)) as database:
        content = {"content": TEXT, "user": "ada", "session": "S1", "agent": "rag"}
        row = ["ep 1", json.dumps(content).encode(), "soon", json.dumps(metadata).encode()]
        database.execute(
            "UPDATE episodes SET id = ?, content = ?, timestamp = ?, metadata = ?,"
            " scope_key = '/user/ada/session/S1/agent/rag/'",
            row,
        )
        database.commit()
    with Memory.open(":memory:", embedder="none") as memory:
        told = sorted(lines(memory, path, "stargraph"))
        (one,) = memory.sessions.episodes(limit=10)
    fields = [why.split("'")[1].partition("[")[0] for why in told]
    assert fields == [
        "id", "metadata.deep", "metadata.episodic", "metadata.m", "metadata.n", "timestamp",
    ]  # fmt: skip
    assert (one.metadata["n"], one.metadata["m"]) == (str(2**53), str(10**30))
    assert one.metadata["fits"] == 2**53 - 1
    deep: Any = one.metadata["deep"]
    while not isinstance(deep, str):
        deep = deep[0] if isinstance(deep, list) else deep["in"]
    assert json.loads(deep) == nested(15)
