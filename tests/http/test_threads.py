"""The threads of the service: answers, errors, context, and what nobody waits for any more."""

from __future__ import annotations

import asyncio
import weakref
from contextvars import ContextVar
from threading import Event, Thread, current_thread

import pytest

from recollect.serving.threads import Threads

NAME: ContextVar[str] = ContextVar("NAME", default="none")


def test_work_is_done_in_a_thread_with_the_context_of_its_caller() -> None:
    async def asked() -> None:
        threads = Threads(2, "try")
        NAME.set("ada")
        assert await threads.run(NAME.get) == "ada"
        assert (await threads.run(lambda: current_thread().name)).startswith("try_")
        with pytest.raises(KeyError, match="lost"):
            await threads.run({}.__getitem__, "lost")
        assert await asyncio.gather(*(threads.run(pow, 2, each) for each in range(50))) == [
            2**each for each in range(50)
        ]
        threads.shutdown()
        with pytest.raises(RuntimeError, match="have ended"):
            threads.run(NAME.get)

    asyncio.run(asked())


def test_work_that_nobody_waits_for_is_finished_if_it_has_begun() -> None:
    begun, go_on, done, never = Event(), Event(), Event(), Event()

    def slow() -> None:
        begun.set()
        go_on.wait(60)
        done.set()

    async def given_up() -> Threads:
        threads = Threads(1, "try")
        waiting = threads.run(slow)
        waits_too = threads.run(never.set)
        while not begun.is_set():
            await asyncio.sleep(0)
        waiting.cancel()
        waits_too.cancel()
        go_on.set()
        await asyncio.sleep(0.01)
        return threads

    asyncio.run(given_up()).shutdown()  # after its loop has ended
    assert done.is_set()
    assert not never.is_set()


def test_a_thread_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Thread.start

    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def asked() -> None:
        threads = Threads(2, "try")
        monkeypatch.setattr(Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="start new thread"):
            threads.run(NAME.get)
        monkeypatch.setattr(Thread, "start", start)
        assert await threads.run(NAME.get) == "none"
        monkeypatch.setattr(Thread, "start", refuse)
        assert await threads.run(NAME.get) == "none"  # by the one that there is
        threads.shutdown()

    asyncio.run(asked())


def test_work_that_ends_an_iteration_is_an_error() -> None:
    async def asked() -> None:
        threads = Threads(1, "try")
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.run(next, iter(()))
        threads.shutdown()

    asyncio.run(asked())


def test_a_waiting_thread_keeps_no_answer_alive() -> None:
    class Answer:
        pass

    async def asked() -> None:
        threads = Threads(1, "try")
        found = weakref.ref(await threads.run(Answer))
        for _ in range(6_000):
            if found() is None:
                break
            await asyncio.sleep(0.01)
        assert found() is None
        threads.shutdown()

    asyncio.run(asked())


def test_threads_that_never_worked_end() -> None:
    Threads(3, "try").shutdown()
