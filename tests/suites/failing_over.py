"""Processes that write while servers fail, and what the last server says about it.

Run as ``python -m tests.suites.failing_over`` it is such a process: each of its threads sends a
text until it is acknowledged, with one key for all tries, and notes where it was written.
Responsible for writing and judging. Leaves the servers to ``standbys``. Invariant: what is noted as
acknowledged came back from a call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec

from recollect.errors import Unavailable
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.values import Episode
from recollect.store.postgres import wait
from recollect.store.postgres.db import WAITS_MAX
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.halting import until

ROOT: Final = Path(__file__).resolve().parents[2]
AGAIN_S: Final = 0.02
SHARED: Final = "shared"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to do."""

    address: str
    name: str
    threads: int
    notes: str  # a file
    answer_max_s: float


class Note(msgspec.Struct, frozen=True, array_like=True):
    """A text that was acknowledged."""

    space: str
    seq: int
    text: str


class Judged(NamedTuple):
    """What a server says about what was acknowledged."""

    acknowledged: int
    there: int
    lost: int
    twice: int
    moved: int  # at another place of the ledger than was said
    is_sound: bool


class Writing:
    """Processes that write until they are told to stop."""

    def __init__(
        self, address: str, folder: Path, *, processes: int, threads: int, answer_max_s: float
    ) -> None:
        self._notes = [folder / f"{number}.notes" for number in range(processes)]
        self._children = list[subprocess.Popen[bytes]]()
        for number, notes in enumerate(self._notes):
            notes.touch()
            order = Order(
                address=address, name=f"p{number}", threads=threads, notes=str(notes),
                answer_max_s=answer_max_s,
            )  # fmt: skip
            words = [sys.executable, "-m", "tests.suites.failing_over"]
            child = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE)
            self._children.append(child)
            assert child.stdin is not None
            child.stdin.write(msgspec.json.encode(order) + b"\n")
            child.stdin.flush()

    @property
    def count(self) -> int:
        """How many texts were acknowledged."""
        return sum(notes.read_bytes().count(b"\n") for notes in self._notes)

    def wait_for(self, more: int) -> None:
        """Until every process has had so many more texts acknowledged."""
        wanted = [notes.read_bytes().count(b"\n") + more for notes in self._notes]

        def is_done() -> bool:
            assert all(child.poll() is None for child in self._children), "a writer has ended"
            counts = [notes.read_bytes().count(b"\n") for notes in self._notes]
            return all(count >= least for count, least in zip(counts, wanted, strict=True))

        until(is_done)

    def stop(self) -> list[Note]:
        """Ends them, each after its last text; returns what was acknowledged."""
        for child in self._children:
            assert child.stdin is not None
            child.stdin.close()
        assert [child.wait(timeout=120) for child in self._children] == [0] * len(self._children)
        return self.noted()

    def noted(self) -> list[Note]:
        """What was acknowledged until now."""
        return [
            msgspec.json.decode(line, type=Note)
            for notes in self._notes
            for line in notes.read_bytes().splitlines(keepends=True)
            if line.endswith(b"\n")
        ]

    def kill(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()
            assert child.stdin is not None
            child.stdin.close()


@contextmanager
def writing(
    address: str, folder: Path, *, processes: int, threads: int, answer_max_s: float = 2.0
) -> Iterator[Writing]:
    """Processes that write meanwhile."""
    found = Writing(
        address, folder, processes=processes, threads=threads, answer_max_s=answer_max_s
    )
    try:
        yield found
    finally:
        found.kill()


def judged(address: str, notes: Sequence[Note]) -> Judged:
    """Compares what was acknowledged with what a server has."""
    there, moved, is_sound = Counter[tuple[str, str]](), 0, True
    with closing(PostgresBackend(address)) as backend:
        for name in backend.spaces():
            memory = Memory(Handle(backend.space(name, create=False)))
            places = {record.seq: record.text for record in _records(memory)}
            there.update((name, text) for text in places.values())
            moved += sum(places.get(note.seq) != note.text for note in notes if note.space == name)
            is_sound &= memory.admin.verify(deep=True).ok
    lost = sum((note.space, note.text) not in there for note in notes)
    twice = sum(count > 1 for count in there.values())
    return Judged(len(notes), there.total(), lost, twice, moved, is_sound)


def _records(memory: Memory) -> Iterator[Episode]:
    after: str | None = None
    while page := memory.sessions.episodes(limit=10_000, after=after):
        yield from page
        after = page[-1].id


def main() -> None:
    """Writes until its input ends."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    wait.ANSWER_MAX_S["usual"] = order.answer_max_s
    WAITS_MAX["lock"] = f"{order.answer_max_s / 2}s"
    is_ending, lock = threading.Event(), threading.Lock()
    with (
        closing(PostgresBackend(order.address)) as backend,
        open(order.notes, "ab", 0) as notes,
        ThreadPoolExecutor(order.threads) as threads,
    ):
        write = partial(_write, backend, order, is_ending, notes, lock)
        for number in range(order.threads):
            threads.submit(write, number).add_done_callback(_end_if_failed)
        sys.stdin.buffer.read()
        is_ending.set()


def _end_if_failed(found: Future[None]) -> None:
    error = found.exception()
    if error is not None:
        traceback.print_exception(error)
        os._exit(1)


def _write(
    backend: PostgresBackend,
    order: Order,
    is_ending: threading.Event,
    notes: IO[bytes],
    lock: threading.Lock,
    number: int,
) -> None:
    """Every other thread writes into one space for all."""
    name = SHARED if number % 2 else f"{order.name}-{number}"
    turn = 0
    while not is_ending.is_set():
        text = f"{order.name}-{number}-{turn}"
        note = Note(name, _written(backend, name, text), text)
        with lock:
            notes.write(msgspec.json.encode(note) + b"\n")
        turn += 1


def _written(backend: PostgresBackend, name: str, text: str) -> int:
    while True:
        try:
            memory = Memory(Handle(backend.space(name, create=True)))
            return memory.observe(text, role="user", idempotency_key=text)[0].seq
        except Unavailable:
            time.sleep(AGAIN_S)


if __name__ == "__main__":
    main()
