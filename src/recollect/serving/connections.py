"""Connections that cannot lock others out: bounded in number, each with a deadline.

Responsible for what happens before a request is complete and after its response is. Leaves HTTP
itself to uvicorn and its parser, and how long a body may take to the application. Invariants: a
connection without a request in progress is closed within the deadline, whatever bytes arrive; it
and one whose body has not come are closed earlier if others need their place, unless the
application has let the caller in; headers are bounded in size, and fields after a body are not
headers.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recollect.serving.guard import LET_IN
from recollect.store import posix

CONNECTIONS_MAX_COUNT: Final = 128
HEADERS_MAX_S: Final = 10.0
HEADERS_MAX_BYTES: Final = 65_536  # and what one read brings, which is at most four times as much
_OTHER_FILES_COUNT: Final = 96  # of this process: the memory's own, and connections not yet seen


class Connection(HttpToolsProtocol):
    """One connection; its subclasses share ``waiting``, oldest first."""

    most: int
    deadline_s: float
    waiting: dict[Connection, TimerHandle | None]  # None: the application has a deadline
    _in_headers = True  # of a request that has not begun yet, too
    _in_body = False
    _is_let_in = False
    _headers_bytes = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """A client connected; if there are too many, the longest waiting one is closed."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            next(iter(self.waiting), self)._make_room()
        if self in self.connections:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Reads a piece; headers that go on and on end the connection."""
        self._headers_bytes += len(data) if self._in_headers else 0
        super().data_received(data)
        if self._headers_bytes > HEADERS_MAX_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers are too long.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header. The parser reports fields after a body in the same way: not those."""
        if self._in_headers:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """From here on, a request may take as long as the application allows."""
        self._in_headers, self._headers_bytes, self._in_body = False, 0, True
        self._is_let_in = False
        self._wait_for_body()
        self.scope[LET_IN] = self._let_in  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next bytes belong to another request."""
        self._in_headers, self._in_body = True, False
        if not self.cycle.response_complete:
            self._stop_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Starts the deadline for the next request, if it has not come yet."""
        self._wait()
        super().on_response_complete()
        if not self.cycle.response_complete:  # one that was sent before this answer
            self._wait_for_body() if self._in_body else self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Closes this connection and stops counting it, as it closes only in the next round."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _let_in(self) -> None:
        """The application knows the caller: the rest of the body is worth its place."""
        self._is_let_in = True
        if self._in_body:
            self._stop_waiting()

    def _wait_for_body(self) -> None:
        """Others may have the place of a request that is not whole; the longest waiting goes."""
        if self._is_let_in:
            self._stop_waiting()
            return
        timer = self.waiting.get(self)
        if timer is not None:
            timer.cancel()
        self.waiting[self] = None

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
        waiting: dict[Connection, TimerHandle | None] = {}  # noqa: RUF012 - shared on purpose

    Bounded.deadline_s = deadline_s
    return Bounded


def possible_count() -> int:
    """The most connections that the process's limit of open files allows."""
    return max(8, (posix.open_files_max_count() - _OTHER_FILES_COUNT) // 2)


def files_for(count: int) -> int:
    """The limit of open files that so many connections need."""
    return 2 * count + _OTHER_FILES_COUNT
