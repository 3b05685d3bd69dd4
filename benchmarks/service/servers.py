"""Servers in processes of their own: ``recollect serve``, and what it is compared with.

Responsible for starting them and for ending them. ``python -m benchmarks.service.servers`` is the
other side: a bare echo, or the gate with an operation that only decodes and encodes. Invariant: a
server ends with the block that it was started for.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import cold
from recollect.config import EMBEDDER_VARIABLE, NONE

_READY_MAX_S: Final = 60.0
_FIRST_PORT: Final = 20_000
_PORTS_COUNT: Final = 12_000
_TAKEN: Final = count()


class Service(NamedTuple):
    """A server that answers."""

    port: int
    token: str
    process: subprocess.Popen[str]

    @property
    def headers(self) -> dict[str, str]:
        """What every request needs."""
        return {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}"}

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


def free_port() -> int:
    """A port that stays free until a service listens on it, also while it is started again.

    The system gives ports from 32,768 on to whoever asks for any, so it is one below.
    """
    for _ in range(_PORTS_COUNT):
        port = _FIRST_PORT + (64 * os.getpid() + next(_TAKEN)) % _PORTS_COUNT
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise OSError("every port is in use")


def environment(home: Path) -> dict[str, str]:
    """That of a process with a home folder of its own, and without vectors, as on the bare side.

    Bytecode lies where it always does.
    """
    found = {**cold.variables(home), EMBEDDER_VARIABLE: NONE}
    found.pop("PYTHONPYCACHEPREFIX")
    return found


def serve_words(store: str, port: int, options: Sequence[str] = ()) -> list[str]:
    """The command that serves a store."""
    base = [sys.executable, "-m", "recollect", "--store", store, "serve"]
    return [*base, "--port", str(port), *options]


@contextmanager
def recollect(
    store: str, home: Path, token: str | None = None, options: Sequence[str] = ()
) -> Iterator[Service]:
    """``recollect serve`` on a store; without a token, the first one that it shows."""
    with _running(serve_words(store, 0, options), home) as (process, said):
        port = int(_wait_for(r"http://127\.0\.0\.1:([0-9]+)", said, process))
        _wait_for("(Try:)", said, process)
        yield Service(port, token or _wait_for("(rct_[A-Za-z0-9_-]{20,})", said, process), process)


@contextmanager
def compared(kind: str, store: str, home: Path) -> Iterator[Service]:
    """A server of this module, on a memory."""
    words = [sys.executable, "-m", "benchmarks.service.servers", kind, store]
    with _running(words, home) as (process, said):
        port, token = _wait_for("(serving .*)", said, process).split()[1:]
        yield Service(int(port), token, process)


@contextmanager
def _running(words: list[str], home: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    process = subprocess.Popen(words, env=environment(home), stderr=subprocess.PIPE, text=True)
    said: list[str] = []
    listening = threading.Thread(target=_hear, args=(process, said))
    listening.start()
    try:
        yield process, said
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        listening.join()


def _hear(process: subprocess.Popen[str], said: list[str]) -> None:
    if process.stderr is not None:
        with process.stderr as lines:
            for line in lines:
                said += [line]  # one by one: another thread waits for them


def _wait_for(pattern: str, said: list[str], process: subprocess.Popen[str]) -> str:
    until = time.monotonic() + _READY_MAX_S
    while time.monotonic() < until:
        found = re.search(pattern, "".join(said))
        if found:
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.005)
    raise RuntimeError(f"a server did not start: {''.join(said)[-2_000:]}")


def main(arguments: Sequence[str]) -> None:
    """Runs one of the servers that the service is compared with."""
    from benchmarks.service import apps
    from recollect.serving import server

    kind, store = arguments
    with server.listen(0) as listening, apps.app(kind, store, listening) as (app, token):
        sys.stderr.write(f"serving {listening.getsockname()[1]} {token}\n")
        sys.stderr.flush()
        server.serve(app, listening)


if __name__ == "__main__":
    main(sys.argv[1:])
