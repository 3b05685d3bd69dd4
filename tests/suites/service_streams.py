"""Many readers of the feed in one thread, and what each of them got.

A reader keeps the position of its last event and no events. It connects again after it was cut, by
either side, and asks for what comes after that position. Its service may have several ports.
"""

from __future__ import annotations

import random
import re
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from statistics import quantiles

from recollect.memory import Memory

POLL_S = 0.25  # as often as the service looks for writes of other processes
EVENT = re.compile(rb"(?:^|\n)id: ([0-9]+)\n")
AT = re.compile(rb'"at":"([^"]+)"')
PIECE = 262_144
SLOW_BUFFER = 4_096
LAG_EVERY = 10  # each so many readers also look when an event was written


class Reader:
    """One stream, however often it is connected."""

    def __init__(self, number: int, after: int, *, slow: bool) -> None:
        self.number, self.last, self.slow = number, after, slow
        self.is_timed = not slow and number % LAG_EVERY == LAG_EVERY - 1
        self.got = self.twice = self.connects = 0
        self.socket: socket.socket | None = None
        self.retry_at = 0.0
        self.heard = b""
        self.refusals: list[bytes] = []


def percentile_ms(lags_s: Sequence[float], percent: int) -> float:
    return quantiles(lags_s, n=100, method="inclusive")[percent - 1] * 1e3


class Poller:
    """A thread that looks for events every quarter of a second, without the service."""

    def __init__(self, where: str, *, after: int) -> None:
        self.lags_s: list[float] = []
        self._memory, self._after = Memory.open(where, embedder="none"), after
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Poller:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending.set()
        self._thread.join()
        self._memory.close()

    def _run(self) -> None:
        while not self._is_ending.wait(POLL_S):
            for change in self._memory.events.list(after=self._after):
                self._after = change.seq
                self.lags_s.append(time.time() - datetime.fromisoformat(change.at).timestamp())


class Readers:
    """A thread that reads all of them."""

    def __init__(
        self, ports: Sequence[int], token: str, count: int, *, after: int, slow: int = 0
    ) -> None:
        self.all = [Reader(number, after, slow=number < slow) for number in range(count)]
        self.lags_s: list[float] = []
        self.cuts = 0
        self._ports, self._token = ports, token
        self._selector = selectors.DefaultSelector()
        self._is_ending, self._asked = threading.Event(), 0
        self._thread = threading.Thread(target=self._run)
        self._slow_at = 0.0

    def __enter__(self) -> Readers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending.set()
        self._thread.join()
        for reader in self.all:
            self._disconnect(reader)
        self._selector.close()

    def cut(self, count: int) -> None:
        """Has so many streams cut by their readers, soon."""
        self._asked += count

    def hurry(self) -> None:
        """Readers that were slow read as fast as the others."""
        for reader in self.all:
            reader.slow = False

    def wait_until(self, position: int, within_s: float) -> None:
        """Until every reader that is not slow has the event at a position, or time is up."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            if all(reader.last >= position or reader.slow for reader in self.all):
                return
            time.sleep(0.02)

    def wait_until_connected(self, within_s: float) -> None:
        """Until every reader has a stream."""
        until = time.monotonic() + within_s
        while not all(reader.connects for reader in self.all):
            assert time.monotonic() < until, self._refused()
            time.sleep(0.02)

    def missed(self, expected: int) -> int:
        """How many events all readers lack, of so many that each should have."""
        return sum(max(0, expected - reader.got) for reader in self.all)

    @property
    def twice(self) -> int:
        """How many events came again or out of order."""
        return sum(reader.twice for reader in self.all)

    def lag_ms(self, percent: int) -> float:
        """How long after it was written an event came, in so many of a hundred cases at most."""
        return percentile_ms(self.lags_s, percent)

    def _refused(self) -> str:
        return str([said[:200] for reader in self.all for said in reader.refusals][:3])

    def _run(self) -> None:
        while not self._is_ending.is_set():
            now = time.monotonic()
            for reader in self.all:
                if reader.socket is None and now >= reader.retry_at:
                    self._connect(reader)
            self._cut_some()
            if now >= self._slow_at:
                self._slow_at = now + 1.0
                for reader in [each for each in self.all if each.slow]:
                    self._read(reader, 1)
            for key, _ in self._selector.select(0.05):
                if not key.data.slow:
                    self._read(key.data, PIECE)

    def _cut_some(self) -> None:
        while self._asked > 0:
            self._asked -= 1
            self.cuts += 1
            self._disconnect(random.choice(self.all))

    def _connect(self, reader: Reader) -> None:
        reader.retry_at = time.monotonic() + 0.1
        port = self._ports[(reader.number + reader.connects) % len(self._ports)]
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if reader.slow:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BUFFER)
        reader.connects += 1
        try:
            found.settimeout(10)
            found.connect(("127.0.0.1", port))
            found.sendall(
                f"GET /v1/spaces/main/events?after={reader.last} HTTP/1.0\r\n"
                f"Host: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
                f"Authorization: Bearer {self._token}\r\n\r\n".encode()
            )
        except OSError:
            found.close()
            return
        found.setblocking(False)
        reader.socket, reader.heard = found, b""
        self._selector.register(found, selectors.EVENT_READ, reader)

    def _disconnect(self, reader: Reader) -> None:
        if reader.socket is not None:
            self._selector.unregister(reader.socket)
            reader.socket.close()
            reader.socket = None

    def _read(self, reader: Reader, most: int) -> None:
        if reader.socket is None:
            return
        piece = b""
        with suppress(OSError):
            try:
                piece = reader.socket.recv(most)
            except BlockingIOError:
                return
        if not piece:
            if not reader.heard.startswith(b"HTTP/1.1 200") and reader.heard:
                reader.refusals.append(reader.heard)
            self._disconnect(reader)
            return
        reader.heard += piece
        self._take(reader)

    def _take(self, reader: Reader) -> None:
        """Counts whole events, and keeps the rest of what was heard."""
        end = reader.heard.rfind(b"\n\n")
        if end < 0 or not reader.heard.startswith((b"HTTP/1.1 200", b"\n")):
            return
        whole, reader.heard = reader.heard[: end + 1], b"\n" + reader.heard[end + 2 :]
        for found in EVENT.findall(whole):
            seq = int(found)
            if seq <= reader.last:
                reader.twice += 1
            else:
                reader.got += 1
                reader.last = seq
        if reader.is_timed:
            now = time.time()
            for at in AT.findall(whole):
                self.lags_s.append(now - datetime.fromisoformat(at.decode()).timestamp())
