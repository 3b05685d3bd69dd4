"""The service on a real socket, in a thread of this process, and a client of a few lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any, Final, NamedTuple

import msgspec

from recollect import Store
from recollect.interfaces.http.app import App
from recollect.interfaces.http.feed import STREAMS, Streams
from recollect.interfaces.http.limits.gate import Gate
from recollect.interfaces.http.mcp_port import Speaks
from recollect.interfaces.http.work import Rules
from recollect.serving.server import listen
from tests.running import running

INSTANCE: Final = re.compile(rb'"instance":"req_[A-Za-z0-9_-]{12}",?')


class Said(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def same(self) -> bytes:
        """The body without the name of the request, which is new each time."""
        return INSTANCE.sub(b"", self.raw)

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.raw)


class Client:
    """Asks one service with one token."""

    def __init__(self, port: int, token: str | None, **headers: str) -> None:
        self._port = port
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Said:
        raw = (
            body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        )
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, raw, {**self._headers, **(headers or {})})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Said:
        return self.ask("GET", path, headers=_dashed(headers))

    def post(self, path: str, body: object = None, **headers: str) -> Said:
        return self.ask("POST", path, body, _dashed(headers))


def _dashed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@contextmanager
def served(
    store: Store,
    *,
    in_work_max_count: int = 64,
    body_max_s: float = 5.0,
    port: int = 0,
    streams: Streams = STREAMS,
    mcp: Speaks | None = None,
    around: Callable[[App], Any] = lambda app: app,
    rules: Rules | None = None,
) -> Iterator[int]:
    """The port of a service while it runs."""
    with listen(port) as listening:
        port = listening.getsockname()[1]
        gate = Gate([f"127.0.0.1:{port}"], in_work_max_count=in_work_max_count)
        app = App(store, gate, body_max_s=body_max_s, streams=streams, mcp=mcp, rules=rules)
        with running(around(app), listening, drain=app.drain):
            yield port
