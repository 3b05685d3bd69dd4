"""One request, from bytes to bytes (ASGI).

Responsible for reading bodies, running operations in threads and writing answers. Leaves who may
come in to ``gate`` and what is done to ``calls``. Invariants: a request works with the rights of
its own token; a body is limited in size and time; an answer is never stored by a cache.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

from recollect import __version__
from recollect.errors import RecollectError
from recollect.interfaces.http import feed, mcp_port, requests, routes
from recollect.interfaces.http import seen as noted
from recollect.interfaces.http.call import Call
from recollect.interfaces.http.calls import jobs
from recollect.interfaces.http.entries import Entries, Entry
from recollect.interfaces.http.feed import STREAMS, Feed, Streams
from recollect.interfaces.http.limits.gate import Gate, Headers
from recollect.interfaces.http.limits.rates import Rates
from recollect.interfaces.http.limits.room import Room
from recollect.interfaces.http.mcp_port import Speaks
from recollect.interfaces.http.oauth import BODY_MAX_BYTES as OAUTH_MAX_BYTES
from recollect.interfaces.http.oauth import OAuth
from recollect.interfaces.http.openapi import document
from recollect.interfaces.http.problems import Refused, known_codes, refusal
from recollect.interfaces.http.readiness import Readiness, free_bytes
from recollect.interfaces.http.replies import (
    Reply,
    is_asked,
    json_reply,
    packed,
    refused,
    request_id,
    send_reply,
)
from recollect.interfaces.http.routes import Route
from recollect.interfaces.http.seen import Seen
from recollect.interfaces.http.telemetry.metrics import KIND as METRICS_KIND
from recollect.interfaces.http.telemetry.metrics import Metrics
from recollect.interfaces.http.ui import Pages, is_page, with_root
from recollect.interfaces.http.work import READ_MAX_S, Rules, Work
from recollect.memory.store import Store
from recollect.serving.failures import frames
from recollect.serving.guard import LET_IN, Message, Receive, Scope, Send
from recollect.store.deadline import within

T = TypeVar("T")

_BODY_MAX_S: Final = 30.0
_SHORT_MAX_S: Final = 5.0  # for the body of a request that is not long
_AT_ONCE_S: Final = 0.05  # what comes with the headers is there by then
_LONG_BYTES: Final = 65_536
_OPEN: Final = {
    "/": "ui", "/livez": "livez", "/readyz": "readyz", "/version": "version",
    "/openapi.json": "openapi",
}  # fmt: skip
# What is always the same.
_TOLD: Final[dict[str, Callable[[], Reply]]] = {
    "/livez": lambda: json_reply(200, {"status": "alive"}),
    "/version": lambda: json_reply(200, {"name": "recollect", "version": __version__, "api": "v1"}),
    "/openapi.json": lambda: Reply(200, document()),
}
STREAMED: Final = {"events": "events_stream", "get_job": "job_stream"}  # as figures name them
_log: Final = logging.getLogger(__name__)


SENT: Final = Reply(0)  # a stream, which has answered by itself


class Ask:
    """One request on its way through the steps."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, seen: Seen, path: str, headers: Headers
    ) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        self.method: str = scope["method"]
        self.path, self.headers = path, headers
        self.seen = seen  # what the log and the figures say of it
        self.token = ""  # until a step needs one


class App:
    """The application that a server runs."""

    def __init__(
        self,
        store: Store,
        gate: Gate,
        *,
        mcp: Speaks | None = None,
        ui: Pages | None = None,
        oauth: OAuth | None = None,
        metrics: Metrics | None = None,
        body_max_s: float = _BODY_MAX_S,
        streams: Streams = STREAMS,
        rules: Rules | None = None,
    ) -> None:
        requests.prepare(shape for row in routes.TABLE for shape in (row.takes, row.query))
        self._entries = Entries(store)
        self._readiness = Readiness(store)
        self._gate = gate
        self._mcp = mcp
        self._ui = ui
        self._oauth = oauth
        self._rules = rules or Rules(Rates())
        self.cut = 0  # requests whose answer the shutdown did not wait for
        self._body_max_s = body_max_s
        self._room = Room(takes_turns=store.settings.folder is None)
        self.feed = Feed(self._room.readers, gate, streams=streams)
        self._metrics = metrics
        if metrics is not None:  # computed when they are read
            metrics.in_flight.set_function(lambda: gate.in_work)
            metrics.streams.set_function(lambda: self.feed.count)
            if store.settings.folder is not None:
                metrics.watch_disk(lambda: free_bytes(store) or 0)

    def leave(self) -> None:
        """Says that it is not ready any more; requests go on."""
        self._gate.is_leaving = True

    def drain(self) -> None:
        """Refuses new requests and ends streams; requests in work go on."""
        self._gate.drain()
        self.feed.wake_all()
        if self._ui is not None:
            self._ui.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the startup and the shutdown."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        seen = noted.of(scope)
        path, root = self._path(scope), self._rules.root_path
        if self._ui is not None and is_page(path) and not self._gate.is_draining:
            seen.route = "ui"
            await self._ui(with_root(scope, root, path), receive, send)
            return
        try:
            headers = self._gate.headers(scope["headers"])
            reply = await self._reply(Ask(scope, receive, send, seen, path, headers))
            if reply is SENT:
                return
        except Refused as error:
            reply = refused(error, seen, root)
        except Exception as error:  # noqa: BLE001 - an error here is ours; the caller gets no trace
            _log.error("%s failed: %s", request_id(seen), frames(error))
            ours = Refused(500, "internal", "the service failed; its log says why")
            reply = refused(ours, seen, root)
        if reply.status == 401 and self._mcp is not None:
            told = mcp_port.challenge(path, scope, root)
            reply = reply._replace(headers={**reply.headers, "WWW-Authenticate": told})
        seen.code = reply.code
        try:
            await send_reply(send, reply, with_body=scope["method"] != "HEAD")
        except TimeoutError:  # the client stopped reading; the length shows what is missing
            pass
        finally:
            if reply.file is not None:
                reply.file.data.close()

    async def _reply(self, ask: Ask) -> Reply:
        """The answer of the first step that knows the request; each looks at it in this order."""
        steps = (
            self._drain_pages, self._open, self._let_in, self._enter, self._speak, self._measure,
        )  # fmt: skip
        for step in steps:
            answer = await step(ask)
            if answer is not None:
                return answer
        return await self._operate(ask)

    async def _drain_pages(self, ask: Ask) -> None:
        """Refuses pages while the service ends."""
        if self._ui is not None and is_page(ask.path):
            self._gate.check_open()

    async def _open(self, ask: Ask) -> Reply | None:
        """What is answered without a token, because it says nothing about any memory."""
        if ask.method not in ("GET", "HEAD"):
            return None
        told = _TOLD.get(ask.path, partial(self._told, ask))
        reply = await self._ready() if ask.path == "/readyz" else told()
        if reply is None:
            return None
        other = "problems" if ask.path[1:2] == "p" else "well_known"
        ask.seen.route = _OPEN.get(ask.path, other)
        return packed(reply) if is_asked(ask.headers.get("accept-encoding", "")) else reply

    async def _enter(self, ask: Ask) -> None:
        """From here on there is a token, which is checked where it is used."""
        ask.token = self._gate.token(ask.headers)
        ask.seen.has_token = True

    async def _measure(self, ask: Ask) -> Reply | None:
        """The figures about the whole service."""
        if self._metrics is None or ask.path != "/metrics":
            return None
        ask.seen.route = "metrics"
        return await self._in_thread(self._figures, self._metrics, ask.token)

    async def _operate(self, ask: Ask) -> Reply:
        """An operation on a memory or on the store."""
        route, names = routes.find(ask.method, ask.path)
        ask.seen.route, ask.seen.space = route.name, names.get("space")
        headers, query, seen = ask.headers, ask.scope["query_string"], ask.seen
        work = Work(
            self._entries, self._rules, route, ask.path, names, ask.token, headers, query, seen
        )
        body = await self._body(ask, route.body_max_bytes)
        with self._counted(is_write=route.is_write):
            if not _is_stream(ask.method, route, headers):
                return await self._work(ask, route, work, body)
            seen.route = STREAMED[route.name]
            asked = await self._in_thread(work.asked, body)
        if isinstance(asked, Reply):
            return asked
        await self._stream(route, *asked, ask)
        return SENT

    async def _work(self, ask: Ask, route: Route, work: Work, body: bytes) -> Reply:
        """Has an operation done in a thread."""
        space, owner = ask.seen.space, ask.token
        if not route.is_write:
            long = route.rate_class == "admin"
            return await self._room.read(space, work.reply, body, owner=owner, is_long=long)
        reply = await self._room.write(space, work.reply, body, owner=owner)
        if space is not None and reply.status < 300:
            self.feed.wrote(space)
        return reply

    @contextmanager
    def _counted(self, *, is_write: bool) -> Iterator[None]:
        """Counts a request in and out; one that the shutdown does not wait for is told so."""
        self._gate.enter(is_write=is_write)
        try:
            yield
        except asyncio.CancelledError:
            self.cut += 1
            raise Refused(
                503, "draining", "the service stopped before the answer came",
                hint="send it again with the same Idempotency-Key: it may have been done",
                headers={"Retry-After": "1"},
            ) from None  # fmt: skip
        finally:
            self._gate.leave(is_write=is_write)

    async def _let_in(self, ask: Ask) -> Reply | None:
        """Answers an assistant that has no token yet."""
        oauth = self._oauth
        if oauth is None or not oauth.is_asked(ask.method, ask.path):
            return None
        ask.seen.route = "oauth"
        body = await self._body(ask, OAUTH_MAX_BYTES)
        given = ask.path, ask.scope["query_string"], ask.headers, body
        self._gate.enter()
        try:
            return await self._may_write(oauth.answer, *given, self._entries)
        finally:
            self._gate.leave()

    async def _stream(self, route: Route, call: Call, entry: Entry, ask: Ask) -> None:
        """Answers with a stream, until either side ends it."""
        try:
            if route.name == "events":
                after = _after(call, ask.headers)
                await self.feed.stream(entry.key, call, after, ask.receive, ask.send)
            else:
                look = partial(jobs.look, call)
                await self.feed.follow(entry.key, look, ask.receive, ask.send)
        except (Refused, RecollectError) as error:
            raise refusal(error) from error
        except Exception as error:  # noqa: BLE001 - the answer has begun, so it can only end
            _log.error("a stream failed: %s", frames(error))
        finally:
            self._entries.give_back(entry)

    def _path(self, scope: Scope) -> str:
        """The path as it was sent, nothing in it decoded; a proxy may leave its prefix on it."""
        sent: bytes = scope["raw_path"]
        path, root = sent.decode("latin-1"), self._rules.root_path
        return path.removeprefix(root) if root and path.startswith(f"{root}/") else path

    async def _in_thread(self, work: Callable[..., T], *given: object) -> T:
        return await self._room.read(None, work, *given)

    async def _may_write(self, work: Callable[..., T], *given: object) -> T:
        return await self._room.write(None, work, *given)

    async def _tool(self, token: str, work: Callable[..., T], *given: object) -> T:
        """Has a call of a tool done; its reads end like those of a request."""
        return await self._room.write(None, within(READ_MAX_S)(work), *given, owner=token)

    def _figures(self, metrics: Metrics, token: str) -> Reply:
        """The figures about the whole service, for an admin of all of it."""
        with self._entries.using(token) as entry:
            self._rules.rates.take(entry.key, "admin")
            held = entry.store.token()
        if held is None or "admin" not in held.verbs or held.space is not None:
            raise Refused(403, "forbidden", "a token that looks after every space may read this")
        return Reply(200, metrics.exposition(), METRICS_KIND)

    async def _speak(self, ask: Ask) -> Reply | None:
        """Has a request of MCP answered."""
        query = ask.scope["query_string"]
        asked = mcp_port.asked(ask.method, ask.path, query) if self._mcp is not None else None
        if self._mcp is None or asked is None:
            return None
        ask.seen.route = "mcp"
        body = await self._body(ask, mcp_port.BODY_MAX_BYTES)
        self._gate.enter()
        sending = mcp_port.Sending(ask.send)
        try:
            enter = partial(mcp_port.enter, self._entries, ask.token, asked, ask.headers)
            caller = await self._in_thread(enter)
            ask.seen.token_id, ask.seen.space = caller.entry.token_id, caller.memory.scope.space
            try:
                take = partial(self._rules.rates.take, caller.entry.key)
                mcp_port.check(body, take, is_strict=self._rules.is_strict)
                await self._mcp.answer(
                    caller.memory, caller.entry.store.settings, asked.tools,
                    partial(self._tool, ask.token),
                    ask.scope, mcp_port.given_again(body, ask.receive), sending,
                )  # fmt: skip
            finally:
                self._entries.give_back(caller.entry)
            self.feed.wrote(caller.memory.scope.space)
        except Exception as error:
            if not sending.has_begun:
                raise
            _log.error("an answer over MCP failed: %s", frames(error))  # it can only end now
        finally:
            self._gate.leave()
        return SENT

    async def _ready(self) -> Reply:
        status = "draining" if self._gate.is_draining or self._gate.is_leaving else "ready"
        if status == "ready" and not await self._readiness.ask():
            status = "waiting for the store"
        said = {"status": status}
        if self._readiness.is_disk_low:  # a full one still answers reads
            said["disk"] = "nearly full"
        return json_reply(200 if status == "ready" else 503, said)

    def _told(self, ask: Ask) -> Reply | None:
        """Where the pages are, what a problem means, what assistants read before they come in."""
        if ask.path == "/" and self._ui is not None:
            return Reply(303, headers={"Location": f"{self._rules.root_path}/ui/"})
        found = self._described(ask.path, ask.scope)
        if found is not None:
            return json_reply(200, found)
        code = ask.path.removeprefix("/problems/")
        if code != ask.path and code in known_codes():
            return Reply(200, f"{known_codes()[code]}\n".encode(), b"text/plain; charset=utf-8")
        return None

    def _described(self, path: str, scope: Scope) -> dict[str, object] | None:
        """What assistants read before they come in."""
        found = self._oauth.document(path, scope) if self._oauth is not None else None
        if found is not None or self._mcp is None:
            return found
        is_open = self._oauth is not None
        return mcp_port.document(path, scope, self._rules.root_path, has_oauth=is_open)

    async def _check(self, scope: Scope, token: str) -> None:
        """Refuses a wrong token; a right one keeps its connection until the body has come."""
        try:
            await self._in_thread(self._entries.check, token)
        except Refused as error:
            error.headers = {**error.headers, "Connection": "close"}  # the rest is not read
            raise
        scope.get(LET_IN, lambda: None)()

    async def _body(self, ask: Ask, most: int) -> bytes:
        """The body of a request. What is not there at once is not awaited for a wrong token."""
        headers, receive, token = ask.headers, ask.receive, ask.token
        too_long = Refused(413, "body_too_long", f"the body is longer than {most:,} bytes")
        if _length(headers) > most:
            raise too_long
        if _length(headers) == 0 and "transfer-encoding" not in headers:
            return b""
        body = bytearray()
        wait_s = self._body_max_s if _is_long(headers) else min(self._body_max_s, _SHORT_MAX_S)
        try:
            async with asyncio.timeout(wait_s):
                message = None if not token or _is_long(headers) else await _at_once(receive)
                if token and (message is None or message.get("more_body", False)):
                    await self._check(ask.scope, token)
                while True:
                    message = message or await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, "malformed", "the connection ended before the body")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_long
                    if not message.get("more_body", False):
                        return bytes(body)
                    message = None
        except TimeoutError as error:
            raise Refused(408, "body_too_slow", "the body took too long") from error

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with nullcontext() if self._mcp is None else self._mcp.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._room.shutdown()
        self._readiness.close()
        self._entries.close()
        if self._ui is not None:
            self._ui.close()
        await send({"type": "lifespan.shutdown.complete"})


async def _at_once(receive: Receive) -> Message | None:
    """The first part of a body, if it came with the headers."""
    try:
        async with asyncio.timeout(_AT_ONCE_S):
            return await receive()
    except TimeoutError:
        return None


def _is_long(headers: Headers) -> bool:
    """True if a body is long, or does not say how long it is."""
    if "transfer-encoding" in headers:
        return True
    return _length(headers) > _LONG_BYTES


def _length(headers: Headers) -> int:
    said = headers.get("content-length", "0")
    if not (said.isascii() and said.isdecimal() and len(said) <= 18):
        raise Refused(400, "malformed", "Content-Length is not a number")
    return int(said)


def _is_stream(method: str, route: Route, headers: Headers) -> bool:
    return method == "GET" and route.name in STREAMED and feed.KIND in headers.get("accept", "")


def _after(call: Call, headers: Headers) -> dict[str, Any]:
    """What a stream was asked for; a reader that reconnects names the last event it has."""
    asked: dict[str, Any] = call.query.given("limit")
    last = headers.get("last-event-id", "")
    if last.isdecimal() and len(last) <= 16:
        asked["after"] = int(last)
    return asked
