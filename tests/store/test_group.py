"""Threads that write at the same time share appends, and no caller waits forever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from recollect.errors import Unavailable
from recollect.lifecycle.commands import Actor, Command
from recollect.store.group import AnyRequest, Group

COMMAND = Command(id="c", actor=Actor(trust="person"), acts=())


class Appends:
    """A leader's work: takes all who wait, as a disk would, and counts them."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, taken: list[AnyRequest]) -> int:
        time.sleep(0.002)
        self.sizes.append(len(taken))
        return len(taken)


def at_once(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_eight_threads_share_appends_and_each_command_is_written_once() -> None:
    appends = Appends()
    group = Group(appends)

    def work() -> None:
        for _ in range(20):
            group.submit(COMMAND, lambda reads, outcome: None)

    at_once(8, work)
    assert sum(appends.sizes) == 160
    assert len(appends.sizes) <= 160 / 2


def test_a_caller_that_finds_the_turn_taken_continues_once_it_is_free() -> None:
    appends = Appends()
    group = Group(appends)
    group.turn.acquire()  # as an erasure or a rebuild does, without leading
    threading.Timer(0.05, group.turn.release).start()
    at_once(4, lambda: group.submit(COMMAND, lambda reads, outcome: None))
    assert sum(appends.sizes) == 4


def test_a_leader_that_fails_leaves_the_turn_to_the_next() -> None:
    appends = Appends()

    def fails_once(taken: list[AnyRequest]) -> int:
        if not appends.sizes:
            appends.sizes.append(0)
            raise Unavailable("closed")
        return appends(taken)

    group = Group(fails_once)
    with pytest.raises(Unavailable):
        group.submit(COMMAND, lambda reads, outcome: None)
    group.submit(COMMAND, lambda reads, outcome: None)
    assert sum(appends.sizes) == 1


def test_an_interrupted_leader_leaves_no_caller_waiting() -> None:
    """Waiting callers get the error, and the next caller is served."""
    inside, go_on = threading.Event(), threading.Event()
    heard: list[str] = []

    def interrupted_once(taken: list[AnyRequest]) -> int:
        if not inside.is_set():
            inside.set()
            go_on.wait(60)
            raise KeyboardInterrupt
        return len(taken)

    group = Group(interrupted_once)

    def write() -> None:
        try:
            group.submit(COMMAND, lambda reads, outcome: None)
            heard.append("written")
        except (Unavailable, KeyboardInterrupt) as error:
            heard.append(type(error).__name__)

    first = threading.Thread(target=write)
    first.start()
    assert inside.wait(60)
    second = threading.Thread(target=write)
    second.start()
    go_on.set()
    first.join(60)
    second.join(60)
    assert sorted(heard) == ["KeyboardInterrupt", "written"]


def test_a_thread_with_exclusive_use_cannot_wait_for_itself() -> None:
    group = Group(Appends())
    with group.alone():
        with pytest.raises(Unavailable):
            group.submit(COMMAND, lambda reads, outcome: None)
        with pytest.raises(Unavailable), group.alone():
            pass
    group.submit(COMMAND, lambda reads, outcome: None)
