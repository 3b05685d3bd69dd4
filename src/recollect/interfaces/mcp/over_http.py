"""The same server for a service that many callers share: one request, one caller's memory.

Responsible for the protocol of one HTTP request. Leaves tokens, hosts, limits and which memory a
request means to the service that hands it in. Invariants: nothing is kept between two requests, so
any of several processes can answer the next one; a call works on the memory that came with its own
request, with at most the trust of an agent.

The SDK takes longer to load than the whole service, so it is loaded for the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, NamedTuple, TypeVar

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import Settings
from recollect.interfaces.mcp import TOOL_SETS
from recollect.memory import Memory
from recollect.serving.guard import Receive, Scope, Send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    Managers = Mapping[str, StreamableHTTPSessionManager]

T = TypeVar("T")
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]

_CALLER: Final = "recollect.caller"
_SCOPE: Final = Scoping(trust="agent")


class _Caller(NamedTuple):
    """Whose memory a request works on, and where its work is done."""

    mounts: Mounts
    in_thread: InThread


class _OfTheRequest:
    """Runs each call on the mounts that came with its request."""

    async def run(self, context: Any, work: Callable[[Mounts], T]) -> T:
        """Runs ``work`` in a thread of the service."""
        caller: _Caller = context.request.scope[_CALLER]
        done: T = await caller.in_thread(lambda: work(caller.mounts))
        return done


class OverHttp:
    """Answers requests of the protocol inside another server."""

    _wanted: asyncio.Event
    _ending: asyncio.Event
    _managers: asyncio.Future[Managers]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Holds what requests need, from before the first until after the last."""
        self._wanted, self._ending = asyncio.Event(), asyncio.Event()
        self._managers = asyncio.get_running_loop().create_future()
        host = asyncio.create_task(self._host())
        try:
            yield
        finally:
            self._ending.set()
            self._wanted.set()
            await host

    async def _host(self) -> None:
        """Holds the managers in one task, because each must end in the task that began it."""
        await self._wanted.wait()
        if self._ending.is_set():
            return
        async with AsyncExitStack() as stack:
            try:
                managers = await asyncio.to_thread(_load)
                for manager in managers.values():
                    await stack.enter_async_context(manager.run())
            except Exception as error:  # noqa: BLE001 - each request that waits is told
                self._managers.set_exception(error)
            else:
                self._managers.set_result(managers)
                await self._ending.wait()

    async def answer(
        self,
        memory: Memory,
        settings: Settings,
        tools: str,
        in_thread: InThread,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answers one request for a caller who may use this memory."""
        self._wanted.set()
        managers = await asyncio.shield(self._managers)
        mounts = Mounts.around(memory, settings, scope=_SCOPE)
        inner = {**scope, _CALLER: _Caller(mounts, in_thread)}
        await managers[tools].handle_request(inner, receive, send)


def _load() -> Managers:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from recollect.interfaces.mcp.server import offering

    return {
        tools: StreamableHTTPSessionManager(
            offering(_OfTheRequest(), tools), stateless=True, json_response=True
        )
        for tools in TOOL_SETS
    }
