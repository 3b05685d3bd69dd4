"""Callers without a token who announce a body and do not send it: they lock nobody out."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from recollect import Store
from recollect.interfaces.http.app import App
from recollect.interfaces.http.limits.gate import Gate
from recollect.serving.connections import Connection, bounded
from recollect.serving.server import listen
from tests import running as running_module
from tests.http.serving import Client
from tests.http.test_service import S
from tests.running import running

MOST = 12
WRONG = b"rct_" + b"A" * 43


def half(token: bytes, *, length: int = 1_000, path: bytes = S.encode() + b"/records") -> bytes:
    """A request whose body has one byte of what it announces."""
    return (
        b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer " + token
        + b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{" % length
    )  # fmt: skip


def connect(port: int, sent: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=60)
    made.sendall(sent.replace(b"PORT", str(port).encode()))
    return made


@contextmanager
def service(store: Store, *, most: int = MOST) -> Iterator[int]:
    with listen(0) as listening:
        port = listening.getsockname()[1]
        app = App(store, Gate([f"127.0.0.1:{port}"], in_work_max_count=64), body_max_s=30)
        with running(app, listening, drain=app.drain, connections_max_count=most):
            yield port


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:", embedder="none") as store:
        store.space("main", create=True).remember("The first one.")
        yield store


def answered(store: Store, port: int) -> int:
    """How many of ten requests of somebody else are answered."""
    client = Client(port, store.tokens.create("x", space="main").token)
    found = 0
    for _ in range(10):
        try:
            found += client.get(S).status == 200
        except OSError:
            continue
    return found


def test_a_wrong_token_is_answered_before_its_body(store: Store) -> None:
    with service(store) as port, connect(port, half(WRONG)) as waiting:
        waiting.settimeout(60)
        said = b""
        while piece := waiting.recv(65_536):  # until it is closed
            said += piece
        assert said.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    "sent",
    [
        half(WRONG),
        half(WRONG, length=60_000_000),
        half(WRONG, path=b"/v1/spaces/main/mcp"),
        # The second form: behind a request that is whole, and with no token at all.
        b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n" + half(WRONG),
        half(b"") + b"a",
    ],
    ids=["small", "large", "mcp", "pipelined", "none"],
)
def test_others_are_answered_under_pressure(store: Store, sent: bytes) -> None:
    with service(store) as port, ExitStack() as held:
        for _ in range(5 * MOST):
            held.enter_context(connect(port, sent))
        assert answered(store, port) == 10


class BeforeTheyCouldGo(Connection):
    """As it was: a request with complete headers kept its place, whatever came of its body."""

    came = threading.Semaphore(0)

    def _wait_for_body(self) -> None:
        self._stop_waiting()
        self.came.release()


def test_control_connections_that_keep_their_place_lock_others_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_before(count: int, deadline_s: float) -> type[Connection]:
        class Bounded(BeforeTheyCouldGo):
            most = count
            waiting: dict[Any, Any] = {}  # noqa: RUF012

        Bounded.deadline_s = deadline_s
        return Bounded

    async def never(*_: object) -> None:
        """The token is looked at when the body is there."""

    monkeypatch.setattr(running_module, "bounded", as_before)
    monkeypatch.setattr(App, "_check", never)
    with service(store) as port, ExitStack() as held:
        for _ in range(MOST):
            held.enter_context(connect(port, half(WRONG)))
        for _ in range(MOST):
            assert BeforeTheyCouldGo.came.acquire(timeout=60)
        assert answered(store, port) == 0


def test_a_known_caller_keeps_the_place_until_the_body_has_come(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, check = threading.Event(), App._check

    async def told(*given: Any) -> None:
        await check(*given)
        known.set()

    monkeypatch.setattr(App, "_check", told)
    token = store.tokens.create("slow", space="main").token.encode()
    body = b'{"text":"Tea is at four."}'
    with service(store) as port, ExitStack() as held:
        slow = held.enter_context(connect(port, half(token, length=len(body))))
        assert known.wait(60)
        for _ in range(5 * MOST):
            held.enter_context(connect(port, half(WRONG)))
        slow.sendall(body[1:])
        assert slow.recv(65_536).startswith(b"HTTP/1.1 201 ")


def test_a_small_body_has_five_seconds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.interfaces.http.app._SHORT_MAX_S", 0.3)
    token = store.tokens.create("slow", space="main").token.encode()
    with service(store) as port, connect(port, half(token)) as small:
        assert small.recv(65_536).startswith(b"HTTP/1.1 408 ")
        with connect(port, half(token, length=100_000)) as large:
            large.settimeout(1)
            with pytest.raises(TimeoutError):
                large.recv(65_536)


def test_the_connections_of_a_server_are_bounded() -> None:
    assert issubclass(bounded(3), Connection)
