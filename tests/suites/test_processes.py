"""Several processes and threads write to one workspace at once."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect import Memory
from recollect.errors import Unavailable
from recollect.ledger.scan import scan
from recollect.store.files.space import FileSpace
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.conftest import Tell
from tests.suites.writers import PATIENCE_S, ROOT, Order, Told, begin, end, go, problems

WRITES = 1_000
SOME_WRITES = 300
DELETIONS = 60  # each makes somebody fold the whole ledger again
INDEX_ALONE = ("index.db",)
INDEX_AND_LOG = ("index.db", "index.db-wal", "index.db-shm")


def two_writers(where: Path, count: int) -> list[Told]:
    children = [begin(Order(where=str(where), name=name, count=count)) for name in ("ada", "bob")]
    go(*children)
    return [end(child) for child in children]


def under_deletion(
    where: Path, orders: Sequence[Order], names: Sequence[str], rng: random.Random
) -> tuple[list[Told], int]:
    """Writers at work while the index disappears again and again under their hands."""
    children = [begin(order) for order in orders]
    go(*children)
    deleted = 0
    while deleted < DELETIONS and any(child.poll() is None for child in children):
        pause(where / "index.db", rng)
        there = (where / "index.db").exists()
        for name in rng.sample(list(names), len(names)):
            (where / name).unlink(missing_ok=True)
        deleted += there
    return [end(child) for child in children], deleted


def pause(index: Path, rng: random.Random) -> None:
    """Any moment; every other time the moment after a new index appeared, the most delicate."""
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0, 0.1))
        return
    deadline = time.monotonic() + 0.5
    index.unlink(missing_ok=True)
    while not index.exists() and time.monotonic() < deadline:
        time.sleep(0.0002)
    time.sleep(rng.uniform(0, 0.004))


@pytest.mark.nightly
def test_two_processes_write_a_thousand_each(tmp_path: Path, tell: Tell) -> None:
    started = time.perf_counter()
    told = two_writers(tmp_path, WRITES)
    took_s = time.perf_counter() - started
    assert [len(one.writes) for one in told] == [WRITES, WRITES]
    assert problems(tmp_path, told, exactly=True) == []
    tell(
        f"processes: 2 × {WRITES:,} writes in {took_s:.1f} s, {2 * WRITES + 1:,} events with "
        "genesis, 0 lost, chain valid, digest = rebuild"
    )


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    told = two_writers(tmp_path, 150)
    assert [len(one.writes) for one in told] == [150, 150]
    assert problems(tmp_path, told, exactly=True) == []


@pytest.mark.parametrize("count", [SOME_WRITES, pytest.param(WRITES, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("names", [INDEX_ALONE, INDEX_AND_LOG], ids=["index", "index-and-log"])
def test_the_index_is_deleted_while_two_processes_write(
    tmp_path: Path, names: Sequence[str], count: int, tell: Tell
) -> None:
    seed = random.randrange(2**32)
    with Memory.open(tmp_path) as memory:
        known = [memory.remember(f"known {number}").id for number in range(20)]
    where = str(tmp_path)
    orders = [
        Order(where=where, name=name, count=count, reopen_every=50, patience_s=PATIENCE_S)
        for name in ("ada", "bob")
    ]
    reader = begin(
        Order(where=where, name="eve", count=0, patience_s=PATIENCE_S, known=known), "read"
    )
    go(reader)
    told, deleted = under_deletion(tmp_path, orders, names, random.Random(seed))
    heard = end(reader)
    acknowledged = sum(len(one.writes) for one in told)
    tell(
        f"processes: {deleted} deletions of {'+'.join(names)} under 2 writers and a reader, "
        f"{acknowledged:,} acknowledged, {sum(one.retries for one in told)} calls refused and sent "
        f"again, {heard.reads:,} reads, {heard.retries} refused"
    )
    assert deleted >= count // 100, f"seed {seed}"
    assert problems(tmp_path, [*told, heard], exactly=True, before=20) == [], f"seed {seed}"
    assert acknowledged == 2 * count, f"seed {seed}"


def swarm(where: Path, rng: random.Random, lock_name: str) -> tuple[list[Told], int]:
    """Four writers that open anew after every other write, while the index is deleted."""
    orders = [
        Order(
            where=str(where),
            name=name,
            count=60,
            reopen_every=2,
            lock_name=lock_name,
            patience_s=1 if lock_name == "index.db" else PATIENCE_S,
            busy_s=0.05 if lock_name == "index.db" else 30,
        )
        for name in ("ada", "bob", "cyn", "dan")
    ]
    children = [begin(order) for order in orders]
    go(*children)
    deleted = 0
    while deleted < 300 and any(child.poll() is None for child in children):
        time.sleep(rng.uniform(0, 0.02))
        deleted += (where / "index.db").exists()
        (where / "index.db").unlink(missing_ok=True)
    return [end(child) for child in children], deleted


def test_a_lock_beside_the_index_outlives_it(tmp_path: Path, tell: Tell) -> None:
    seed = random.randrange(2**32)
    told, deleted = swarm(tmp_path, random.Random(seed), FileSpace.lock_name)
    assert problems(tmp_path, told, exactly=True) == [], f"seed {seed}"
    tell(f"processes: {deleted} deletions under 4 writers that reopen: 240 writes, 0 lost, no fork")


def test_control_a_lock_on_the_index_forks_the_ledger(tmp_path: Path, tell: Tell) -> None:
    """The same writers and the same deleter, but the lock disappears with the index."""
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    seen: list[str] = []
    rounds = 0
    while not seen and rounds < 10:
        where = tmp_path / str(rounds)
        where.mkdir()
        rounds += 1
        told, _ = swarm(where, rng, "index.db")
        found = problems(where, told, exactly=False)
        # A busy or vanished index is no harm; a fork or a loss is.
        seen = [problem for problem in found if "Unavailable" not in problem]
    assert seen, f"seed {seed}"
    tell(f"processes: control: lock on index.db, seen in round {rounds}: {seen[0]}")


@pytest.mark.parametrize("call", ["read", "write"])
@pytest.mark.parametrize("which", ["old", "rebuilt"])
@pytest.mark.parametrize("moments", [*((n,) for n in range(-1, 8)), (-1, 4)], ids=str)
def test_an_index_that_vanishes_while_it_is_opened_does_no_lasting_harm(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    which: str,
    moments: tuple[int, ...],
) -> None:
    """The race of the test above, made certain: gone after so many statements; -1 is before."""
    with Memory.open(tmp_path) as memory:
        known = memory.remember("written before")
    index = tmp_path / "index.db"
    if which == "rebuilt":
        index.unlink()
    due = list(moments)

    def vanish(count: int) -> None:
        if due and count == due[0]:
            del due[0]
            index.unlink(missing_ok=True)

    class Racing(sqlite3.Connection):
        def __init__(self, database: Any, **options: Any) -> None:
            self.is_index = str(database).partition("?")[0].endswith("index.db")
            self.count = -1
            self.step()
            super().__init__(database, **options)
            self.step()

        def execute(self, *statement: Any) -> sqlite3.Cursor:
            done = super().execute(*statement)
            self.step()
            return done

        def step(self) -> None:
            if self.is_index:
                vanish(self.count)
                self.count += 1

    connect = sqlite3.connect

    def racing(database: Any, **options: Any) -> Any:
        return connect(database, factory=Racing, **options)

    with Memory.open(tmp_path) as memory:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", racing)
            with suppress(Unavailable):
                memory.get(known.id) if call == "read" else memory.remember("written meanwhile")
        assert due == []
        assert memory.remember("written after").text == "written after"
        assert memory.get(known.id) == known
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)


def test_threads_share_appends(tmp_path: Path, tell: Tell) -> None:
    threads, each = 8, 200
    written: list[tuple[str, str]] = []
    start = threading.Barrier(threads)
    failures: list[BaseException] = []
    with Memory.open(tmp_path) as memory:

        def work(name: int) -> None:
            try:
                start.wait()
                for number in range(each):
                    text = f"thread {name} says {number}"
                    written.append((memory.remember(text).id, text))
            except BaseException as error:  # noqa: BLE001  # told by the main thread
                failures.append(error)

        workers = [threading.Thread(target=work, args=(name,)) for name in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert failures == []
        events, appends = count_appends(memory)
        assert events == threads * each + 1
        assert appends < events
        texts = {record.id: record.text for record in memory.list(limit=10_000)}
        assert texts == dict(written)
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    tell(f"threads: {threads} × {each} writes, {events:,} events in {appends:,} appends, 0 lost")


def test_control_one_thread_shares_nothing(tmp_path: Path) -> None:
    """What the test above counts is the group's doing: alone, every write is an append."""
    with Memory.open(tmp_path) as memory:
        for number in range(50):
            memory.remember(f"number {number}")
        assert count_appends(memory) == (51, 51)


def count_appends(memory: Memory) -> tuple[int, int]:
    appends = list(scan(memory._handle.space.pieces()))
    ranges = {(line.first, line.last) for append in appends for line in append.lines}
    assert len(ranges) == len(appends)
    return sum(len(append.lines) for append in appends), len(appends)


def answers_after_fork(where: Path, guard: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.suites.writers", "fork", str(where), guard],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    return msgspec.json.decode(done.stdout, type=list[str])


def test_a_handle_that_came_through_a_fork_refuses(tmp_path: Path) -> None:
    answers = answers_after_fork(tmp_path, "guarded")
    assert len(answers) == 9
    assert [answer for answer in answers if not answer.endswith(" refused")] == []
    with Memory.open(tmp_path) as memory:
        assert sorted(map(str, memory.list())) == [
            "written after the fork",
            "written before the fork",
        ]
        assert memory.admin.verify().ok


def test_control_without_the_guard_a_forked_handle_does_not_refuse(tmp_path: Path) -> None:
    assert "remember worked" in answers_after_fork(tmp_path, "unguarded")
