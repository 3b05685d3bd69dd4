"""One request, from bytes to bytes (ASGI).

Responsible for reading bodies, running operations in threads and writing answers. Leaves who may
come in to ``gate`` and what is done to ``calls``. Invariants: a request works with the rights of
its own token; a body is limited in size and time; an answer is never stored by a cache.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import structs

from recollect import __version__
from recollect.errors import Forbidden, RecollectError
from recollect.interfaces.http import feed, mcp_port, requests, routes
from recollect.interfaces.http import seen as noted
from recollect.interfaces.http.call import Answer, Call, File, needs_match, past
from recollect.interfaces.http.entries import Entries, Entry
from recollect.interfaces.http.feed import STREAMS, Feed, Streams
from recollect.interfaces.http.gate import Gate, Headers
from recollect.interfaces.http.mcp_port import Speaks
from recollect.interfaces.http.metrics import KIND as METRICS_KIND
from recollect.interfaces.http.metrics import Metrics
from recollect.interfaces.http.openapi import document
from recollect.interfaces.http.problems import KIND, Refused, known_codes, refusal
from recollect.interfaces.http.rates import Rates
from recollect.interfaces.http.routes import STRICT, Route
from recollect.interfaces.http.seen import Seen
from recollect.memory import Memory
from recollect.memory.store import Store
from recollect.web.failures import frames
from recollect.web.guard import Receive, Scope, Send

T = TypeVar("T")

_JSON: Final = b"application/json"
_BODY_MAX_S: Final = 30.0
_ANSWER_MAX_BYTES: Final = 67_108_864
_CREATED: Final = 201
_LONG_BYTES: Final = 65_536
_THREADS_COUNT: Final = 8
_OF_THE_STORE: Final = ("create", "drop", "admin")  # verbs that no handle of a memory narrows
_PIECE_BYTES: Final = 262_144
_PIECE_MAX_S: Final = 30.0
_OPEN: Final = {
    "/livez": "livez", "/readyz": "readyz", "/version": "version", "/openapi.json": "openapi",
}  # fmt: skip
_log: Final = logging.getLogger(__name__)


class Reply(NamedTuple):
    """An answer's bytes; a long one is in a file, which is closed when it was sent."""

    status: int
    body: bytes = b""
    kind: bytes = _JSON
    headers: Mapping[str, str] = {}
    file: File | None = None
    code: str | None = None  # of the problem


class Rules(NamedTuple):
    """What a service allows beyond what tokens do."""

    rates: Rates
    is_strict: bool = False  # changes need If-Match
    root_path: str = ""  # the prefix under which a proxy has the service


class App:
    """The application that a server runs."""

    def __init__(
        self,
        store: Store,
        gate: Gate,
        *,
        mcp: Speaks | None = None,
        metrics: Metrics | None = None,
        body_max_s: float = _BODY_MAX_S,
        streams: Streams = STREAMS,
        rules: Rules | None = None,
    ) -> None:
        requests.prepare(shape for row in routes.TABLE for shape in (row.takes, row.query))
        self._entries = Entries(store)
        self._gate = gate
        self._mcp = mcp
        self._rules = rules or Rules(Rates())
        self.cut = 0  # requests whose answer the shutdown did not wait for
        self._body_max_s = body_max_s
        self._threads = ThreadPoolExecutor(_THREADS_COUNT, thread_name_prefix="http")
        self.feed = Feed(self._threads, gate, streams=streams)
        self._metrics = metrics
        if metrics is not None:  # computed when they are read
            metrics.in_flight.set_function(lambda: gate.in_work)
            metrics.streams.set_function(lambda: self.feed.count)

    def leave(self) -> None:
        """Says that it is not ready any more; requests go on."""
        self._gate.is_leaving = True

    def drain(self) -> None:
        """Refuses new requests and ends streams; requests in work go on."""
        self._gate.drain()
        self.feed.wake_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the startup and the shutdown."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        seen = noted.of(scope)
        try:
            reply = await self._reply(scope, receive, send, seen)
            if reply is None:  # a stream, which has answered by itself
                return
        except Refused as error:
            reply = refused(error)
        except Exception as error:  # noqa: BLE001 - an error here is ours; the caller gets no trace
            _log.error("a request failed: %s", frames(error))
            reply = refused(Refused(500, "internal", "the service failed; its log says why"))
        if reply.status == 401 and self._mcp is not None:
            told = mcp_port.challenge(self._path(scope), scope)
            reply = reply._replace(headers={**reply.headers, "WWW-Authenticate": told})
        seen.code = reply.code
        try:
            await _send(send, reply, with_body=scope["method"] != "HEAD")
        except TimeoutError:  # a reader that does not read; the length tells it that bytes lack
            pass
        finally:
            if reply.file is not None:
                reply.file.data.close()

    async def _reply(self, scope: Scope, receive: Receive, send: Send, seen: Seen) -> Reply | None:
        headers = self._gate.headers(scope["headers"])
        path = self._path(scope)
        opened = self._open(scope["method"], path, scope)
        if opened is not None:
            seen.route = _OPEN.get(path) or ("problems" if path[1:2] == "p" else "well_known")
            return opened
        token = self._gate.token(headers)
        seen.has_token = True
        if self._mcp is not None:
            asked_mcp = mcp_port.asked(scope["method"], path, scope["query_string"])
            if asked_mcp is not None:
                seen.route = "mcp"
                await self._speak(self._mcp, asked_mcp, token, headers, scope, receive, send, seen)
                return None
        if self._metrics is not None and path == "/metrics":
            seen.route = "metrics"
            return await self._in_thread(self._figures, self._metrics, token)
        route, names = routes.find(scope["method"], path)
        seen.route, seen.space = route.name, names.get("space")
        query = scope["query_string"]
        work = _Work(self._entries, self._rules, route, names, token, headers, query, seen)
        if _is_long(headers):  # nobody without a token makes the service hold a long body
            await self._in_thread(self._entries.check, token)
        body = await self._body(receive, headers, route.body_max_bytes)
        self._gate.enter()
        try:
            if _is_stream(scope["method"], route, headers):
                seen.route = "events_stream"
                asked = await self._in_thread(work.asked, body)
            else:
                reply = await self._in_thread(work.reply, body)
                if route.is_write and "space" in names and reply.status < 300:
                    self.feed.wrote(names["space"])
                return reply
        except asyncio.CancelledError:
            self.cut += 1
            raise
        finally:
            self._gate.leave()
        if isinstance(asked, Reply):
            return asked
        call, entry = asked
        try:
            await self.feed.stream(entry.key, call, _after(call, headers), receive, send)
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 - the answer has begun, so it can only end
            _log.error("a stream failed: %s", frames(error))
        finally:
            self._entries.give_back(entry)
        return None

    def _path(self, scope: Scope) -> str:
        """The path as it was sent, nothing in it decoded; a proxy may leave its prefix on it."""
        sent: bytes = scope["raw_path"]
        path, root = sent.decode("latin-1"), self._rules.root_path
        return path.removeprefix(root) if root and path.startswith(f"{root}/") else path

    async def _in_thread(self, work: Callable[..., T], *given: object) -> T:
        run = copy_context().run  # a span of the engine finds its request there
        return await asyncio.get_running_loop().run_in_executor(self._threads, run, work, *given)

    def _figures(self, metrics: Metrics, token: str) -> Reply:
        """The figures about the whole service, for an admin of all of it."""
        with self._entries.using(token) as entry:
            held = entry.store.token()
        if held is None or "admin" not in held.verbs or held.space is not None:
            raise Refused(403, "forbidden", "a token that looks after every space may read this")
        return Reply(200, metrics.exposition(), METRICS_KIND)

    async def _speak(
        self,
        mcp: Speaks,
        asked: mcp_port.Asked,
        token: str,
        headers: Headers,
        scope: Scope,
        receive: Receive,
        send: Send,
        seen: Seen,
    ) -> None:
        """Has a request of MCP answered."""
        if _is_long(headers):
            await self._in_thread(self._entries.check, token)
        body = await self._body(receive, headers, mcp_port.BODY_MAX_BYTES)
        self._gate.enter()
        sending = mcp_port.Sending(send)
        try:
            caller = await self._in_thread(mcp_port.enter, self._entries, token, asked, headers)
            seen.token_id, seen.space = caller.entry.token_id, caller.memory.name
            try:
                await mcp.answer(
                    caller.memory, caller.entry.store.settings, asked.tools, self._in_thread,
                    scope, mcp_port.given_again(body, receive), sending,
                )  # fmt: skip
            finally:
                self._entries.give_back(caller.entry)
            self.feed.wrote(caller.memory.name)
        except Exception as error:
            if not sending.has_begun:
                raise
            _log.error("an answer over MCP failed: %s", frames(error))  # it can only end now
        finally:
            self._gate.leave()

    def _open(self, method: str, path: str, scope: Scope) -> Reply | None:
        """What is answered without a token, because it says nothing about any memory."""
        if method not in ("GET", "HEAD"):
            return None
        if path == "/livez":
            return _json(200, {"status": "alive"})
        if path == "/readyz":
            draining = self._gate.is_draining or self._gate.is_leaving
            return _json(503 if draining else 200, {"status": "draining" if draining else "ready"})
        if path == "/version":
            return _json(200, {"name": "recollect", "version": __version__, "api": "v1"})
        if path == "/openapi.json":
            return Reply(200, document())
        found = mcp_port.document(path, scope) if self._mcp is not None else None
        if found is not None:
            return _json(200, found)
        code = path.removeprefix("/problems/")
        if code != path and code in known_codes():
            return Reply(200, f"{known_codes()[code]}\n".encode(), b"text/plain; charset=utf-8")
        return None

    async def _body(self, receive: Receive, headers: Headers, most: int) -> bytes:
        too_long = Refused(413, "body_too_long", f"the body is longer than {most:,} bytes")
        if _length(headers) > most:
            raise too_long
        if _length(headers) == 0 and "transfer-encoding" not in headers:
            return b""
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_max_s):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, "malformed", "the connection ended before the body")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_long
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError as error:
            raise Refused(408, "body_too_slow", "the body took too long") from error

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with nullcontext() if self._mcp is None else self._mcp.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._threads.shutdown()
        self._entries.close()
        await send({"type": "lifespan.shutdown.complete"})


class _Work(NamedTuple):
    """A request with its body, to be done in a thread."""

    entries: Entries
    rules: Rules
    route: Route
    names: dict[str, str]
    token: str
    headers: Headers
    query: bytes
    seen: Seen

    def reply(self, raw: bytes) -> Reply:
        """The answer to the request."""
        try:
            with self.entries.using(self.token) as entry:
                call = self._call(entry, raw)
                found = self.route.call(call)
                self._settle(call, found)
            return self._answered(found)
        except (Refused, RecollectError) as error:
            return refused(refusal(error))

    def _settle(self, call: Call, found: Any) -> None:
        """Closes a space that was opened to create it."""
        if self.route.name == "create_space" and found.status == _CREATED:
            self.entries.settle(call.body.name)
        elif self.route.name == "push_ledger":
            self.entries.settle(self.names["space"])

    def asked(self, raw: bytes) -> tuple[Call, Entry] | Reply:
        """The request alone, for a stream, or why there is none."""
        entry: Entry | None = None
        try:
            entry = self.entries.take(self.token)
            call = self._call(entry, raw)
            if "at" in call.query.given():
                raise Refused(400, "malformed", "a stream has no past", hint="use after= instead")
            call.space.events(
                **{**call.query.given(), "limit": 1}
            )  # refused now, not in the stream
        except (Refused, RecollectError) as error:
            if entry is not None:
                self.entries.give_back(entry)
            return refused(refusal(error))
        return call, entry

    def _call(self, entry: Entry, raw: bytes) -> Call:
        self.seen.token_id = entry.token_id
        self.rules.rates.take(entry.key, self.route.rate_class)
        if self.route.verb in _OF_THE_STORE and requests.narrowing(self.headers):
            raise Forbidden("a narrowed request has no rights over the whole store")
        query = requests.parameters(self.query, self.route.query)
        call = Call(
            store=entry.store,
            memory=self._memory(entry, query),
            path=self.names,
            body=requests.body(raw, self.route.takes),
            query=query,
            write=requests.written(self.headers),
        )
        if self.rules.is_strict and self.route.name in STRICT:
            needs_match(call)
        return call

    def _memory(self, entry: Entry, query: Any) -> Memory | None:
        if "space" not in self.names:
            return None
        may_be_new = self.route.name == "push_ledger"  # then its first event is theirs
        opened = entry.store.space if may_be_new else entry.memory
        memory = requests.memory(opened, self.names["space"], self.headers)
        at = getattr(query, "at", msgspec.UNSET)
        return memory if at is msgspec.UNSET else past(memory, at)

    def _answered(self, found: Any) -> Reply:
        answer = found if isinstance(found, Answer) else Answer(value=found)
        if self.rules.root_path and "Location" in answer.headers:
            place = self.rules.root_path + answer.headers["Location"]
            answer = structs.replace(answer, headers={**answer.headers, "Location": place})
        tag, known = answer.headers.get("ETag"), self.headers.get("if-none-match", "")
        if not self.route.is_write and tag and requests.is_known(tag, known):
            return Reply(304, headers=answer.headers)
        status = answer.status or self.route.status
        if isinstance(answer.value, File):
            return Reply(status, b"", self.route.media.encode(), answer.headers, answer.value)
        body = b"" if answer.value is None else msgspec.json.encode(answer.value)
        if len(body) > _ANSWER_MAX_BYTES:
            detail = f"the answer is longer than {_ANSWER_MAX_BYTES:,} bytes"
            raise Refused(422, "limit_exceeded", detail, hint="ask for less")
        return Reply(status, body, headers=answer.headers)


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
    return method == "GET" and route.name == "events" and feed.KIND in headers.get("accept", "")


def _after(call: Call, headers: Headers) -> dict[str, Any]:
    """What a stream was asked for; a reader that reconnects names the last event it has."""
    asked: dict[str, Any] = call.query.given("limit")
    last = headers.get("last-event-id", "")
    if last.isdecimal() and len(last) <= 16:
        asked["after"] = int(last)
    return asked


def refused(error: Refused) -> Reply:
    """The answer for a refusal."""
    problem = error.problem
    return Reply(error.status, msgspec.json.encode(problem), KIND, error.headers, code=problem.code)


def _json(status: int, value: object) -> Reply:
    return Reply(status, msgspec.json.encode(value))


async def _send(send: Send, reply: Reply, *, with_body: bool) -> None:
    headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    if reply.status not in (204, 304):
        size = len(reply.body) if reply.file is None else reply.file.size
        headers.append((b"content-length", str(size).encode()))
    if reply.body or reply.file is not None:
        headers.append((b"content-type", reply.kind))
    headers += [
        (name.lower().encode(), value.encode("latin-1", "replace"))
        for name, value in reply.headers.items()
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.file is not None and with_body:
        await _send_file(send, reply.file)
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})


async def _send_file(send: Send, file: File) -> None:
    """Sends a file piece by piece; TimeoutError if the reader takes nothing for too long."""
    while piece := await asyncio.to_thread(file.data.read, _PIECE_BYTES):
        async with asyncio.timeout(_PIECE_MAX_S):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
