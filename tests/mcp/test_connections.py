"""Clients without a token that connect and wait: they neither stay nor lock anybody out."""

from __future__ import annotations

import logging
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.web.connections import CONNECTIONS_MAX_COUNT, bounded
from recollect.web.repeats import Repeats
from recollect.web.serving import listen
from tests.mcp.talking import SERVER, Folder
from tests.mcp.test_http import TOKEN, Asked, status_of

HALF = b"GET /mcp HTTP/1.1\r\nX-a: "
DEADLINE_S = 0.5


async def nothing(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    """An application that refuses everything, as the guard does without a token."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"no\n"})


@contextmanager
def serving(protocol: type[H11Protocol]) -> Iterator[int]:
    with listen(0) as listening:
        config = uvicorn.Config(
            nothing, http=protocol, lifespan="off", log_level="critical", timeout_keep_alive=60
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            server.force_exit = True
            thread.join(timeout=30)


def connect(port: int, sent: bytes = HALF) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(sent)
    return connection


def ends_within(connection: socket.socket, seconds: float, trickle: bytes = b"") -> bool:
    """True if the server closes this connection, though bytes keep coming."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if select.select([connection], [], [], 0.05)[0] and not connection.recv(65_536):
                return True
            connection.sendall(trickle)
        except OSError:
            return True
    return False


REQUEST = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
SLOW = {
    "nothing is sent": (b"", b""),
    "half a header": (HALF, b""),
    "headers byte by byte": (HALF, b"a"),
    "a refused body byte by byte": (REQUEST, b"a"),
    "a refused request, then silence": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b""),
    "a refused request, then half a header": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + HALF, b"a"),
}


@pytest.mark.parametrize(("sent", "trickle"), SLOW.values(), ids=SLOW)
def test_a_waiting_connection_ends_at_its_deadline(sent: bytes, trickle: bytes) -> None:
    with serving(bounded(8, DEADLINE_S)) as port, connect(port, sent) as connection:
        assert ends_within(connection, 20 * DEADLINE_S, trickle)


def test_control_without_the_deadline_it_stays() -> None:
    with serving(H11Protocol) as port, connect(port) as connection:
        assert not ends_within(connection, 4 * DEADLINE_S, b"a")


def test_the_one_that_waited_longest_makes_room() -> None:
    with serving(bounded(4, 60)) as port, ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in range(4)]
        time.sleep(0.2)
        assert status_of(port, "GET", Asked()) == 401
        assert ends_within(held[0], 5)
        assert not any(ends_within(connection, 0.1) for connection in held[2:])


def test_a_server_stays_open_and_its_log_short(folder: Folder) -> None:
    """400 half requests at a server that may open 256 files; before, they locked it out."""
    told = folder.home / "stderr"
    with told.open("wb") as stderr, ExitStack() as stack:
        server = subprocess.Popen(
            ["/bin/sh", "-c", 'ulimit -n 256; exec "$@"', "sh", sys.executable, *SERVER, "--http"],
            cwd=folder.project,
            env=folder.environment | {"RECOLLECT_MCP_TOKEN": TOKEN},
            stderr=stderr,
            stdin=subprocess.DEVNULL,
        )
        stack.callback(server.wait)
        stack.callback(server.kill)
        port = port_in(told)
        for _ in range(400):
            stack.enter_context(connect(port))
        asked = time.monotonic()
        assert status_of(port, "POST", Asked()) not in (401, 403, 503)
        assert time.monotonic() - asked < 5
        files = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
        assert files < CONNECTIONS_MAX_COUNT + 64
    assert told.stat().st_size < 20_000


def port_in(told: Path) -> int:
    for _ in range(600):
        text = told.read_text()
        if "/mcp" in text:
            return int(text.splitlines()[0].rpartition(":")[2].partition("/")[0])
        time.sleep(0.1)
    raise AssertionError("the server did not start")


def record(text: str, at: float) -> logging.LogRecord:
    made = logging.LogRecord("asyncio", logging.ERROR, "x.py", 1, text, (), None)
    made.created = at
    return made


def test_a_repeated_error_takes_one_line_a_minute() -> None:
    repeats = Repeats()
    written = [
        made.getMessage()
        for number in range(1_000)
        if repeats.filter(made := record(f"out of files, fd={number}\nsocket …", number / 10))
    ]
    assert written == [
        "out of files, fd=0\nsocket …",
        "out of files, fd=600 (and 599 more like it)",
    ]


def test_different_errors_are_all_written() -> None:
    repeats = Repeats()
    assert all(repeats.filter(record(chr(97 + n % 26) * (n // 26 + 1), 0.0)) for n in range(1_000))
