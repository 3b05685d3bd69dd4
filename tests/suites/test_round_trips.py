"""A memory that leaves by an export and comes in again holds the same, on any other engine.

Random histories are exported and imported into an empty memory of another engine. What both hold is
compared by the logical digest of their exports.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.presets import BUILT_IN, Preset
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.conftest import database, server, template
from tests.suites.conftest import Tell
from tests.suites.histories import Clockwork, History

__all__ = ["database", "server", "template"]

START_US = 1_000_000_000_000_000  # long ago: a server takes no event ahead of its own clock
STEPS = 60
WAYS = (("files", "postgres"), ("postgres", "memory"), ("memory", "files"))
Make = Callable[[Clockwork], Backend]


class Engines:
    """A backend of each engine, each with its own clock."""

    def __init__(self, makers: dict[str, Make]) -> None:
        self._made: dict[str, tuple[Clockwork, Backend]] = {}
        for name, make in makers.items():
            seam = Clockwork(0, START_US)
            self._made[name] = seam, make(seam)

    def memory(self, engine: str, space: str, seed: int) -> tuple[Memory, Clockwork]:
        seam, backend = self._made[engine]
        seam.restart(seed, START_US)
        return Memory(Handle(backend.space(space, create=True), seam)), seam

    def close(self) -> None:
        for _, backend in self._made.values():
            backend.close()


@contextmanager
def engines(folder: Path, database: str | None = None) -> Iterator[Engines]:
    makers: dict[str, Make] = {
        "memory": lambda seam: MemoryBackend(seam=seam),
        "files": lambda seam: FileBackend(folder / "workspace", seam=seam),
    }
    if database is not None:
        makers["postgres"] = lambda seam: PostgresBackend(database, seam=seam)
    made = Engines(makers)
    try:
        yield made
    finally:
        made.close()


def lived(memory: Memory, seam: Clockwork, seed: int) -> None:
    """A random history, and some of what histories do not do."""
    rng = random.Random(seed)
    History(memory, seam, rng).play(STEPS)
    one, other = (memory.remember(f"said in the end {number} {seed}") for number in range(2))
    memory.graph.link(one.id, other.id, "cites", weight=0.5, name=f"edge-{seed}")
    memory.graph.link(other.id, one.id, "derived_from")
    memory.settings.documents.set("profile", "mine", {"n": seed, "deep": {"list": [1, None, 0.5]}})
    memory.settings.presets.set(
        Preset(name="own", weights=BUILT_IN["task"].weights, guarantees=("x*",))
    )


def moved(source: Memory, target: Memory, file: Path, format: str) -> tuple[str | None, str | None]:
    """Both digests, of an export and of one from where it was imported."""
    before = source.admin.export(format, file).digest
    done = target.admin.import_(file)
    assert (done.format, done.refused, done.problems) == ("recollect", 0, ())
    again = target.admin.import_(file)
    assert (again.kept, again.changed, again.forgotten, again.known) == (0, 0, 0, done.kept)
    return before, target.admin.export(format, file.with_suffix(".again")).digest


def compare(database: str, folder: Path, count: int, tell: Tell) -> None:
    first = random.randrange(2**32)
    records = 0
    with engines(folder, database) as made:
        for seed in range(first, first + count):
            start, end = WAYS[seed % len(WAYS)]
            source, seam = made.memory(start, f"from-{seed}", seed)
            lived(source, seam, seed)
            target, _ = made.memory(end, f"to-{seed}", seed + 1)
            format = ("json", "ndjson")[seed // len(WAYS) % 2]
            digests = moved(source, target, folder / f"{seed}.{format}", format)
            assert digests[0] == digests[1], f"seed {seed}, from {start} to {end}, {format}"
            records += len(source.list(limit=10_000, include=("archived", "forgotten", "waiting")))
    ways = ", ".join(f"{start} → {end}" for start, end in WAYS)
    tell(f"round trips: {count:,} histories, {ways}: {records:,} records, one digest each")


def test_an_export_comes_in_again_on_another_engine(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    compare(database, tmp_path, 6, tell)


@pytest.mark.nightly
def test_a_hundred_exports_come_in_again_on_another_engine(
    database: str, tmp_path: Path, tell: Tell
) -> None:
    compare(database, tmp_path, 100, tell)


# Controls: an export that drops or changes one thing is caught.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str | None]:
    """An export, and its digest."""
    folder = tmp_path_factory.mktemp("whole")
    with engines(folder) as made:
        source, seam = made.memory("memory", "from", 7)
        lived(source, seam, 7)
        digest = source.admin.export("ndjson", folder / "whole").digest
    return (folder / "whole").read_text("utf-8"), digest


def lines_of(text: str) -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for line in text.split("\n")[:-1]]


def digest_of(lines: list[dict[str, dict[str, object]]], folder: Path) -> str | None:
    """The digest of a memory that imported these lines."""
    file = folder / "lines"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    with engines(folder) as made:
        target, _ = made.memory("memory", "to", 8)
        target.admin.import_(file)
        return target.admin.export("ndjson", folder / "again").digest


def test_control_nothing_dropped_is_the_same(whole: tuple[str, str | None], tmp_path: Path) -> None:
    text, digest = whole
    assert digest_of(lines_of(text), tmp_path) == digest


@pytest.mark.parametrize("what", ["record", "episode", "link", "preset", "document"])
def test_control_an_export_that_drops_one_thing_is_caught(
    what: str, whole: tuple[str, str | None], tmp_path: Path
) -> None:
    lines, digest = lines_of(whole[0]), whole[1]
    place = next(place for place, line in enumerate(lines) if what in line)
    assert digest_of(lines[:place] + lines[place + 1 :], tmp_path) != digest


@pytest.mark.parametrize(
    ("what", "field", "value"),
    [
        ("record", "key", "another.key"),
        ("record", "tags", ["another"]),
        ("record", "status", "forgotten"),
        ("record", "trust", "unverified"),
        ("record", "valid_to", "2031-01-01T00:00:00.000000Z"),
        ("record", "said_at", "2001-01-01T00:00:00.000000Z"),
        ("record", "reinforcement_count", 9),
        ("episode", "status", "forgotten"),
        ("link", "name", "another"),
        ("link", "weight", 0.25),
        ("document", "data", {}),
    ],
)
def test_control_an_export_that_changes_one_field_is_caught(
    what: str, field: str, value: object, whole: tuple[str, str | None], tmp_path: Path
) -> None:
    lines, digest = lines_of(whole[0]), whole[1]
    shows = {"record": "active", "episode": "visible"}.get(what)
    some = (line[what] for line in lines if what in line)
    changed = next(one for one in some if one.get("status") == shows)
    assert changed.get(field) != value
    changed[field] = value
    assert digest_of(lines, tmp_path) != digest
