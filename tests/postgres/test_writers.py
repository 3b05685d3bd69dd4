"""Many writers at once: on many spaces, and on one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.conftest import Tell, tell
from tests.suites.racing import problem, race

__all__ = ["tell"]


def at_once(work: list[Callable[[], None]]) -> None:
    """Runs each in a thread of its own; the first error is raised."""
    errors: list[BaseException] = []

    def run(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - told to the test below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def write(backend: PostgresBackend, space: str, writer: int, count: int) -> None:
    memory = Memory(Handle(backend.space(space, create=True)))
    for number in range(count):
        memory.remember(f"writer {writer} says {number}", id=f"w{writer}-{number}")


def check(backend: PostgresBackend, space: str, ids: set[str]) -> int:
    """Everything acknowledged is there, the chain is whole; how many events there are."""
    memory = Memory(Handle(backend.space(space, create=False)))
    assert {record.id for record in memory.list(limit=10_000)} == ids
    found = memory.admin.verify(deep=True)
    assert found.ok
    assert found.events == memory.events.position
    digest = memory.admin.digest()
    assert rebuilt_digest(memory.admin) == digest
    return found.events


def run_suite(database: str, spaces: int, writers: int, count: int, tell: Tell) -> None:
    started = time.perf_counter()
    # A backend for each writer, as in processes of their own: nothing but the server orders them.
    backends = [PostgresBackend(database) for _ in range(writers)]
    shared = PostgresBackend(database)
    try:
        at_once(
            [
                *(lambda n=n: write(shared, f"space {n}", n, count) for n in range(spaces)),
                *(lambda n=n: write(backends[n], "one", n, count) for n in range(writers)),
            ]
        )
        events = check(shared, "one", {f"w{n}-{i}" for n in range(writers) for i in range(count)})
        assert events == 1 + writers * count
        for n in range(spaces):
            check(shared, f"space {n}", {f"w{n}-{i}" for i in range(count)})
    finally:
        for backend in (*backends, shared):
            backend.close()
    tell(
        f"writers: {spaces} spaces at once and {writers} writers on one, {count} writes each: "
        f"no gap, no fork, every chain verifies, {time.perf_counter() - started:.0f} s"
    )


def test_writers_on_many_spaces_and_on_one(database: str, tell: Tell) -> None:
    run_suite(database, 4, 3, 8, tell)


@pytest.mark.nightly
def test_many_writers_on_many_spaces_and_on_one(database: str, tell: Tell) -> None:
    run_suite(database, 32, 8, 40, tell)


@pytest.mark.parametrize("rounds", [30, pytest.param(100, marks=pytest.mark.nightly)])
def test_one_of_sixteen_processes_wins_each_round(rounds: int, url: str, tell: Tell) -> None:
    won = race(url, rounds, 16)
    assert problem(url, rounds, won) is None
    tell(f"racing: 16 processes, {rounds} rounds on one record on a server: one winner each")
