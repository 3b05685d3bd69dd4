"""``recollect serve`` as a process that is ended and started again, writers, and what they got.

Writers send each text until it is acknowledged, with one key for all tries. Who judges reads the
store itself: a text that was acknowledged must be there, and none may be there twice.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.service.servers import environment, free_port, serve_words
from recollect.memory import Memory
from recollect.memory.store import Store

EPISODES = "/v1/spaces/main/episodes"
START_MAX_S = 90.0
TRY_S = 0.01
WAIT_S = 0.05


class Service:
    """One service on one port, in whichever process."""

    def __init__(self, store: str, home: Path, options: Sequence[str] = ()) -> None:
        self.port = free_port()
        self._words = serve_words(store, self.port, options)
        self._environment = environment(home)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = home / f"serve-{self.port}.log"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._words, env=self._environment, stderr=log)
        until = time.monotonic() + START_MAX_S
        while not is_alive(self.port):
            assert time.monotonic() < until, self._log.read_text()[-2_000:]
            assert self._process.poll() is None, self._log.read_text()[-2_000:]
            time.sleep(TRY_S)

    def end(self, how: signal.Signals) -> int:
        """Sends a signal; returns how the process ended."""
        assert self._process is not None
        os.kill(self._process.pid, how)
        return self._process.wait(timeout=60)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def is_alive(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def serving(store: str, home: Path, *options: str) -> Iterator[Service]:
    """A service that has started, and that is gone afterwards."""
    service = Service(store, home, options)
    try:
        service.start()
        yield service
    finally:
        service.close()


def new_store(where: str, spaces: Sequence[str] = ("main",)) -> str:
    """Makes memories at a place; returns a token for all of them."""
    with Store.open(where, embedder="none") as store:
        for name in spaces:
            store.space(name).remember("The first one.")
        verbs = ("read", "write", "erase", "create")
        return store.tokens.create("t", space=None, verbs=verbs, trust="person").token


class Writers:
    """Threads that write until they are told to stop, each text until it is acknowledged."""

    def __init__(
        self,
        ports: Sequence[int],
        token: str,
        count: int = 16,
        *,
        keys: bool = True,
        early: bool = False,
    ) -> None:
        self.acknowledged: list[str] = []
        self.tries = 0
        self.statuses: Counter[int] = Counter()
        self.wrong: list[tuple[int, bytes]] = []  # 5xx that a client cannot handle
        self._ports, self._token, self._keys, self._early = ports, token, keys, early
        self._is_ending = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(count)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends them; the service must answer until then, because each ends its last text."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int, within_s: float = 60.0) -> None:
        """Until so many more texts were acknowledged."""
        wanted, until = len(self.acknowledged) + more, time.monotonic() + within_s
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < until, f"no answers: {self.statuses} {self.wrong[:3]}"
            time.sleep(0.002)

    def _write(self, number: int) -> None:
        turn, at = 0, number
        connection = self._connected(at)
        while not self._is_ending.is_set():
            text = f"{number}-{turn}"
            while not self._is_done(connection, text):
                at += 1
                connection.close()
                connection = self._connected(at)
                time.sleep(WAIT_S)
            turn += 1
        connection.close()

    def _connected(self, at: int) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self._ports[at % len(self._ports)], timeout=60)

    def _is_done(self, connection: HTTPConnection, text: str) -> bool:
        headers = {"Authorization": f"Bearer {self._token}"}
        if self._keys:
            headers["Idempotency-Key"] = f"k-{text}"
        self.tries += 1
        is_acknowledged = False
        try:
            body = msgspec.json.encode({"messages": [{"content": text}]})
            connection.request("POST", EPISODES, body, headers)
            if self._early:  # before the service has said so
                self.acknowledged.append(text)
                is_acknowledged = True
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, HTTPException):
            return is_acknowledged
        self.statuses[answer.status] += 1
        if answer.status == 201 or is_acknowledged:
            if not is_acknowledged:
                self.acknowledged.append(text)
            return True
        if answer.status != 503 or not answer.getheader("Retry-After"):
            self.wrong.append((answer.status, said))
        return False


class Judged(msgspec.Struct, frozen=True):
    """What a store says of what was acknowledged."""

    kept: int
    lost: list[str]
    twice: list[str]
    is_sound: bool


def judge(where: str, acknowledged: Sequence[str]) -> Judged:
    """Compares with the store itself."""
    with Memory.open(where, embedder="none") as memory:
        found = Counter(text for text in _texts(memory))
        is_sound = memory.admin.verify().ok
    lost = sorted(set(acknowledged) - found.keys())
    twice = sorted(text for text, count in found.items() if count > 1)
    return Judged(found.total(), lost, twice, is_sound)


def _texts(memory: Memory) -> Iterator[str]:
    options: dict[str, Any] = {"limit": 10_000}
    while page := memory.sessions.episodes(**options):
        yield from (each.text for each in page)
        options["after"] = page[-1].id


def rss_bytes(pid: int) -> int:
    """What a process has in memory now."""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1_024
    raise ProcessLookupError(pid)
