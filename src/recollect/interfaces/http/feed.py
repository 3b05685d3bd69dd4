"""The feed: events of a memory as they are written (server-sent events).

Responsible for streams and for waking them. Leaves reading events to ``pages``. Invariants: a
stream holds a position and no buffer, so a slow reader costs nothing and misses nothing; each page
is read with the rights of the token, so a token that ended ends its streams.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from recollect.errors import RecollectError
from recollect.interfaces.http.call import Call
from recollect.interfaces.http.limits.gate import Gate
from recollect.interfaces.http.pages import Asked, Pages
from recollect.interfaces.http.problems import Refused
from recollect.memory.store import Store
from recollect.serving.guard import Receive, Send
from recollect.serving.threads import Threads

KIND: Final = "text/event-stream"
_POLL_S: Final = 0.25
_SILENCE_MAX_S: Final = 15.0
_STREAM_MAX_S: Final = 1_800.0
_RETRY_MS: Final = 2_000
_SEND_MAX_S: Final = 30.0
_HEADERS: Final = (
    (b"content-type", KIND.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
)


class Seen(NamedTuple):
    """What a look at something shows, as an event; ``is_last`` if it will not change any more."""

    body: bytes
    is_last: bool


Look = Callable[[], Seen]


class Streams(NamedTuple):
    """How many there may be."""

    most: int = 256
    most_per_token: int = 64


STREAMS: Final = Streams()


class _Reader:
    """A stream that waits: what wakes it, what it may see, and where it is."""

    __slots__ = ("after", "store", "woken")

    def __init__(self, store: Store, after: int) -> None:
        self.store = store
        self.after = after
        self.woken = asyncio.Event()


class Feed:
    """The streams of one service."""

    def __init__(
        self,
        threads: Threads,
        gate: Gate,
        *,
        streams: Streams = STREAMS,
        stream_max_s: float = _STREAM_MAX_S,
    ) -> None:
        self._threads = threads
        self._gate = gate
        self._streams = streams
        self._stream_max_s = stream_max_s
        self._pages = Pages(threads)
        self._readers: dict[str, dict[_Reader, None]] = {}  # by space, in the order they came
        self._heads: dict[str, int] = {}
        self._owners: Counter[bytes] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._polling: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """How many streams are open."""
        return self._owners.total()

    def wrote(self, space: str) -> None:
        """Wakes the streams of a space after a write of this process; any thread may call it."""
        if self._loop is not None and space in self._readers:
            self._loop.call_soon_threadsafe(self._wake, space)

    def wake_all(self) -> None:
        """Wakes every stream; once the gate is draining, each says bye and ends."""
        if self._loop is not None:
            for space in list(self._readers):
                self._loop.call_soon_threadsafe(self._wake, space)

    async def stream(
        self,
        owner: bytes,
        call: Call,
        asked: dict[str, Any],
        receive: Receive,
        send: Send,
    ) -> None:
        """Sends the events after a position, then each new one, until either side ends it."""
        self._check_number(owner)
        self._loop = asyncio.get_running_loop()
        space = call.space.scope.space
        reader = _Reader(call.store, asked.pop("after"))
        self._owners[owner] += 1
        self._readers.setdefault(space, {})[reader] = None
        self._polling = self._polling or self._loop.create_task(self._poll())
        gone = self._loop.create_task(_until_gone(receive, reader.woken))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
            await _write(send, b"retry: %d\n\n" % _RETRY_MS)
            await self._run(Asked(owner, call.space, asked), reader, gone, send)
        except TimeoutError:  # the client stopped reading
            pass
        finally:
            gone.cancel()
            self._owners[owner] -= 1
            self._owners += Counter()  # forgets owners without streams
            left = self._readers[space]
            del left[reader]
            if not left:
                del self._readers[space]
                self._heads.pop(space, None)

    async def follow(self, owner: bytes, look: Look, receive: Receive, send: Send) -> None:
        """Sends what a look shows, then again whenever it differs, until it says it is the last."""
        loop = asyncio.get_running_loop()
        first = await self._threads.run(look)  # refused now, not in the stream
        self._check_number(owner)
        self._owners[owner] += 1
        woken = asyncio.Event()
        gone = loop.create_task(_until_gone(receive, woken))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
            await _write(send, b"retry: %d\n\n" % _RETRY_MS)
            await self._looking(look, first, woken, send)
        except TimeoutError:  # the client stopped reading
            pass
        finally:
            gone.cancel()
            self._owners[owner] -= 1
            self._owners += Counter()

    async def _looking(self, look: Look, seen: Seen, woken: asyncio.Event, send: Send) -> None:
        loop = asyncio.get_running_loop()
        end, said = loop.time() + self._stream_max_s, loop.time()
        await _write(send, seen.body)
        while not (seen.is_last or woken.is_set()):
            if self._gate.is_draining or loop.time() >= end:
                break
            await _is_woken(woken, _POLL_S)
            before = seen
            try:
                seen = await self._threads.run(look)
            except RecollectError as error:
                await _bye(send, {"why": error.code})
                return
            if seen.body != before.body:
                await _write(send, seen.body)
            elif loop.time() - said >= _SILENCE_MAX_S:
                await _write(send, b": still here\n\n")
            else:
                continue
            said = loop.time()
        why = "ended" if seen.is_last else "draining" if self._gate.is_draining else "renew"
        await _bye(send, {"why": why})

    def _check_number(self, owner: bytes) -> None:
        """Refuses a stream that would leave too few connections to others."""
        most, most_per_token = self._streams
        if self._owners[owner] >= most_per_token or self._owners.total() >= most:
            raise Refused(
                503, "busy", "too many streams are open", hint="end one, or read pages of events",
                headers={"Retry-After": "5"},
            )  # fmt: skip

    async def _run(
        self, asked: Asked, reader: _Reader, gone: asyncio.Task[None], send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._stream_max_s
        while not gone.done():
            reader.woken.clear()
            try:
                page = await self._pages.read(asked, reader.after)
            except RecollectError as error:
                await _end(send, reader.after, error.code)
                return
            if page.last > reader.after:
                reader.after = page.last
                await _write(send, page.body)
            if self._gate.is_draining or loop.time() >= end:
                await _end(send, reader.after, "draining" if self._gate.is_draining else "renew")
                return
            if page.is_full:
                continue
            if not await _is_woken(reader.woken, min(_SILENCE_MAX_S, max(0.0, end - loop.time()))):
                await _write(send, b": still here\n\n")
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _head(self, space: str) -> int | None:
        """The position of a space, asked with the first token that still opens it."""
        for reader in list(self._readers.get(space, ())):
            try:
                heads = await self._threads.run(reader.store.heads, [space])
            except RecollectError:
                reader.woken.set()  # its stream finds out why, and ends
            else:
                return heads.get(space, 0)
        return None

    async def _poll(self) -> None:
        """Finds what other processes wrote, with one look for each space that has streams."""
        try:
            while self._readers:
                for space in list(self._readers):
                    head = await self._head(space)
                    before = self._heads.get(space, 0)
                    if head is not None and head != before:
                        self._heads[space] = head
                        self._wake(space, head if head > before else None)  # less: it was dropped
                await asyncio.sleep(_POLL_S)
        finally:
            self._polling = None

    def _wake(self, space: str, head: int | None = None) -> None:
        """Wakes the streams of a space; with ``head``, those that are not there yet."""
        self._pages.forget(space)
        for each in self._readers.get(space, ()):
            if head is None or each.after < head:
                each.woken.set()


async def _is_woken(woken: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await woken.wait()
    except TimeoutError:
        return False
    return True


async def _until_gone(receive: Receive, woken: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    woken.set()


async def _end(send: Send, after: int, why: str) -> None:
    """Tells the reader to connect again after this position, and why the stream ended."""
    await _bye(send, {"after": after, "why": why})


async def _bye(send: Send, told: dict[str, object]) -> None:
    await _write(send, b"event: bye\ndata: " + msgspec.json.encode(told) + b"\n\n")
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _write(send: Send, body: bytes) -> None:
    """Sends a piece; TimeoutError if the reader takes nothing for too long."""
    async with asyncio.timeout(_SEND_MAX_S):
        await send({"type": "http.response.body", "body": body, "more_body": True})
