"""Threads that work for an event loop.

Responsible for handing work over and its answer back. Leaves what is done to the callers. A pool of
``concurrent.futures`` does the same with two futures and three locks for each call, which is a
third of what a short request costs. Invariants: what was handed over before ``shutdown`` is done,
unless nobody waits for it any more; what has begun is finished; each call is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Task(NamedTuple):
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    context: Context  # a span of the engine finds its request there
    work: Callable[..., Any]
    given: tuple[object, ...]


class Threads:
    """So many threads, which take work in the order it comes."""

    def __init__(self, count: int, name: str) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._names = [f"{name}_{number}" for number in range(count)]
        self._threads: list[Thread] = []
        self._is_ending = False

    def run(self, work: Callable[..., T], *given: object) -> asyncio.Future[T]:
        """Has ``work(*given)`` done by a thread."""
        if self._is_ending:
            raise RuntimeError("these threads have ended")
        if len(self._threads) < len(self._names):  # begun late, so that a start is quick
            self._start()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._tasks.put(_Task(loop, answer, copy_context(), work, given))
        return answer

    def shutdown(self) -> None:
        """Waits until all work is done."""
        self._is_ending = True
        for _ in self._threads:
            self._tasks.put(None)
        for each in self._threads:
            each.join()

    def _start(self) -> None:
        """One more thread; an error only if there would be none."""
        thread = Thread(target=self._work, name=self._names[len(self._threads)], daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has none left; the next call tries again
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if not task.answer.cancelled():
                _do(task)
            del task  # a thread that waits keeps no answer alive


def _do(task: _Task) -> None:
    try:
        found = task.context.run(task.work, *task.given)
    except StopIteration as error:  # which no future can hold
        _tell(task, _fail, RuntimeError(f"the work ended with {error!r}"))
    except BaseException as error:  # noqa: BLE001 - raised where the answer is awaited
        _tell(task, _fail, error)
    else:
        _tell(task, _answer, found)


def _tell(task: _Task, how: Callable[[asyncio.Future[Any], Any], None], found: object) -> None:
    with suppress(RuntimeError):  # the loop has ended, and with it everything that waits
        task.loop.call_soon_threadsafe(how, task.answer, found)


def _answer(future: asyncio.Future[Any], found: object) -> None:
    if not future.done():  # cancelled meanwhile
        future.set_result(found)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
