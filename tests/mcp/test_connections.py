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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recollect.serving.connections import CONNECTIONS_MAX_COUNT, bounded
from recollect.serving.server import Repeats, listen
from tests.mcp.talking import SERVER, Folder
from tests.mcp.test_http import TOKEN, Asked, status_of

pytestmark = pytest.mark.ci

HALF = b"GET /mcp HTTP/1.1\r\nX-a: "
DEADLINE_S = 0.5


async def nothing(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    """An application that refuses everything, as the guard does without a token."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"no\n"})


@contextmanager
def serving(protocol: type[HttpToolsProtocol], app: Any = nothing) -> Iterator[int]:
    with listen(0) as listening:
        config = uvicorn.Config(
            app, http=protocol, lifespan="off", log_level="critical", timeout_keep_alive=60
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            server.force_exit = True
            thread.join(timeout=60)


def connect(port: int, sent: bytes = HALF) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
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
        assert ends_within(connection, 60, trickle)


def test_control_without_the_deadline_it_stays() -> None:
    with serving(HttpToolsProtocol) as port, connect(port) as connection:
        assert not ends_within(connection, 4 * DEADLINE_S, b"a")


async def headers_back(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    """An application that reads the body and answers with the headers it was given."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    told = b"".join(name + b"=" + value + b";" for name, value in scope["headers"])
    length = [(b"content-length", str(len(told)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": told})


def answer(connection: socket.socket, ends: bytes = b"") -> bytes:
    """What a server says until it closes, or until these bytes."""
    said = b""
    while not (ends and said.endswith(ends)):
        try:
            piece = connection.recv(65_536)
        except ConnectionResetError:
            break
        if not piece:
            break
        said += piece
    return said


def test_headers_that_go_on_and_on_are_refused() -> None:
    with serving(bounded(8, 60)) as port, connect(port) as connection:
        with suppress(OSError):  # closed while this goes on
            for _ in range(64):
                connection.sendall(b"a" * 16_384)
        assert b"400 Bad Request" in answer(connection)


def test_control_without_the_limit_headers_go_on() -> None:
    with serving(HttpToolsProtocol) as port, connect(port) as connection:
        for _ in range(64):
            connection.sendall(b"a" * 16_384)
        assert not ends_within(connection, 0.5)


def test_many_requests_on_one_connection_are_not_taken_for_long_headers() -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nX-a: " + b"a" * 4_000 + b"\r\n\r\n"
    with serving(bounded(8, 60)) as port, connect(port, b"") as connection:
        for _ in range(40):
            connection.sendall(request)
            assert answer(connection, b"0\r\n\r\n").startswith(b"HTTP/1.1 401")


BODY = b"3\r\nabc\r\n0\r\nAuthorization: Bearer other\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + BODY


def test_a_field_after_the_body_is_not_a_header() -> None:
    with serving(bounded(8, 60), headers_back) as port, connect(port, CHUNKED) as connection:
        assert b"authorization" not in answer(connection, b"chunked;")


def test_control_the_parser_alone_takes_it_for_one() -> None:
    with serving(HttpToolsProtocol, headers_back) as port, connect(port, CHUNKED) as connection:
        assert b"authorization" in answer(connection, b"other;")


AMBIGUOUS = {
    "two lengths": b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "a length and chunks": b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"Content-Length : 3\r\n\r\nabc",
    "a folded header": b"X-a: 1\r\n 2\r\n\r\n",
    "a length with a sign": b"Content-Length: +3\r\n\r\nabc",
    "a line feed alone": b"X-a: 1\nX-b: 2\r\n\r\n",
    "a zero byte": b"X-a: 1\x00\r\n\r\n",
}


@pytest.mark.parametrize("rest", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_what_two_parsers_could_read_differently_is_refused(rest: bytes) -> None:
    sent = b"POST / HTTP/1.1\r\nHost: x\r\n" + rest
    with serving(bounded(8, 2), headers_back) as port, connect(port, sent) as connection:
        assert answer(connection).startswith(b"HTTP/1.1 400")


def test_requests_sent_before_an_answer_are_answered_in_turn() -> None:
    sent = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 5
    with serving(bounded(8, DEADLINE_S)) as port, connect(port, sent) as connection:
        said = answer(connection)  # and then the deadline ends it
    assert said.count(b"HTTP/1.1 401") == 5


def test_the_one_that_waited_longest_makes_room() -> None:
    with serving(bounded(4, 60)) as port, ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in range(4)]
        time.sleep(0.2)
        assert status_of(port, "GET", Asked()) == 401
        assert ends_within(held[0], 50)
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


@pytest.mark.parametrize("named", ["req_{} failed: KeyError", "request {} failed: KeyError"])
def test_the_ids_of_requests_do_not_make_errors_different(named: str) -> None:
    repeats = Repeats()
    written = [repeats.filter(record(named.format(id), 0.0)) for id in ("aB-c", "xY_z", "q0Q")]
    assert written == [True, False, False]
