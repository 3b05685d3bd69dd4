"""Group commit: threads that write at the same time share one append.

Responsible for the queue and for choosing a leader. Leaves the append itself to the engine.
Invariant: a request is answered exactly once, by whoever led when it was taken.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from recollect.index.reads import Reads
from recollect.lifecycle.commands import Command
from recollect.store.port import Answer, Outcome

T = TypeVar("T")


class Request(Generic[T]):
    """One waiting caller."""

    def __init__(self, command: Command, answer: Answer[T]) -> None:
        self.command = command
        self._answer = answer
        self._value: T | None = None
        self._error: Exception | None = None
        self.done = False

    def prepare(self, reads: Reads, outcome: Outcome) -> None:
        """Reads the answer; it is given only once the append is durable."""
        self._value = self._answer(reads, outcome)
        self._error = None

    def refuse(self, error: Exception) -> None:
        """The command came to nothing, or nobody knows what it came to."""
        self._error = error
        self.done = True

    def result(self) -> T:
        """What the caller gets."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set by prepare, whatever T is


AnyRequest = Request[object]
Lead = Callable[[deque[AnyRequest]], None]


class Group:
    """Callers queue here; one at a time leads and writes for all that wait."""

    def __init__(self, lead: Lead) -> None:
        self._lead = lead
        self._waiting: deque[AnyRequest] = deque()
        self.turn = threading.Lock()

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Waits until the command is durable or refused."""
        request: Request[T] = Request(command, answer)
        self._waiting.append(request)  # type: ignore[arg-type]  # answers are not mixed up
        with self.turn:
            while not request.done:
                self._lead(self._waiting)
        return request.result()
