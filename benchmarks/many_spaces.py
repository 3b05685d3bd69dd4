"""Many spaces on one server: what one costs that is awake, waking it, and how many there are.

Responsible for these figures on a database that the caller gives. Invariant: every ratio is of two
times from the same rounds. *Bare* wakes from the same image as we do: one statement, ``zlib`` and
SQLite's ``deserialize``.
"""

from __future__ import annotations

import resource
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from benchmarks.measures import questions
from benchmarks.sentences import sentences
from benchmarks.timing import Paired, in_turns
from recollect.errors import NotFound
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.space import IndexedSpace
from recollect.store.postgres.ledgers import PostgresBackend

_EVENTS: Final = 40  # in the memory of somebody who uses it now and then
_FEW: Final = 100
_KEY: Final = "first"
_WARM: Final = 20  # spaces that are awake before memory is measured
_BATCH: Final = 2_000


class Waking(NamedTuple):
    """Waking a space with a snapshot, over bare, and without one, over a rebuild in files."""

    kept: Paired
    folded: Paired


def wake(url: str, events: int, in_files: Memory, *, rounds: int) -> Waking:
    """One space of so many events, put to sleep before each look; ``in_files`` gets a copy."""
    name = f"wake {events}"
    with spaces(url) as space, psycopg.connect(url, autocommit=True) as bare:
        ours = space(name)
        memory = Memory(Handle(ours))
        fill(memory, sentences(events, seed=events))
        memory.admin.copy_to(in_files)
        ours.sleep()
        times = max(1, 400 // events)

        def by_us(number: int) -> None:
            for _ in range(times):
                ours.sleep()
                ours.head()

        def by_bare(number: int) -> None:
            for _ in range(times):
                _deserialized(bare, name)

        def forget(number: int) -> None:
            ours.sleep()
            bare.execute("DELETE FROM recollect.snapshots")

        kept = in_turns(bare=by_bare, ours=by_us, rounds=rounds, operations=times)
        folded = in_turns(
            before=forget,
            bare=lambda number: in_files.admin.rebuild(),
            ours=lambda number: ours.head(),
            rounds=max(1, rounds // 4),
            operations=1,
        )
    return Waking(kept, folded)


def _deserialized(connection: psycopg.Connection[Any], name: str) -> None:
    """The image of a space as a database in memory."""
    found = connection.execute(
        "SELECT n.image FROM recollect.snapshots n JOIN recollect.spaces s ON s.id = n.space"
        " WHERE s.name = %s",
        (name,),
        prepare=True,
        binary=True,
    ).fetchone()
    if found is None:
        raise RuntimeError(f"there is no snapshot of {name!r}")
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(zlib.decompress(found[0]))
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def awake_bytes(url: str, count: int) -> float:
    """The memory that a space of 40 events takes while it is awake, in a process of its own."""
    names = [f"awake {number}" for number in range(_WARM + count)]
    texts = sentences(_EVENTS, seed=5)
    with spaces(url) as space:
        for name in names:
            fill(Memory(Handle(space(name))), texts)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(_grown_bytes, url, names).result() / count


def _grown_bytes(url: str, names: Sequence[str]) -> int:
    def woken(names: Sequence[str]) -> int:
        for name in names:
            space(name).head()
        return _resident_bytes()

    with spaces(url) as space:
        before = woken(names[:_WARM])
        return woken(names[_WARM:]) - before


def _resident_bytes() -> int:
    """The memory of this process. Its peak is no measure: a child begins with its parent's."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * resource.getpagesize()


class Place(NamedTuple):
    """A database with many spaces, of which one after the other is used."""

    space: Callable[[str], IndexedSpace]

    def memory(self, number: int) -> Memory:
        """One of the spaces that are used."""
        return Memory(Handle(self.space(_used(number))))


def _used(number: int) -> str:
    return f"used {number % _FEW}"


def growth(few: str, many: str, count: int, *, rounds: int, calls: int) -> dict[str, Paired]:
    """Every call on a database with so many spaces, against the same on one with a hundred."""
    texts = sentences(_EVENTS, seed=3)
    for url in (few, many):
        with spaces(url) as space:
            for number in range(_FEW):
                fill(Memory(Handle(space(_used(number)))), texts)
    with psycopg.connect(many, autocommit=True) as owner:
        _copy_spaces(owner, count - _FEW)
    for url in (few, many):
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("ANALYZE")
            owner.execute("CHECKPOINT")
    with spaces(few) as at_few, spaces(many) as at_many:
        small, large = Place(at_few), Place(at_many)

        def asked(call: Callable[[Place, int], object], place: Place) -> Callable[[int], None]:
            def work(number: int) -> None:
                for each in range(number * calls, (number + 1) * calls):
                    call(place, each)

            return work

        return {
            name: in_turns(
                bare=asked(call, small), ours=asked(call, large), rounds=rounds, operations=calls
            )
            for name, call in _calls(rounds * calls + calls).items()
        }


def _calls(count: int) -> dict[str, Callable[[Place, int], object]]:
    """What is asked of a place, by name; the number says of which space."""
    texts, asked = sentences(count, seed=6), questions(count)

    def woken(place: Place, number: int) -> None:
        place.space(_used(number)).sleep()
        place.memory(number).get(_KEY)

    def missing(place: Place, number: int) -> None:
        with suppress(NotFound):
            Memory(Handle(place.space(f"missing {number}"))).get(_KEY)

    return {
        "remember": lambda place, number: place.memory(number).remember(texts[number]),
        "get": lambda place, number: place.memory(number).get(_KEY),
        "list": lambda place, number: place.memory(number).list(limit=10),
        "status": lambda place, number: place.memory(number).status(),
        "recall": lambda place, number: place.memory(number).recall(asked[number]),
        "context": lambda place, number: place.memory(number).context(asked[number]),
        "wake": woken,
        "missing": missing,
    }


def _copy_spaces(owner: psycopg.Connection[Any], count: int) -> None:
    """So many spaces, each with the first events of one that is used."""

    def columns(table: str, *, but: int) -> list[str]:
        found = owner.execute(f"SELECT * FROM recollect.{table} LIMIT 0").description or ()
        return [f'"{column.name}"' for column in found[but:]]

    head, line = columns("spaces", but=2), columns("events", but=1)
    owner.execute(
        f"INSERT INTO recollect.spaces (name, {', '.join(head)})"
        f" SELECT 'many ' || n, {', '.join(f'one.{each}' for each in head)}"
        " FROM recollect.spaces one, generate_series(1, %s) n WHERE one.name = 'used 0'",
        (count,),
    )
    owner.execute(
        f"INSERT INTO recollect.events (space, {', '.join(line)})"
        f" SELECT s.id, {', '.join(f'one.{each}' for each in line)}"
        " FROM recollect.spaces s, recollect.events one WHERE s.name LIKE 'many %' AND one.seq < 3"
        " AND one.space = (SELECT id FROM recollect.spaces WHERE name = 'used 0')"
    )


@contextmanager
def spaces(url: str) -> Iterator[Callable[[str], IndexedSpace]]:
    """The spaces of a database, by name; one that is not there begins with its first event."""
    backend = PostgresBackend(url)
    try:
        yield lambda name: backend.space(name, create=not name.startswith("missing"))
    finally:
        backend.close()


def fill(memory: Memory, texts: Sequence[str]) -> None:
    """Puts texts into a memory, in batches; the first gets a key."""
    memory.remember(texts[0], key=_KEY)
    for start in range(1, len(texts), _BATCH):
        with memory.batch() as batch:
            for text in texts[start : start + _BATCH]:
                batch.remember(text)
