"""Processes with threads that write to the spaces of a server, are killed, and begin again.

Run as `python -m tests.suites.many` with an order on its input. A process writes down each command
before it sends it and after it was acknowledged, with the time of the one clock of this machine. A
life ends by SIGKILL in the middle of the work; the next one repeats, under the same ids, what was
not acknowledged. Invariant: what is checked comes from these notes and from the rows of the ledger;
the engine is not asked whether it was right.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import subprocess
import sys
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from time import CLOCK_MONOTONIC, clock_gettime_ns

import msgspec
import psycopg

from recollect.errors import RecollectError, Unavailable
from recollect.ledger.chain import event_id
from recollect.ledger.line import parse
from recollect.lifecycle.commands import Actor, Command, Remember
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.events import KIND_OF, RecordAdded
from recollect.store.indexed.index import Index
from recollect.store.indexed.space import IndexedSpace
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.rebuilding import rebuilt_digest

ROOT = Path(__file__).resolve().parents[2]
_SILENT_MAX_S = 120  # then every thread's place is told, and the process ends
_TRIES_MAX_COUNT = 50  # of one command; a connection is lost about once in fifty calls
_CUT = """SELECT pg_terminate_backend(pid) FROM (
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1
) one"""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What one life of a process does."""

    url: str
    name: str
    notes: str  # a file; the lives of one process share it
    seed: int
    spaces: list[str]
    threads: int
    count: int  # commands of each thread, over all lives
    life: int  # calls until it is killed; 0: it is not
    asks: bool = True  # for the tail of the ledger, before it reads
    until: str = (
        ""  # notes of another one: reads instead of writing more, until that has written all
    )


class Note(msgspec.Struct, frozen=True, array_like=True):
    """One thing that a process wrote down."""

    what: str  # "sent", "acknowledged", "read" or "wrong"
    at: int  # "read": when it began
    space: str
    command: str = ""
    seq: int = 0
    hash: str = ""
    count: int = 0
    detail: str = ""


class End(msgspec.Struct, frozen=True, array_like=True):
    """Where a process sees a space at the end, with the index that it had all the time."""

    space: str
    seq: int
    digest: str


def now() -> int:
    """The clock that all processes of this machine share."""
    return clock_gettime_ns(CLOCK_MONOTONIC)


class Worker:
    """One life."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.backend = PostgresBackend(order.url)
        self._calls = 0
        self._lock = threading.Lock()
        self._before = read_notes(Path(order.notes))
        self._file = os.open(order.notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def run(self) -> None:
        """All threads, until everything was acknowledged."""
        threads = [
            threading.Thread(target=self._thread, args=(n,)) for n in range(self.order.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def ends(self) -> list[End]:
        """What this process sees now."""
        found = []
        for name in self.order.spaces:
            space = self.backend.space(name, create=True)
            with suppress(Unavailable):  # connections that were cut are noticed here at the latest
                space.existing_head()
            try:
                found.append(End(name, space.head().seq, space.digest()))
            except RecollectError as error:
                self.note(Note("wrong", now(), "", detail=f"{self.order.name} at the end: {error}"))
        return found

    def note(self, note: Note) -> None:
        """One line; it stays when the process is killed."""
        os.write(self._file, msgspec.json.encode(note) + b"\n")

    def _thread(self, number: int) -> None:
        order = self.order
        mine = f"{order.name}-{number}-"
        done = {note.command for note in self._before if note.what == "acknowledged"}
        sent = {note.command: note.space for note in self._before if note.what == "sent"}
        rng = random.Random(f"{order.seed} {order.name} {number} {len(self._before)}")
        try:
            for command in [f"{mine}{n}" for n in range(1 if order.until else order.count)]:
                if command not in done:
                    space = sent.get(command)
                    if space is None:
                        space = rng.choice(order.spaces)
                        self.note(Note("sent", now(), space, command))
                    self._write(space, command)
                    if rng.random() < 0.7:
                        self._read(rng.choice(order.spaces))
                    if rng.random() < 0.02:
                        self._cut()
            while order.until and not self._is_done(Path(order.until)):
                self._read(rng.choice(order.spaces))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails with it
            said = f"{type(error).__name__}: {error}"
            self.note(Note("wrong", now(), "", detail=f"{order.name} thread {number}: {said}"))

    def _is_done(self, path: Path) -> bool:
        """True if a process with an order like this one has written everything, and one read more.

        That read begins after the last acknowledgement.
        """
        acknowledged = sum(note.what == "acknowledged" for note in read_notes(path))
        if acknowledged == self.order.threads * self.order.count:
            self._read(self.order.spaces[0])
            return True
        return False

    def _write(self, name: str, id: str) -> None:
        space = self.backend.space(name, create=True)
        act = Remember(text=f"{id} was here", id=id, stamp="20260101-0000", chance="0" * 32)
        command = Command(id=id, actor=Actor(trust="person"), acts=(act,), named=True)
        for attempt in range(_TRIES_MAX_COUNT):
            self._live()
            try:
                seq = space.submit(command, lambda _, outcome: outcome.last)
            except Unavailable:
                if attempt == _TRIES_MAX_COUNT - 1:
                    raise
            else:
                self.note(Note("acknowledged", now(), name, id, seq))
                return

    def _read(self, name: str) -> None:
        self._live()
        began = now()
        try:
            with self.backend.space(name, create=True).reading() as reads:
                position = reads.position()
                count = reads.counts()["active"] if position and position.seq > 1 else 0
        except Unavailable:
            return
        if position is not None:
            self.note(Note("read", began, name, "", position.seq, position.hash, count))

    def _cut(self) -> None:
        """The server ends a connection, perhaps in the middle of an append."""
        with psycopg.connect(self.order.url, autocommit=True) as connection:
            connection.execute(_CUT.encode())

    def _live(self) -> None:
        """Dies if it is time; what the other threads do is cut off wherever it is."""
        with self._lock:
            self._calls += 1
            if self._calls == self.order.life:
                os.kill(os.getpid(), signal.SIGKILL)


# What is asked of notes and rows.


def read_notes(path: Path) -> list[Note]:
    """What a process wrote down, without a last line that it did not finish."""
    data = path.read_bytes() if path.exists() else b""
    return [msgspec.json.decode(raw, type=Note) for raw in data.split(b"\n")[:-1]]


def problems(url: str, notes: Sequence[Note], ends: Sequence[End]) -> list[str]:
    """What the promise does not allow; empty if it was kept."""
    found = [f"a process stopped: {note.detail}" for note in notes if note.what == "wrong"]
    for name in sorted({note.space for note in notes} - {""}):
        rows = _rows(url, name)
        mine = [note for note in notes if note.space == name]
        found += [f"{name}: {problem}" for problem in _in_space(rows, mine)]
        found += [f"{name}: {problem}" for problem in _at_end(url, name, rows, ends)]
    return found


def _rows(url: str, space: str) -> list[tuple[int, bytes]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT e.seq, e.line FROM recollect.events e JOIN recollect.spaces s ON s.id = e.space"
            " WHERE s.name = %s ORDER BY e.seq",
            (space,),
        ).fetchall()


def _in_space(rows: list[tuple[int, bytes]], notes: list[Note]) -> Iterator[str]:
    lines = [parse(raw) for _, raw in rows]
    if [seq for seq, _ in rows] != [*range(1, len(rows) + 1)]:
        yield "the numbers of the events have gaps"
    at = dict[str, int]()
    for line in lines:
        if line.id in at:
            yield f"twice: event {line.seq} is event {at[line.id]} again"
        at[line.id] = line.seq
    hashes = {line.seq: line.hash for line in lines}
    records = [0, *accumulate(line.kind == KIND_OF[RecordAdded] for line in lines)]
    acknowledged = sorted((n.at, n.seq) for n in notes if n.what == "acknowledged")
    times = [when for when, _ in acknowledged]
    highest = [0, *accumulate((seq for _, seq in acknowledged), max)]
    sent = {note.command: note.at for note in notes if note.what == "sent"}
    for note in notes:
        if note.what == "acknowledged":
            seq = at.get(event_id(note.command, 1))
            if seq is None:
                yield f"lost: {note.command}, acknowledged at {note.seq}"
            elif seq != note.seq:
                yield f"moved: {note.command} was acknowledged at {note.seq} and is at {seq}"
            began = highest[bisect_left(times, sent[note.command])]
            if note.seq <= began:
                yield f"order: {note.command} is at {note.seq} and began after {began}"
        elif note.what == "read":
            before = highest[bisect_left(times, note.at)]
            if note.seq < before:
                yield f"stale: a read ended at {note.seq}, and {before} was acknowledged before it"
            if hashes.get(note.seq) != note.hash:
                yield f"fork: a read saw another event {note.seq} than the ledger has"
            elif note.count != records[note.seq]:
                yield f"a read at {note.seq} saw {note.count} records, not {records[note.seq]}"


def _at_end(
    url: str, name: str, rows: list[tuple[int, bytes]], ends: Sequence[End]
) -> Iterator[str]:
    backend = PostgresBackend(url)
    try:
        memory = Memory(Handle(backend.space(name, create=False)))
        check = memory.admin.verify(deep=True)
        if not check.ok:
            yield f"broken: at event {check.broken_at}: {check.problem}"
            return
        digests = {memory.admin.digest(), rebuilt_digest(memory.admin)}
        digests |= {end.digest for end in ends if end.space == name}
        seqs = {len(rows), memory.events.position, *(end.seq for end in ends if end.space == name)}
        if len(digests) > 1 or len(seqs) > 1:
            yield f"the end is not the same everywhere: {sorted(seqs)}, {len(digests)} digests"
    except RecollectError as error:
        yield f"the end cannot be read: {error}"
    finally:
        backend.close()


# Running them.


class Played(msgspec.Struct):
    """What came of a run."""

    notes: list[Note]
    ends: list[End]
    kills: int

    def counted(self, what: str) -> int:
        """How many notes of a kind there are."""
        return sum(note.what == what for note in self.notes)


def play(orders: Sequence[Order]) -> Played:
    """Lives of all processes at once; one that was killed begins again at once."""
    rng = random.Random(orders[0].seed)
    ahead = (
        3 if orders[0].life else 1
    )  # started before the first begins: the others go on meanwhile
    children = [[start() for _ in range(ahead)] for _ in orders]
    ends: list[list[End]] = [[] for _ in orders]
    kills = [0] * len(orders)
    together = threading.Barrier(len(orders))
    seeds = [rng.randrange(2**32) for _ in orders]

    def keep_alive(place: int) -> None:
        order, mine = orders[place], children[place]
        lengths = random.Random(seeds[place])
        try:
            for child in mine:
                assert told(child) == b"ready\n"
            together.wait()
            while True:
                if kills[place] == len(mine):
                    mine.append(start())
                    assert told(mine[-1]) == b"ready\n"
                child = mine[kills[place]]
                life = lengths.randint(5, 2 * order.life) if order.life else 0
                tell(child, msgspec.json.encode(msgspec.structs.replace(order, life=life)))
                if told(child) == b"done\n":
                    break
                if child.wait() != -signal.SIGKILL:
                    return  # its output says why, and its end is missing
                kills[place] += 1
            together.wait()  # so that all of them look at the same end
            tell(child, b"end")
            ends[place] = msgspec.json.decode(told(child), type=list[End])
        except threading.BrokenBarrierError:
            return  # another one stopped
        finally:
            if not ends[place]:
                together.abort()

    keepers = [threading.Thread(target=keep_alive, args=(n,)) for n in range(len(orders))]
    try:
        for keeper in keepers:
            keeper.start()
        for keeper in keepers:
            keeper.join()
    finally:
        for child in [child for mine in children for child in mine]:
            child.kill()
            child.communicate()
    notes = [note for order in orders for note in read_notes(Path(order.notes))]
    return Played(notes, [end for each in ends for end in each], sum(kills))


def start() -> subprocess.Popen[bytes]:
    """A process that waits for its order."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.suites.many"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def tell(child: subprocess.Popen[bytes], line: bytes) -> None:
    """Sends one line."""
    assert child.stdin is not None
    child.stdin.write(line + b"\n")
    child.stdin.flush()


def told(child: subprocess.Popen[bytes]) -> bytes:
    """The next line that it says; empty if it ended."""
    assert child.stdout is not None
    return child.stdout.readline()


@contextmanager
def _not_asking(space: IndexedSpace) -> Iterator[Index]:
    """The control: a read that takes what it has, and does not ask for the tail."""
    with space.held():
        yield space.index or space.follow(space.look())


def main() -> None:
    say(b"ready")
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    faulthandler.dump_traceback_later(_SILENT_MAX_S, exit=True)
    if not order.asks:
        IndexedSpace.inside = _not_asking  # type: ignore[assignment,method-assign]
    worker = Worker(order)
    worker.run()
    faulthandler.cancel_dump_traceback_later()
    say(b"done")
    if sys.stdin.buffer.readline() == b"end\n":
        say(msgspec.json.encode(worker.ends()))
        worker.backend.close()


def say(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
