"""Telling an operator what the service does: figures, log lines and spans, each only if asked for.

Responsible for what is told about one request, from its first byte to its last. Leaves figures to
``metrics``, spans to ``spans`` and the engine's stages to ``store.figures``. Invariants: nothing
of a request is told but what ``seen`` has; a space appears as a hash under a key of this process,
so lines of one run can be compared, and no name can be looked up.
"""

from __future__ import annotations

import asyncio
import hmac
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from recollect.index.caches import cached
from recollect.interfaces.http import seen as noted
from recollect.interfaces.http.replies import new_request_id
from recollect.interfaces.http.seen import Seen
from recollect.interfaces.http.telemetry import trace
from recollect.interfaces.http.telemetry.metrics import METHODS, Metrics
from recollect.interfaces.http.telemetry.spans import Spans
from recollect.serving.guard import App, Message, Receive, Scope, Send
from recollect.store import figures
from recollect.store.figures import Observer, Stage
from recollect.store.seam import REAL, Seam

REQUEST: Final = b"recollect-request"
_KEY_BYTES: Final = 32
_LAG_EVERY_S: Final = 1.0
_GONE: Final = 499  # the caller left before the answer began
_LEVELS: Final = ("info", "warning", "error")


class Line(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One request in the log."""

    at: str
    level: str
    event: str
    route: str
    method: str
    status: int
    ms: float
    bytes_in: int
    bytes_out: int
    token_id: int | None = None
    space_ref: str | None = None
    request_id: str
    trace_id: str
    code: str | None = None


_LINE: Final = msgspec.json.Encoder()


class Told:
    """What is told, and where lines are written; each is None if it was not asked for."""

    def __init__(
        self,
        *,
        metrics: Metrics | None = None,
        spans: Spans | None = None,
        log: Callable[[bytes], object] | None = None,
        seam: Seam = REAL,
    ) -> None:
        self.metrics = metrics
        self.spans = spans
        self.log = log
        self.seam = seam
        self.key = seam.random(_KEY_BYTES)

    def about(self, app: App) -> App:
        """The application, with each of its requests told about."""
        return Telemetry(app, self)

    def begin(self) -> None:
        """Starts to observe the engine."""
        found: list[Observer] = [each for each in (self.metrics, self.spans) if each is not None]
        if found:
            figures.observe(found[0] if len(found) == 1 else _Both(found))

    def end(self) -> None:
        """Stops, and sends what waits."""
        figures.observe(None)
        if self.spans is not None:
            self.spans.close()


class Telemetry:
    """Wraps an application and tells about each of its requests."""

    def __init__(self, app: App, told: Told) -> None:
        self._app = app
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the startup and the shutdown."""
        if scope["type"] == "http":
            await _Exchange(self._told, scope, receive, send).run(self._app)
        elif scope["type"] == "lifespan" and self._told.metrics is not None:
            watching = asyncio.create_task(_watch_loop(self._told.metrics))
            try:
                await self._app(scope, receive, send)
            finally:
                watching.cancel()
        else:
            await self._app(scope, receive, send)


class _Exchange:
    """One request and its answer, counted as they pass."""

    def __init__(self, told: Told, scope: Scope, receive: Receive, send: Send) -> None:
        self._told = told
        self._scope = scope
        self._receive = receive
        self._send = send
        self._seen = scope[noted.KEY] = Seen()
        self._bytes_in = self._bytes_out = 0
        self._status = _GONE
        chance = told.seam.random(33)
        self._request_id = self._seen.request_id = new_request_id(chance[24:])
        self._span: Any = None
        caller = trace.parsed(_header(scope, trace.HEADER))
        if told.spans is None:
            self._trace = trace.begun(caller, chance)
        else:
            self._span, self._trace = told.spans.begin(caller)

    async def run(self, app: App) -> None:
        """Has the request answered, then tells about it."""
        start = time.monotonic()
        try:
            await app(self._scope, self._receiving, self._sending)
        finally:
            self._tell(time.monotonic() - start)

    async def _receiving(self) -> Message:
        message = await self._receive()
        self._bytes_in += len(message.get("body", b""))
        return message

    async def _sending(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            added = (trace.HEADER, self._trace.header), (REQUEST, self._request_id.encode())
            message = {**message, "headers": [*message["headers"], *added]}
        else:
            self._bytes_out += len(message.get("body", b""))
        await self._send(message)

    def _tell(self, seconds: float) -> None:
        told, seen, method = self._told, self._seen, self._scope["method"]
        if told.metrics is not None:
            told.metrics.answered(seen.route, method, self._status, seconds)
            if self._status == 401:
                told.metrics.refused(self._why())
            if self._status == 429:
                told.metrics.limited(seen.rate_class or "other")
        if self._span is not None and told.spans is not None:
            told.spans.end(self._span, seen.route, _known(method), self._status)
        if told.log is not None:
            told.log(_LINE.encode(self._line(seconds)) + b"\n")

    def _why(self) -> str:
        if self._seen.has_token:
            return "invalid"
        return "missing" if _header(self._scope, b"authorization") is None else "malformed"

    def _line(self, seconds: float) -> Line:
        told, seen = self._told, self._seen
        return Line(
            at=told.seam.now(),
            event="request",
            level=_LEVELS[0 if self._status < 400 else 1 if self._status < 500 else 2],
            route=seen.route,
            method=_known(self._scope["method"]),
            status=self._status,
            ms=round(seconds * 1_000, 3),
            bytes_in=self._bytes_in,
            bytes_out=self._bytes_out,
            token_id=seen.token_id,
            space_ref=None if seen.space is None else space_ref(told.key, seen.space),
            request_id=self._request_id,
            trace_id=f"{self._trace.trace_id:032x}",
            code=seen.code,
        )


class _Both:
    """Passes the engine's figures on to several observers."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def took(self, stage: Stage, seconds: float) -> None:
        """A stage has ended."""
        for each in self._observers:
            with suppress(Exception):
                each.took(stage, seconds)

    def grouped(self, commands: int) -> None:
        """An append was made."""
        for each in self._observers:
            each.grouped(commands)

    def lagging(self, events: int) -> None:
        """An index lacks events."""
        for each in self._observers:
            each.lagging(events)

    def worked(self, kind: str, outcome: str, seconds: float) -> None:
        """A job has ended."""
        for each in self._observers:
            each.worked(kind, outcome, seconds)


@cached(1_024)
def space_ref(key: bytes, space: str) -> str:
    """A space's name as the log has it."""
    return hmac.digest(key, space.encode("utf-8", "surrogatepass"), "sha256")[:8].hex()


def to_stderr(line: bytes) -> None:
    """Writes a line at once; ``logging`` would take longer than all other telemetry together."""
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()


async def _watch_loop(metrics: Metrics) -> None:
    """Notes how late the event loop wakes this task."""
    loop = asyncio.get_running_loop()
    while True:
        before = loop.time()
        await asyncio.sleep(_LAG_EVERY_S)
        metrics.loop_lag.set(max(0.0, loop.time() - before - _LAG_EVERY_S))


def _known(method: str) -> str:
    """A method, unless the caller made it up."""
    return method if method in METHODS else "other"


def _header(scope: Scope, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key == name), None)
