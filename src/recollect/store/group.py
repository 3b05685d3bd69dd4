"""Group commit: threads that write at the same time share one append.

Responsible for the queue and for choosing a leader. Leaves the append itself to the engine.
Invariant: a request is answered exactly once, by the leader that took it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Generic, TypeVar

from recollect.errors import RecollectError, Unavailable
from recollect.index.reads import Reads
from recollect.lifecycle.commands import Actor, Command
from recollect.model import limits
from recollect.store import figures
from recollect.store.listeners import Listeners
from recollect.store.port import Answer, Outcome

T = TypeVar("T")

_NAP_S: Final = 0.01
_NOTHING: Final = Command(id="nothing", actor=Actor(trust="unverified"), acts=())
_AGAIN: Final = "check whether it was written; if not, write it again"


class Request(Generic[T]):
    """One waiting caller."""

    def __init__(self, command: Command, answer: Answer[T]) -> None:
        self.command = command
        self._answer = answer
        self._value: T | None = None
        self._error: Exception | None = None
        self.is_declined = False  # refused alone, in an append that is durable
        self.done = False

    def prepare(self, reads: Reads, outcome: Outcome) -> None:
        """Stores the answer; the caller gets it only once the append is durable."""
        self._value = self._answer(reads, outcome)
        self._error, self.is_declined = None, False

    def decline(self, error: Exception) -> None:
        """Stores a refusal; returned only then too, since it may depend on other commands."""
        self._error, self.is_declined = error, True

    def refuse(self, error: Exception) -> None:
        """Fails the command now: it was not written, or its outcome is unknown."""
        self._error, self.is_declined = error, False
        self.done = True

    def result(self) -> T:
        """The result for the caller."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set by prepare, whatever T is

    def outcome(self) -> T | RecollectError:
        """The result, or why the command was refused; anything else that went wrong is raised."""
        is_refusal = isinstance(self._error, RecollectError) and self.is_declined
        return self._error if is_refusal else self.result()  # type: ignore[return-value]


AnyRequest = Request[object]
Lead = Callable[[list[AnyRequest]], int]


class Group:
    """A queue of callers; one at a time leads and writes for all that wait.

    ``lead`` gets the waiting requests, runs as many of the first ones as fit into one append and
    returns how many; an error that it raises goes to all of them.
    """

    def __init__(self, lead: Lead) -> None:
        self._lead = lead
        self._waiting: deque[AnyRequest] = deque()
        self._asleep = 0
        self._written = threading.Condition()
        self._owner: int | None = None  # the thread that has exclusive use
        self.turn = threading.Lock()
        self.listeners = Listeners()

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Waits until the command is durable or refused."""
        self._check_not_inside()
        request: Request[T] = Request(command, answer)
        self._waiting.append(request)  # type: ignore[arg-type]  # answers are not mixed up
        self._await(request)
        return request.result()

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Waits until each command is durable or refused; they share as few appends as they fit."""
        self._check_not_inside()
        requests = [Request(command, answer) for command in commands]
        self._waiting.extend(requests)  # type: ignore[arg-type]  # answers are not mixed up
        for request in requests:
            self._await(request)
        return [request.outcome() for request in requests]

    def _await(self, request: Request[T]) -> None:
        while not request.done:
            if self.turn.acquire(blocking=False):
                self._take_turn(request)
            else:
                self._sleep(request)

    def leave(self, command: Command, *, now: bool = True) -> None:
        """Queues a command without waiting: the next writer includes it.

        If too many are queued and ``now`` is true, they are written. One that fails is dropped.
        """
        self._waiting.append(Request(command, lambda reads, outcome: None))
        too_many = len(self._waiting) > limits.RECEIPTS_WAITING_MAX_COUNT
        if too_many and now and not self.is_mine:
            with suppress(RecollectError):
                self.flush()

    def flush(self) -> None:
        """Writes the queued commands and waits until they are written."""
        try:
            last = self._waiting[-1]
        except IndexError:  # the leader removes requests that are done
            return
        if not last.done:
            self.submit(_NOTHING, lambda reads, outcome: None)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Exclusive use without leading, for work on the files themselves."""
        self._check_not_inside()
        try:
            with self.turn:
                self._owner = threading.get_ident()
                try:
                    yield
                finally:
                    self._owner = None
        finally:
            self._wake()
        self.listeners.tell()

    @contextmanager
    def borrowed(self, wait_s: float | None = None) -> Iterator[bool]:
        """The turn for something short; False if it was not free within the time limit."""
        if not self.turn.acquire(timeout=-1 if wait_s is None else wait_s):
            yield False
            return
        try:
            yield True
        finally:
            self.turn.release()
            self._wake()

    @property
    def is_mine(self) -> bool:
        """True if this thread has exclusive use."""
        return self._owner == threading.get_ident()

    def _check_not_inside(self) -> None:
        if self._owner is not None and self.is_mine:
            raise Unavailable(
                "this memory is already writing in this thread, so this call would wait for itself",
                hint="write after that call has returned, not from its progress callback",
            )

    def _take_turn(self, request: Request[T]) -> None:
        """Leads until this request is answered, then wakes all waiting threads.

        A caller whose request was written continues at once, without the turn, and can be back in
        the queue before the next leader looks. So groups grow with the number of callers.
        """
        try:
            while not request.done:
                self._serve()
        finally:
            self.turn.release()
            self._wake()
        self.listeners.tell()

    def _wake(self) -> None:
        """Wakes the threads that wait for the turn."""
        if self._asleep:
            with self._written:
                self._written.notify_all()

    def _serve(self) -> None:
        """Writes one append. Requests stay queued until they are answered, so none is lost."""
        while self._waiting and self._waiting[0].done:
            self._waiting.popleft()
        taken = [self._waiting[place] for place in range(len(self._waiting))]
        try:
            with figures.timed("append"):
                done = self._lead(taken)
        except Exception as error:  # noqa: BLE001 - every caller that waits must hear of it
            for request in taken:
                request.refuse(error)
        except BaseException:
            for request in taken:
                request.refuse(Unavailable("the writing thread was interrupted", hint=_AGAIN))
            raise
        else:
            for request in taken[:done]:
                request.done = True
            figures.grouped(done)

    def _sleep(self, request: Request[T]) -> None:
        """Waits for a leader, but not for long: the thread with the turn may not be leading."""
        with self._written:
            self._asleep += 1
            try:
                if not request.done and self.turn.locked():
                    self._written.wait(_NAP_S)
                    return
            finally:
                self._asleep -= 1
        time.sleep(0)  # a thread that has just got the turn may need this one to step aside
