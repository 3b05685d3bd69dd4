"""Connections that cannot lock others out: bounded in number, each with a deadline.

Responsible for what happens before a request's headers are complete and after its response is.
Leaves HTTP itself to uvicorn. Invariant: a connection without a request in progress is closed
within the deadline, whatever bytes arrive, and earlier if others need its place.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.store import posix

CONNECTIONS_MAX_COUNT: Final = 128
HEADERS_MAX_S: Final = 10.0
_OTHER_FILES_COUNT: Final = 96  # of this process: the memory's own, and connections not yet seen


class Connection(H11Protocol):
    """One connection; its subclasses share ``waiting``, oldest first."""

    most: int
    deadline_s: float
    waiting: dict[Connection, TimerHandle]

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """A client connected; if there are too many, the longest waiting one is closed."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            next(iter(self.waiting), self)._make_room()
        if self in self.connections:
            self._wait()

    def handle_events(self) -> None:
        """Once its headers are complete, a request may take as long as it needs."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Starts the deadline for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Closes this connection and stops counting it, as it closes only in the next round."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self) -> None:
        self._stop_waiting()
        self.waiting[self] = self.loop.call_later(self.deadline_s, self._make_room)

    def _stop_waiting(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()


def bounded(most: int | None = None, deadline_s: float = HEADERS_MAX_S) -> type[Connection]:
    """A connection class for one server, with a maximum number and a deadline."""
    count = min(CONNECTIONS_MAX_COUNT, possible_count()) if most is None else most

    class Bounded(Connection):
        most = count
        waiting: dict[Connection, TimerHandle] = {}  # noqa: RUF012 - shared on purpose

    Bounded.deadline_s = deadline_s
    return Bounded


def possible_count() -> int:
    """The most connections that the process's limit of open files allows."""
    return max(8, (posix.open_files_max_count() - _OTHER_FILES_COUNT) // 2)


def files_for(count: int) -> int:
    """The limit of open files that so many connections need."""
    return 2 * count + _OTHER_FILES_COUNT
