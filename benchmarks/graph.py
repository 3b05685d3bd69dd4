"""``python -m benchmarks.graph``: what following links costs beside one bare recursive query.

Responsible for ``neighbours`` in a memory with many links, against a recursive statement over two
plain tables that gives the same records and links. Leaves other calls to ``engine``. Invariants:
times are those of the processor, medians of several rounds, and what is compared is measured in
turns, about the same records.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

import msgspec

from benchmarks.machine import commit, machine
from recollect.memory import Memory

AIM: Final = 3.0
_BATCH: Final = 1_000
_KINDS: Final = ("cites", "supports", "relates_to")

# As a person would write it: the records within some hops, with their columns, and their links.
_TABLES: Final = """
CREATE TABLE records (
  id TEXT PRIMARY KEY, text TEXT, kind TEXT, key TEXT, about TEXT, tags TEXT, user TEXT,
  session TEXT, agent TEXT, confidence REAL, status TEXT, trust TEXT, data TEXT, created_at TEXT,
  at TEXT, seq INTEGER
);
CREATE TABLE links (
  source TEXT, target TEXT, kind TEXT, weight REAL, trust TEXT, at TEXT, seq INTEGER PRIMARY KEY
);
CREATE INDEX links_by_source ON links (source);
CREATE INDEX links_by_target ON links (target);
"""
_NEAR: Final = """
WITH RECURSIVE near (id, hop) AS (
  SELECT :id, 0
  UNION
  SELECT CASE WHEN l.source = n.id THEN l.target ELSE l.source END, n.hop + 1
  FROM near n JOIN links l ON l.source = n.id OR l.target = n.id WHERE n.hop < :hops
), found AS (SELECT id, MIN(hop) AS hop FROM near GROUP BY id ORDER BY MIN(hop) LIMIT :limit)
SELECT r.*, l.* FROM found f JOIN records r ON r.id = f.id
LEFT JOIN links l ON l.source = f.id AND l.target IN (SELECT id FROM found)
ORDER BY f.hop
"""


class Sizes(msgspec.Struct, frozen=True):
    """How many records and links, and how far a question goes."""

    links: int = 100_000
    records: int = 18_000
    hops: int = 2
    rounds: int = 200


FULL: Final = Sizes()
QUICK: Final = Sizes(links=1_000, records=200, rounds=20)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    neighbours_ms: float
    bare_ms: float
    neighbours_ratio: float
    aim: float
    reached: bool
    path_ms: float  # between two records chosen at random
    page_ms: float  # 1,000 records of the whole graph, with their links
    hub_ms: float  # 120 neighbours of a record with a tenth of all links
    links: int
    records: int
    hops: int
    found: float  # records in an answer, on average
    machine: dict[str, str | int]
    commit: str


def run(sizes: Sizes, folder: Path) -> Report:
    """Measures everything."""
    rng = random.Random(7)
    ids = [f"r{number}" for number in range(sizes.records)]
    edges = [
        (*rng.sample(ids, 2), rng.choice(_KINDS)) for _ in range(sizes.links - sizes.links // 10)
    ]
    leaves = [f"leaf{number}" for number in range(sizes.links // 10)]  # not among what is asked
    edges = list(dict.fromkeys([*edges, *(("hub", id, "lists") for id in leaves)]))
    with (
        Memory.open(folder / "memory", embedder="none") as memory,
        closing(sqlite3.connect(folder / "bare.db")) as bare,
    ):
        _fill(memory, bare, ["hub", *leaves, *ids], edges)
        asked = [rng.choice(ids) for _ in range(sizes.rounds)]
        found = [len(memory.graph.neighbours(id, hops=sizes.hops).records) for id in asked]
        params = {"hops": sizes.hops, "limit": 120}
        ours, bares = _in_turns(
            asked,
            lambda id: memory.graph.neighbours(id, hops=sizes.hops),
            lambda id: bare.execute(_NEAR, {**params, "id": id}).fetchall(),
        )
        other = iter(rng.choices(ids, k=sizes.rounds + 1))
        (path,) = _in_turns(asked[:50], lambda id: memory.graph.path(id, next(other)))
        (page,) = _in_turns(asked[:20], lambda _: memory.graph.list())
        (hub,) = _in_turns(asked[:50], lambda _: memory.graph.neighbours("hub"))
    ratio = ours / bares
    return Report(
        neighbours_ms=round(ours, 3),
        bare_ms=round(bares, 3),
        neighbours_ratio=round(ratio, 2),
        aim=AIM,
        reached=ratio <= AIM,
        path_ms=round(path, 3),
        page_ms=round(page, 3),
        hub_ms=round(hub, 3),
        links=len(edges),
        records=len(ids) + len(leaves) + 1,
        hops=sizes.hops,
        found=round(sum(found) / len(found), 1),
        machine=machine(folder),
        commit=commit(),
    )


def _fill(
    memory: Memory, bare: sqlite3.Connection, ids: Sequence[str], edges: Sequence[tuple[str, ...]]
) -> None:
    """The same records and links in both."""
    for first in range(0, len(ids), _BATCH):
        with memory.batch() as batch:
            for id in ids[first : first + _BATCH]:
                batch.remember(f"Gate {id} opens at noon, and closes after dark.", id=id)
    for first in range(0, len(edges), _BATCH):
        with memory.batch() as batch:
            for source, target, kind in edges[first : first + _BATCH]:
                batch.link(source, target, kind)
    bare.executescript(_TABLES)
    blank = ("fact", None, None, "[]", None, None, None, 0.7, "active", "person", "{}", "at", "at")
    bare.executemany(
        f"INSERT INTO records VALUES ({','.join('?' * 16)})",
        [
            (id, f"Gate {id} opens at noon, and closes after dark.", *blank, seq)
            for seq, id in enumerate(ids)
        ],
    )
    bare.executemany(
        "INSERT INTO links VALUES (?, ?, ?, 1.0, 'person', 'at', ?)",
        [(*edge, seq) for seq, edge in enumerate(edges)],
    )
    bare.commit()


def _in_turns(asked: Sequence[str], *calls: Callable[[str], object]) -> list[float]:
    """The median of each in milliseconds of the processor, after one round to warm up."""
    taken: list[list[float]] = [[] for _ in calls]
    for number, id in enumerate([asked[0], *asked]):
        for call, times in zip(calls, taken, strict=True):
            began = process_time()
            call(id)
            if number:
                times.append(1_000 * (process_time() - began))
    return [median(times) for times in taken]


def table(report: Report) -> str:
    """The figures for people."""
    return "\n".join(
        [
            f"{report.links:,} links between {report.records:,} records, {report.hops} hops, "
            f"{report.found} records in an answer:",
            f"neighbours {report.neighbours_ms} ms, one bare recursive query {report.bare_ms} ms, "
            f"ratio {report.neighbours_ratio} (aim {report.aim} or less)",
            f"path {report.path_ms} ms, a page of the graph {report.page_ms} ms, "
            f"neighbours of a record with a tenth of the links {report.hub_ms} ms",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = run(QUICK if given.quick else FULL, Path(folder))
    if given.json:
        print(json.dumps(msgspec.to_builtins(report), indent=2))
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
