"""Threads of one process in one space: whatever they nest in each other, none waits for ever."""

from __future__ import annotations

import faulthandler
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from time import monotonic

import pytest

from recollect.errors import RecollectError, Unavailable
from recollect.ledger.chain import event_id
from recollect.ledger.line import parse
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.indexed.backend import IndexedBackend, MemoryBackend
from recollect.store.indexed.space import IndexedSpace
from recollect.store.postgres.backend import PostgresBackend
from recollect.testing.acts import command, hand, remember
from recollect.testing.rebuilding import rebuilt_digest

THREADS = 6
PATIENCE_S = 60.0


@pytest.fixture(params=["memory", "server"])
def backend(request: pytest.FixtureRequest) -> Iterator[IndexedBackend]:
    if request.param == "memory":
        made: IndexedBackend = MemoryBackend()
    else:
        made = PostgresBackend(request.getfixturevalue("database"))
    yield made
    made.close()


def at_once(works: list[Callable[[], None]]) -> None:
    """Runs all of them; if one does not end, the place of every thread is told."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            start.wait(PATIENCE_S)
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    end = monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, end - monotonic()))
    if any(thread.is_alive() for thread in threads):
        faulthandler.dump_traceback(2, all_threads=True)
        pytest.fail("threads wait for each other")
    if errors:
        raise errors[0]


class Thread:
    """Calls of one thread, in an order by chance, some of them inside others."""

    def __init__(self, space: IndexedSpace, name: str, seed: str) -> None:
        self.space = space
        self.name = name
        self.rng = random.Random(seed)
        self.written = list[str]()
        self.receipts = list[str]()

    def play(self, calls: int) -> None:
        for _ in range(calls):
            self.call(0)

    def call(self, depth: int) -> None:
        """One call; a read may have others inside."""
        often = [self.write, self.write, self.write_all, self.leave, self.space.flush, self.look]
        calls: list[Callable[[], object]] = [*often, *often]
        calls += [self.space.seal, self.space.purge, self.space.digest, self.space.sleep]
        calls += [partial(self.read, depth)] * (4 if depth < 3 else 0)
        self.rng.choice(calls)()

    def read(self, depth: int) -> None:
        """One state, as far as this thread itself does not write."""
        with self.space.reading() as reads:
            before = reads.position()
            assert self.space.head().seq >= (before.seq if before else 0)
            assert reads.position() == before
            for _ in range(self.rng.randint(0, 3)):
                self.call(depth + 1)

    def look(self) -> None:
        """Everything that this thread has written."""
        with self.space.reading() as reads:
            for id in self.written[-3:]:
                assert reads.version(id) is not None

    def write(self) -> None:
        id = f"{self.name}-{len(self.written)}"
        self.space.submit(command(id, remember(id, id)), lambda *_: None)
        self.written.append(id)

    def write_all(self) -> None:
        count = len(self.written)
        ids = [f"{self.name}-{count + n}" for n in range(3)]
        told = self.space.submit_all([command(id, remember(id, id)) for id in ids], lambda *_: None)
        assert told == [None] * 3
        self.written += ids

    def leave(self) -> None:
        id = f"receipt-{self.name}-{len(self.receipts)}"
        self.space.later(command(id, hand(id)))
        self.receipts.append(id)


@pytest.mark.parametrize("calls", [25, pytest.param(200, marks=pytest.mark.nightly)])
def test_calls_inside_reads_wait_for_nobody(backend: IndexedBackend, calls: int) -> None:
    seed = random.randrange(2**32)
    space = backend.space("main", create=True)
    threads = [Thread(space, f"t{n}", f"{seed} {n}") for n in range(THREADS)]
    try:
        at_once([partial(one.play, calls) for one in threads])
        space.flush()
        memory = Memory(Handle(space))
        lines = [parse(raw) for raw in b"".join(space.pieces()).splitlines()]
        told = [id for one in threads for id in (*one.written, *one.receipts)]
        found = Counter(line.id for line in lines)
        assert [id for id in told if found[event_id(id, 1)] != 1] == []
        digest = memory.digest()
        assert rebuilt_digest(memory) == digest
        assert memory.verify(deep=True).ok
    except BaseException:
        print(f"seed {seed}")  # noqa: T201 - to play the same again
        raise


def test_closing_waits_for_who_reads_and_refuses_who_comes(backend: IndexedBackend) -> None:
    space = backend.space("main", create=True)
    space.head()
    acknowledged = list[str]()
    is_written = threading.Event()

    def write(name: str) -> None:
        for id in (f"{name}-{number}" for number in count()):
            space.submit(command(id, remember(id, id)), lambda *_: None)
            acknowledged.append(id)
            is_written.set()

    def read() -> None:
        while True:
            with space.reading() as reads:
                assert reads.position() is not None

    def until_closed(work: Callable[[], None]) -> None:
        with pytest.raises(Unavailable, match="closed"):
            work()

    def close() -> None:
        assert is_written.wait(PATIENCE_S)
        space.close()

    works: list[Callable[[], None]] = [*(partial(write, f"t{n}") for n in range(3)), read, read]
    at_once([*(partial(until_closed, work) for work in works), close])
    again = backend.space("main", create=False)
    with again.reading() as reads:
        assert [id for id in acknowledged if reads.version(id) is None] == []


def test_an_error_inside_a_read_leaves_the_turn_free(backend: IndexedBackend) -> None:
    space = backend.space("main", create=True)

    def fail(id: str) -> None:
        with space.reading():
            space.submit(command(id, remember(id)), lambda *_: None)
            raise RecollectError("enough")

    def fail_often() -> None:
        for number in range(5):
            with pytest.raises(RecollectError, match="enough"):
                fail(f"id-{number}")

    at_once([fail_often, *(partial(Thread(space, f"t{n}", f"{n}").play, 5) for n in range(2))])
    assert space.head().seq > 5
