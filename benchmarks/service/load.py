"""Load on an HTTP server: some connections that are kept, one request under way on each.

Responsible for sending bytes that are ready and for timing answers, in one thread and with as
little work as can be. Leaves what is asked to the caller. Invariant: with a rate, a request's time
begins when it was due, not when it was sent, so that a server that stalls is seen to stall.
"""

from __future__ import annotations

import re
import selectors
import socket
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from statistics import quantiles
from time import perf_counter
from types import TracebackType
from typing import Final, Self

import msgspec

_PIECE: Final = 262_144
_WAIT_MAX_S: Final = 60.0
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of some requests."""

    took_s: float
    statuses: dict[int, int]
    waits_s: list[float]  # of each answer

    @property
    def count(self) -> int:
        """How many were answered."""
        return len(self.waits_s)

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return self.count / self.took_s

    def percentile_ms(self, percent: int) -> float:
        """What so many of a hundred answers took at most."""
        if len(self.waits_s) < 2:
            return self.waits_s[0] * 1e3
        return quantiles(self.waits_s, n=100, method="inclusive")[percent - 1] * 1e3


def request(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """The bytes of a request; ``Host`` is among the headers."""
    given = {**headers, "Content-Length": str(len(body))} if body else headers
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _connected(port: int) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), timeout=_WAIT_MAX_S)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


class _Line:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket = _connected(port)
        self.heard = bytearray()
        self.whole = 0  # how long the answer is, once its head is there
        self.since = 0.0
        self.is_busy = False
        self.sent = b""

    @property
    def is_closed(self) -> bool:
        """True if the server closed it before it answered anything."""
        try:
            return not self.heard and not self.socket.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True

    def answer(self) -> int | None:
        """The status of the answer, once all of it is there."""
        piece = self.socket.recv(_PIECE)
        if not piece:
            raise ConnectionError("the server closed a connection in an answer")
        self.heard += piece
        if not self.whole:
            end = self.heard.find(b"\r\n\r\n")
            if end < 0:
                return None
            found = _LENGTH.search(self.heard, 0, end)
            self.whole = end + 4 + (int(found[1]) if found else 0)
        if len(self.heard) < self.whole:
            return None
        status = int(self.heard[9:12])
        self.heard, self.whole = bytearray(), 0
        return status


class Load:
    """Connections to one server."""

    def __init__(self, port: int, connections: int = 16) -> None:
        self._lines = [_Line(port) for _ in range(connections)]
        self._selector = selectors.DefaultSelector()
        for line in self._lines:
            self._selector.register(line.socket, selectors.EVENT_READ, line)

    def run(self, requests: Iterable[bytes], *, rate: float | None = None) -> Outcome:
        """Sends them all, each as soon as a connection is free and, with a rate, it is due."""
        left, began = iter(requests), perf_counter()
        due = _due(began, rate)
        for _ in self._answered(0):  # replaces connections that the server has closed since
            pass
        free, busy = deque(self._lines), 0
        statuses: Counter[int] = Counter()
        waits: list[float] = []
        next_at, upcoming = next(due), next(left, None)
        while busy or upcoming is not None:
            while free and upcoming is not None and next_at <= perf_counter():
                line = free.popleft()  # the one that waits longest, so that none is closed as idle
                line.is_busy = True
                line.since = next_at if rate else perf_counter()
                line.sent = upcoming
                with suppress(ConnectionError):  # it is closed, and replaced below
                    line.socket.sendall(upcoming)
                busy, next_at, upcoming = busy + 1, next(due), next(left, None)
            for line, status in self._answered(_wait_s(next_at) if free else _WAIT_MAX_S):
                waits.append(perf_counter() - line.since)
                statuses[status] += 1
                free.append(line)
                busy -= 1
        return Outcome(took_s=perf_counter() - began, statuses=dict(statuses), waits_s=waits)

    def _answered(self, wait_s: float) -> Iterator[tuple[_Line, int]]:
        for key, _ in self._selector.select(wait_s):
            line: _Line = key.data
            if not line.is_busy or line.is_closed:
                self._replace(line)
            elif (status := line.answer()) is not None:
                line.is_busy = False
                yield line, status

    def _replace(self, line: _Line) -> None:
        """A new connection for one that the server closed while it was idle.

        It may have closed it while the next request was on its way, which is then sent again.
        """
        self._selector.unregister(line.socket)
        line.socket.close()
        line.socket = _connected(line.port)
        self._selector.register(line.socket, selectors.EVENT_READ, line)
        if line.is_busy:
            line.socket.sendall(line.sent)

    def close(self) -> None:
        """Closes the connections."""
        self._selector.close()
        for line in self._lines:
            line.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def _due(began: float, rate: float | None) -> Iterator[float]:
    """When each request is due."""
    number = 0
    while True:
        yield began + (number / rate if rate else 0.0)
        number += 1


def _wait_s(until: float) -> float:
    left = until - perf_counter()
    return min(max(left, 0.0), _WAIT_MAX_S) or 0.001
