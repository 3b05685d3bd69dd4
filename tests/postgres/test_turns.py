"""Threads of one process in one space: whatever they nest in each other, none waits for ever."""

from __future__ import annotations

import faulthandler
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import count
from time import monotonic

import pytest

from recollect.compose import scratch_space
from recollect.errors import RecollectError, Unavailable
from recollect.ledger.chain import event_id
from recollect.ledger.line import parse
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.memory.merging import merge
from recollect.model.values import Choice
from recollect.store.carry import begun
from recollect.store.indexed.backend import IndexedBackend, MemoryBackend
from recollect.store.indexed.space import IndexedSpace
from recollect.store.port import Copyable, Space
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.seam import REAL, Seam
from recollect.testing.acts import command, hand, remember
from recollect.testing.rebuilding import rebuilt_digest

THREADS = 6
PATIENCE_S = 60.0
CIRCLE = "this call would wait for a thread that waits for this one"


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
        digest = memory.admin.digest()
        assert rebuilt_digest(memory.admin) == digest
        assert memory.admin.verify(deep=True).ok
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


# Several spaces in one process.


def wait_in(space: IndexedSpace, start: threading.Barrier, then: Callable[[], object]) -> None:
    """Has the turn of a space when the others have theirs, and then wants another."""
    with space.reading():
        start.wait(PATIENCE_S)
        then()


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("is_write", [False, True])
def test_turns_that_would_wait_in_a_circle_are_refused(
    backend: IndexedBackend, count: int, is_write: bool
) -> None:
    spaces = [backend.space(f"s{n}", create=True) for n in range(count)]
    for space in spaces:
        space.head()
    start, refused, done = threading.Barrier(count), list[str](), list[int]()

    def use(number: int) -> None:
        other = spaces[(number + 1) % count]

        def want() -> None:
            id = f"id-{number}"
            if is_write:
                other.submit(command(id, remember(id)), lambda *_: None)
            else:
                other.head()

        try:
            wait_in(spaces[number], start, want)
            done.append(number)
        except Unavailable as error:
            refused.append(error.message)

    at_once([partial(use, number) for number in range(count)])
    assert {*refused} == {CIRCLE}  # one of them gave way, at least
    assert len(refused) + len(done) == count
    for space in spaces:
        space.submit(command("after", remember("after")), lambda *_: None)


def test_control_turns_in_one_order_are_waited_for(backend: IndexedBackend) -> None:
    first, second, third = (backend.space(f"s{n}", create=True) for n in range(3))
    start = threading.Barrier(2)
    has_all, got = threading.Event(), list[str]()

    def longest() -> None:
        with third.reading():
            start.wait(PATIENCE_S)
            assert has_all.wait(PATIENCE_S)
        got.append("longest")

    def middle() -> None:
        with second.reading():
            start.wait(PATIENCE_S)
            has_all.set()
            third.head()
        got.append("middle")

    def last() -> None:
        assert has_all.wait(PATIENCE_S)
        with first.reading():
            second.head()
        got.append("last")

    at_once([longest, middle, last])
    assert sorted(got) == ["last", "longest", "middle"]


@pytest.mark.parametrize("calls", [12, pytest.param(100, marks=pytest.mark.nightly)])
def test_calls_in_several_spaces_inside_each_other_lose_nothing(
    backend: IndexedBackend, calls: int
) -> None:
    seed = random.randrange(2**32)
    spaces = [backend.space(f"s{n}", create=True) for n in range(3)]
    told, refused = [list[str]() for _ in spaces], list[str]()

    def play(name: str) -> None:
        rng = random.Random(f"{seed} {name}")
        number = count()

        def act(depth: int) -> None:
            at = rng.randrange(3)
            if depth < 3 and rng.random() < 0.6:
                with spaces[at].reading():
                    for _ in range(rng.randint(1, 2)):
                        act(depth + 1)
            elif rng.random() < 0.2:
                spaces[at].flush()
            else:
                id = f"{name}-{next(number)}"
                spaces[at].submit(command(id, remember(id, id)), lambda *_: None)
                told[at].append(id)

        for _ in range(calls):
            try:
                act(0)
            except Unavailable as error:
                refused.append(error.message)

    at_once([partial(play, f"t{n}") for n in range(THREADS)])
    assert {*refused} <= {CIRCLE}, f"{seed=}"
    for space, ids in zip(spaces, told, strict=True):
        with space.reading() as reads:
            assert [id for id in ids if reads.version(id) is None] == [], f"{seed=}"
        assert Memory(Handle(space)).admin.verify(deep=True).ok


@pytest.mark.parametrize("is_control", [False, True])
def test_two_memories_that_are_merged_into_each_other_at_once_come_together(
    backend: IndexedBackend, monkeypatch: pytest.MonkeyPatch, is_control: bool
) -> None:
    """Each has its own turn when it reads the other; the control opens it only then."""
    sides = [Memory(Handle(backend.space(name, create=True))) for name in ("first", "second")]
    sides[0].remember("The seat is 12A.", key="seat")
    sides[0].admin.copy_to(sides[1])
    for number, memory in enumerate(sides):
        memory.remember(f"The seat is {number}.", key="seat")
    (conflict,) = sides[0].admin.merge_from(sides[1], is_mine=True, dry_run=True).conflicts
    both_have_looked, both_have_their_turn = threading.Barrier(2), threading.Barrier(2)

    @contextmanager
    def looked(source: Copyable) -> Iterator[Iterator[bytes]]:
        with nullcontext(source.pieces()) if is_control else begun(source) as pieces:
            both_have_looked.wait(PATIENCE_S)
            yield pieces

    def made(name: str, seam: Seam = REAL) -> Space:
        both_have_their_turn.wait(PATIENCE_S)
        return scratch_space(name, seam)

    def bring(mine: int, word: Choice) -> None:
        sides[mine].admin.merge_from(sides[1 - mine], is_mine=True, choose={conflict.id: word})

    def bring_both() -> None:
        at_once([partial(bring, 0, "ours"), partial(bring, 1, "theirs")])

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(merge, "begun", looked)
        meanwhile.setattr(merge, "scratch_space", made)
        if is_control:
            with pytest.raises(Unavailable, match="waits for this one"):
                bring_both()
            return
        bring_both()
    for mine in (0, 1):
        sides[mine].admin.merge_from(sides[1 - mine], is_mine=True)
    assert [memory.get(key="seat").text for memory in sides] == ["The seat is 0."] * 2
    assert all(memory.admin.verify(deep=True).ok for memory in sides)
