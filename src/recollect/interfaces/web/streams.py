"""Streams that say how much is new in a memory.

Responsible for how many there may be, how long each lives and what it says. Leaves the memory to
``memories``. Invariants: a stream says a number and nothing else; it ends with its session, with
the process, and after a while by itself, since a browser asks again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from recollect.interfaces.web.guard import HEADERS, Turned
from recollect.serving.guard import Receive, Send

EVERY_S: Final = 1.0
_SILENT_S: Final = 15  # then a line that says nothing, so that a dead connection is noticed
_MOST_S: Final = 600
_MOST: Final = 64
_MOST_OF_ONE: Final = 6  # as many as a browser opens
_KIND: Final = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))


class Streams:
    """The streams of one process."""

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._open: Counter[str] = Counter()
        self._is_ending = False

    def end(self) -> None:
        """Ends all of them, within a moment."""
        self._is_ending = True

    async def stream(
        self,
        session: str,
        after: int,
        head: Callable[[], Awaitable[int | None]],
        receive: Receive,
        send: Send,
    ) -> None:
        """Says how far the memory is beyond ``after``, whenever that changes."""
        if self._open.total() >= _MOST or self._open[session] >= _MOST_OF_ONE:
            raise Turned(503, "too many pages are watching", "close some of them")
        self._open[session] += 1
        gone = asyncio.ensure_future(_gone(receive))
        try:
            raw = [(name.lower().encode(), value.encode()) for name, value in (*_KIND, *HEADERS)]
            await send({"type": "http.response.start", "status": 200, "headers": raw})
            await self._say(after, head, gone, send)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self._open[session] -= 1
            self._open += Counter()  # drops what is zero

    async def _say(
        self,
        after: int,
        head: Callable[[], Awaitable[int | None]],
        gone: asyncio.Future[None],
        send: Send,
    ) -> None:
        told, silent = after, 0.0
        for _ in range(int(_MOST_S / self._every_s)):
            found = await head()
            if found is None or self._is_ending:
                return
            if found > told:
                told, silent = found, 0.0
                await _piece(send, f"data: {found - after}\n\n")
            elif silent >= _SILENT_S:
                silent = 0.0
                await _piece(send, ":\n\n")
            done, _ = await asyncio.wait([gone], timeout=self._every_s)
            if done:
                return
            silent += self._every_s


async def _piece(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _gone(receive: Receive) -> None:
    """Ends when the browser has; before that comes the request's own empty body."""
    while (await receive())["type"] != "http.disconnect":
        pass
