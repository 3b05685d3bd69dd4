"""The feed: events of a memory as they are written (server-sent events).

Responsible for streams and for waking them. Leaves reading events to ``memory``. Invariants: a
stream holds a position and no buffer, so a slow reader costs nothing and misses nothing; each page
is read with the rights of the token, so a token that ended ends its streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Final

import msgspec

from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.memory.store import Store
from recollect.model.values import Change

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

KIND: Final = "text/event-stream"
_PAGE: Final = 100
_POLL_S: Final = 0.25
_SILENCE_MAX_S: Final = 15.0
_STREAM_MAX_S: Final = 1_800.0
_RETRY_MS: Final = 2_000
_HEADERS: Final = (
    (b"content-type", KIND.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
)


class Feed:
    """The streams of one service."""

    def __init__(self, threads: Executor, *, stream_max_s: float = _STREAM_MAX_S) -> None:
        self._threads = threads
        self._stream_max_s = stream_max_s
        self._waiting: dict[str, dict[asyncio.Event, Store]] = {}
        self._heads: dict[str, int] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._polling: asyncio.Task[None] | None = None
        self.is_draining = False

    def wrote(self, space: str) -> None:
        """Wakes the streams of a space after a write of this process; any thread may call it."""
        if self._loop is not None and space in self._waiting:
            self._loop.call_soon_threadsafe(self._wake, space)

    def drain(self) -> None:
        """Every stream says bye and ends."""
        self.is_draining = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake_all)

    async def stream(
        self,
        store: Store,
        memory: Memory,
        asked: dict[str, Any],
        receive: Receive,
        send: Send,
    ) -> None:
        """Sends the events after a position, then each new one, until either side ends it."""
        self._loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        space = memory.name
        self._waiting.setdefault(space, {})[woken] = store
        self._polling = self._polling or self._loop.create_task(self._poll())
        gone = self._loop.create_task(_until_gone(receive, woken))
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
        try:
            await _write(send, f"retry: {_RETRY_MS}\n\n")
            await self._run(memory, asked, woken, gone, send)
        finally:
            gone.cancel()
            left = self._waiting.get(space, {})
            left.pop(woken, None)
            if not left:
                self._waiting.pop(space, None)
                self._heads.pop(space, None)

    async def _run(
        self,
        memory: Memory,
        asked: dict[str, Any],
        woken: asyncio.Event,
        gone: asyncio.Task[None],
        send: Send,
    ) -> None:
        loop = asyncio.get_running_loop()
        after: int = asked.pop("after")
        end = loop.time() + self._stream_max_s
        while not gone.done():
            woken.clear()
            try:
                page = await loop.run_in_executor(self._threads, _read, memory, asked, after)
            except RecollectError as error:
                await _end(send, after, error.code)
                return
            for change in page:
                after = change.seq
                await _write(send, _event(change))
            if self.is_draining or loop.time() >= end:
                await _end(send, after, "draining" if self.is_draining else "renew")
                return
            if len(page) == _PAGE:
                continue
            try:
                async with asyncio.timeout(min(_SILENCE_MAX_S, max(0.0, end - loop.time()))):
                    await woken.wait()
            except TimeoutError:
                await _write(send, ": still here\n\n")
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _poll(self) -> None:
        """Finds what other processes wrote, with one look for each space that has streams."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                asked = {space: next(iter(each.values())) for space, each in self._waiting.items()}
                for space, store in asked.items():
                    with suppress(RecollectError):  # the stream finds out by itself
                        heads = await loop.run_in_executor(self._threads, store.heads, [space])
                        if heads.get(space, 0) != self._heads.get(space):
                            self._heads[space] = heads.get(space, 0)
                            self._wake(space)
                await asyncio.sleep(_POLL_S)
        finally:
            self._polling = None

    def _wake(self, space: str) -> None:
        for each in self._waiting.get(space, ()):
            each.set()

    def _wake_all(self) -> None:
        for space in list(self._waiting):
            self._wake(space)


def _read(memory: Memory, asked: dict[str, Any], after: int) -> list[Change]:
    return memory.events(after=after, limit=_PAGE, **asked)


async def _until_gone(receive: Receive, woken: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    woken.set()


def _event(change: Change) -> str:
    data = msgspec.json.encode(change).decode()
    return f"id: {change.seq}\nevent: {change.kind or 'erased'}\ndata: {data}\n\n"


async def _end(send: Send, after: int, why: str) -> None:
    """Tells the reader to connect again after this position, and why the stream ended."""
    data = msgspec.json.encode({"after": after, "why": why}).decode()
    await _write(send, f"event: bye\ndata: {data}\n\n")
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
