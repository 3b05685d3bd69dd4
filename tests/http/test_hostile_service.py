"""A client whose service is hostile: every call ends, and with an error of ours."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from itertools import repeat
from typing import Any

import pytest

from recollect.client import Memory, Store, transport
from recollect.errors import LimitExceeded, RecollectError, Unavailable
from tests.endpoint.servers import RawServer

Talk = Callable[[socket.socket], None]

_TOKEN = "rct_" + "x" * 43
_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_EMPTY_PAGE = b'{"items":[],"next":null,"position":1}'


def _heard(connected: socket.socket) -> bytes:
    """One request without a body; raises when the client has hung up."""
    found = b""
    while b"\r\n\r\n" not in found:
        piece = connected.recv(65_536)
        if not piece:
            raise OSError("it hung up")
        found += piece
    return found


def _answer(body: bytes, status: bytes = b"200 OK", header: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, header, len(body), body)


def _saying(answer: bytes) -> Talk:
    """The same answer to every request."""

    def talk(connected: socket.socket) -> None:
        while True:
            _heard(connected)
            connected.sendall(answer)

    return talk


def _listed(port: int, timeout_s: float = 60.0) -> Any:
    with Memory.open(f"http://127.0.0.1:{port}", token=_TOKEN, timeout_s=timeout_s) as memory:
        return memory.list(limit=3)


class _Slow:
    """Says a little, again and again, and at last what makes an answer of it."""

    def __init__(self, start: bytes, piece: bytes, end: bytes, count: int | None = None) -> None:
        self._parts, self._count = (start, piece, end), count
        self.server = RawServer(self._talk)

    def _talk(self, connected: socket.socket) -> None:
        start, piece, end = self._parts
        _heard(connected)
        connected.sendall(start)
        for _ in repeat(None) if self._count is None else repeat(None, self._count):
            if self.server.ended.wait(0.05):
                return
            connected.sendall(piece)
        connected.sendall(end)
        connected.recv(1)


_END = _answer(_EMPTY_PAGE)
_SLOW = {
    "a header that grows": (b"HTTP/1.1 200 OK\r\nX: ", b"x", _END.partition(b"OK")[2]),
    "one status after another": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", _END),
    "the length of a piece": (
        _CHUNKED + b"%x" % len(_EMPTY_PAGE),
        b";",
        b"\r\n" + _EMPTY_PAGE + b"\r\n0\r\n\r\n",
    ),
    "headers after the answer": (
        _CHUNKED + b"%x\r\n%s\r\n0\r\n" % (len(_EMPTY_PAGE), _EMPTY_PAGE),
        b"X: y\r\n",
        b"\r\n",
    ),
}


@pytest.mark.parametrize("how", _SLOW)
def test_a_call_ends_in_time_wherever_the_answer_is_slow(how: str) -> None:
    slow = _Slow(*_SLOW[how])
    with slow.server, pytest.raises(Unavailable, match="does not answer"):
        _listed(slow.server.port, timeout_s=1)


def test_a_stream_that_does_not_begin_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_SILENCE_MAX_S", 1.0)
    slow = _Slow(*_SLOW["one status after another"])
    with slow.server:
        sent = transport.Transport(f"http://127.0.0.1:{slow.server.port}", _TOKEN).stream(
            "/v1/spaces/main/events", query={}, headers={}
        )
        with pytest.raises(TimeoutError):
            list(sent)


@pytest.mark.parametrize("how", ["a header that grows", "headers after the answer"])
def test_control_with_the_timeout_of_a_socket_the_call_takes_as_long_as_the_service_likes(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untimed(sock: socket.socket, *, clock: object, method: str | None = None) -> HTTPResponse:
        return HTTPResponse(sock, method=method)

    monkeypatch.setattr(transport, "_Response", untimed)
    slow = _Slow(*_SLOW[how], count=50)  # 2.5 seconds at least
    with slow.server:
        assert _listed(slow.server.port, timeout_s=2) == []


_DEEP = b"[" * 200_000
_STRANGE = {
    "no JSON": b"<html>",
    "nested too deep where nobody looks": b'{"x":' + _DEEP,
    "nested too deep where it is read": b'{"items":' + _DEEP,
    "no text": b'{"items":[],"next":"\xff\xfe","position":1}',
    "half of a pair": b'{"items":[],"next":"\\ud800","position":1}',
    "a number of 5,000 digits": b'{"items":[],"next":null,"position":' + b"9" * 5_000 + b"}",
    "packed": b"\x1f\x8b\x08" + b"0" * 1_000,
    "nothing": b"",
    "pages without an end": b'{"items":[],"next":"again","position":1}',
}
_CALLS: dict[str, Callable[[Memory], object]] = {
    "list": lambda memory: memory.list(limit=3),
    "get": lambda memory: memory.get("one"),
    "read a page": lambda memory: memory.pages.read("one"),
    "history": lambda memory: memory.history("one"),
    "events": lambda memory: memory.events.list(),
}


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request", b"302 Found"])
@pytest.mark.parametrize("what", _STRANGE)
def test_what_is_no_answer_is_an_error_of_ours(what: str, status: bytes) -> None:
    header = b"Content-Encoding: gzip\r\n" if what == "packed" else b""
    with RawServer(_saying(_answer(_STRANGE[what], status, header))) as server:
        url = f"http://127.0.0.1:{server.port}"
        with Memory.open(url, token=_TOKEN, timeout_s=30) as memory:
            for name, call in _CALLS.items():
                if status == b"200 OK" and what == "pages without an end" and name == "events":
                    continue  # an empty page of events is an answer
                with pytest.raises(Unavailable):
                    call(memory)


def test_control_an_answer_is_no_error() -> None:
    with RawServer(_saying(_END)) as server:
        assert _listed(server.port) == []


def test_a_redirect_gets_no_token() -> None:
    asked: list[bytes] = []

    def elsewhere(connected: socket.socket) -> None:
        asked.append(_heard(connected))

    with RawServer(elsewhere) as other:
        where = b"Location: http://127.0.0.1:%d/v1\r\n" % other.port
        for status in (b"301 Moved", b"302 Found", b"307 Temporary", b"308 Permanent"):
            with (
                RawServer(_saying(_answer(b"", status, where))) as server,
                pytest.raises(Unavailable, match="without a reason"),
            ):
                _listed(server.port)
    assert asked == []


def test_an_answer_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_ANSWER_MAX_BYTES", 1 << 20)

    def talk(connected: socket.socket) -> None:
        _heard(connected)
        connected.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connected.sendall(b"x" * 65_536)

    with RawServer(talk) as server, pytest.raises(LimitExceeded):
        _listed(server.port)


@pytest.mark.parametrize(
    "head",
    [
        b"X: y\r\n" * 200,
        b"X: " + b"y" * 70_000 + b"\r\n",
        b"Retry-After: " + b"9" * 60_000 + b"\r\n",
    ],
)
def test_headers_without_measure_are_an_error_of_ours(head: bytes) -> None:
    with (
        RawServer(_saying(_answer(b"", b"503 Busy", head))) as server,
        pytest.raises(RecollectError),
    ):
        _listed(server.port, timeout_s=10)


def _change(seq: int) -> bytes:
    return (
        b'{"seq":%d,"at":"2026-01-01T00:00:00.000000Z","kind":"record.added","by":"person",'
        b'"unit":"record","id":"a","what":"added","text":"x","key":null,"trust":"person",'
        b'"scope":{},"erased":false,"idempotency_key":null,"author":null}' % seq
    )


def _streaming(events: bytes) -> Talk:
    def talk(connected: socket.socket) -> None:
        _heard(connected)
        connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events)

    return talk


def _followed(events: bytes, count: int) -> list[int]:
    with RawServer(_streaming(events)) as server:
        url = f"http://127.0.0.1:{server.port}"
        with Memory.open(url, token=_TOKEN) as memory:
            tail: Iterator[Any] = memory.events.tail(after=0)
            return [next(tail).seq for _ in range(count)]


def test_a_feed_that_goes_back_gives_each_event_once() -> None:
    events = b"".join(b"data: %s\n\n" % _change(seq) for seq in (1, 2, 1, 2, 3))
    assert _followed(events, 3) == [1, 2, 3]


def test_a_feed_of_what_is_no_event_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.client import events

    monkeypatch.setattr(events, "_FAULTS_MAX_COUNT", 1)
    for data in (b'{"x":' + _DEEP, b"\xff\xfe", b"{}"):
        with pytest.raises(Unavailable, match="again and again"):
            _followed(b"data: %s\n\n" % data, 1)


class _Lines:
    """An event with many fields, made one at a time."""

    def __init__(self, count: int) -> None:
        self._lines = iter(range(count))
        self._end = iter([b"event: bye\n", b"data: {}\n", b"\n", b""])

    def readline(self, most: int) -> bytes:
        number = next(self._lines, None)
        return next(self._end) if number is None else b"field-%d: %s\n" % (number, b"x" * 1_000)


def test_fields_that_nobody_asked_for_are_not_kept() -> None:
    tracemalloc.start()
    try:
        found = list(transport._events(_Lines(20_000)))  # type: ignore[arg-type]
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [transport.Sent("bye", b"{}")]
    assert most_bytes < 1_000_000  # of 20 million


def test_a_store_of_a_hostile_service_has_no_names() -> None:
    with RawServer(_saying(_answer(b'{"items":' + _DEEP))) as server:
        url = f"http://127.0.0.1:{server.port}"
        with Store.open(url, token=_TOKEN) as store, pytest.raises(Unavailable):
            store.spaces()
