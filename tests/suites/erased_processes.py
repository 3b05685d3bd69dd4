"""A process with a memory on a server, which does what it is told, and what is searched in it.

Run as `python -m tests.suites.erased_processes ADDRESS SPACE KIND`: each line of its input is one
act, and each line of its output one answer. Invariant: what is searched are bytes, of rows as
the owner reads them and of the open files of a process; the engine is not asked whether it was
right.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import psycopg

from recollect.errors import NotFound, RecollectError
from recollect.finding.vectors import Leg, catch_up
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.store import sqlite
from recollect.store.indexed import follower, index
from recollect.store.indexed.ledger import Snapshot
from recollect.store.indexed.space import IndexedSpace
from recollect.testing.embedders import WordEmbedder
from tests.suites.canaries import forms

ROOT = Path(__file__).resolve().parents[2]
EMBEDDER = WordEmbedder()
Kind = Literal["small", "large", "untidy"]


class Act(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a process does next."""

    do: Literal["remember", "subjects", "read", "erase", "take", "keep", "sleep", "drop", "embed"]
    texts: list[str] = []
    user: str | None = None
    id: str | None = None
    key: str | None = None
    words: list[str] = []


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What it answers."""

    texts: list[str] = []
    places: tuple[str, ...] = ()
    kept: bool | None = None
    error: str | None = None


# In the process.


class Worker:
    """One memory; its index lies in a temporary file if it is told to be large."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._taken: tuple[int, Snapshot] | None = None

    @property
    def space(self) -> IndexedSpace:
        space = handle_of(self.memory).space
        assert isinstance(space, IndexedSpace)
        return space

    def done(self, act: Act) -> Said:
        """Does one thing; a refusal is an answer."""
        try:
            said: Said = getattr(self, f"_{act.do}")(act)
        except RecollectError as error:
            return Said(error=f"{type(error).__name__}: {error}")
        return said

    def _subjects(self, _: Act) -> Said:
        self.memory.settings.set_subjects("users")
        return Said()

    def _remember(self, act: Act) -> Said:
        for number, text in enumerate(act.texts):
            self.memory.scoped(user=act.user).remember(text, id=f"{act.id}-{number}")
        return Said()

    def _read(self, act: Act) -> Said:
        """Everything that is listed, and what is found with each word and its vector."""
        texts = [record.text for record in self.memory.list(limit=1000)]
        for word in act.words:
            texts += [hit.text for hit in self.memory.recall(word)]
        best = self._leg().vectors.best(EMBEDDER.embed_query(" ".join(act.words)), 50, set)
        with self.space.reading() as reads:
            texts += [row.text for seq, _ in best if (row := reads.by_event(seq))]
        return Said(texts=texts)

    def _embed(self, _: Act) -> Said:
        catch_up(self.space, self._leg())
        return Said()

    def _erase(self, act: Act) -> Said:
        more: dict[str, Any] = {"subject": act.user} if act.id is None else {"id": act.id}
        return Said(places=self.memory.erase(**more, idempotency_key=act.key).places)

    def _take(self, _: Act) -> Said:
        """An image as it is now, to be kept later."""
        with self.space.inside() as index:
            self._taken = self.space.epoch, Snapshot(1 << 40, index.image())
        return Said()

    def _keep(self, _: Act) -> Said:
        """Keeps the image that was taken; the epoch is the one at which it was made."""
        assert self._taken is not None
        epoch, taken = self._taken
        return Said(kept=self.space.ledger.keep_snapshot(epoch, "old", taken))

    def _sleep(self, _: Act) -> Said:
        return Said(kept=self.space.sleep())

    def _drop(self, _: Act) -> Said:
        return Said(places=self.space.drop(None).places)

    def _leg(self) -> Leg:
        return Leg(EMBEDDER, self.space.vectors(EMBEDDER.name, EMBEDDER.dimensions))


def work(address: str, space: str, kind: Kind) -> None:
    """Answers until the input ends."""
    follower._SNAPSHOT_MIN_EVENTS = 4  # type: ignore[misc]
    if kind == "untidy":  # the control: what was erased stays in pages that nothing uses
        index.Index.clean = _clean_nothing  # type: ignore[assignment, method-assign]
    if kind != "small":  # as if it took more memory, with few pages of the file in memory
        index._MEMORY_MAX_BYTES, index.CACHE_BYTES = 1, 0  # type: ignore[misc, attr-defined]
        sqlite._WRITABLE_ASIDE = (*sqlite._WRITABLE_ASIDE[:2], "cache_size = 10")  # type: ignore[misc]
    with Memory.open(address, space=space, embedder="none") as memory:
        worker = Worker(memory)
        for raw in sys.stdin.buffer:
            said = worker.done(msgspec.json.decode(raw, type=Act))
            sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
            sys.stdout.buffer.flush()


def _clean_nothing(index: index.Index) -> None:
    index.is_clean = True


# Outside of it.


class Process:
    """One of them, as the one who gives orders sees it."""

    def __init__(self, address: str, space: str, kind: Kind) -> None:
        self.is_large = kind != "small"
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.suites.erased_processes", address, space, kind],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(self, do: Any, **more: Any) -> Said:
        """One act, and its answer."""
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(msgspec.json.encode(Act(do=do, **more)) + b"\n")
        child.stdin.flush()
        return msgspec.json.decode(child.stdout.readline(), type=Said)

    def stop(self) -> None:
        """Stops it; returns when it is stopped."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._child.kill()
        self._end()

    def close(self) -> None:
        """Ends it cleanly."""
        if self._child.poll() is None:
            assert self._child.stdin is not None
            self._child.stdin.close()
            self._end()

    def _end(self) -> None:
        self._child.wait(60)
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()

    def is_in(self, places: Iterable[str], start: str) -> bool:
        """True if a line of a report begins so and names this process."""
        return any(line.startswith(start) and f"process {self.pid} on " in line for line in places)

    def files(self) -> bytes:
        """What its files without a name hold; it may be stopped."""
        found = list[bytes]()
        for path in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                name = os.readlink(path)
                if name.endswith(" (deleted)"):
                    found.append(path.read_bytes())
            except OSError:  # closed meanwhile
                continue
        return b"".join(found)


def holding(data: bytes, words: Iterable[str]) -> list[str]:
    """Those of the words that are there in any form."""
    return [word for word in words if any(raw in data for _, raw in forms(word))]


def cached(address: str) -> Iterator[tuple[str, bytes]]:
    """Every snapshot and block as the owner of the database reads it, also unpacked."""
    with psycopg.connect(address, autocommit=True) as owner:
        rows = owner.execute(
            "SELECT 'snapshot ' || version, image FROM recollect.snapshots UNION ALL"
            " SELECT 'block ' || after, rows FROM recollect.blocks"
        ).fetchall()
    for name, data in rows:
        yield str(name), bytes(data)
        try:
            yield f"{name}, unpacked", zlib.decompress(bytes(data))
        except zlib.error:
            continue


def left(address: str, words: Iterable[str], rows: Iterable[bytes] = ()) -> list[str]:
    """The caches that hold one of the words, or one of these rows of vectors."""
    wanted, vectors = [*words], [*rows]
    return [
        name
        for name, data in cached(address)
        if holding(data, wanted) or any(row in data for row in vectors)
    ]


if __name__ == "__main__":
    try:
        work(sys.argv[1], sys.argv[2], cast(Kind, sys.argv[3]))
    except (BrokenPipeError, NotFound):
        sys.exit(1)
