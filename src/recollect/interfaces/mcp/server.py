"""The same server in the official SDK, which speaks the protocol over HTTP.

Responsible for handing every call to ``calls``. Leaves stdio to ``stdio``, which needs no SDK.
Invariants: a call blocks a thread, never the event loop; the server keeps running after any
failure.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.assistants.mounts import Mounts
from recollect.interfaces.mcp import calls, lists
from recollect.interfaces.mcp.lists import Result
from recollect.interfaces.mcp.messages import Refused

T = TypeVar("T")
Kind = TypeVar("Kind", bound=types.Result)
Context = Any  # passed to every call by the SDK

_THREADS_MAX_COUNT: Final = 8  # as many as a space has readers


class Runs(Protocol):
    """Where the work of a call is done, and on whose mounts."""

    async def run(self, context: Context, work: Callable[[Mounts], T]) -> T:
        """Runs ``work`` with the mounts of this call; the event loop goes on meanwhile."""
        ...


class Threads:
    """Runs blocking calls on the same mounts in threads, a few at a time.

    A cancelled call still finishes its write, so that no outcome is left half done.
    """

    def __init__(self, mounts: Mounts) -> None:
        self._mounts = mounts
        self._limit = CapacityLimiter(_THREADS_MAX_COUNT)

    async def run(self, context: Context, work: Callable[[Mounts], T]) -> T:
        """Runs ``work`` in a thread, with the mounts under the name that the client gave itself."""
        client = context.session.client_params
        mounts = self._mounts.of_agent(client.client_info.name) if client else self._mounts
        return await to_thread.run_sync(partial(work, mounts), limiter=self._limit)


def build(mounts: Mounts, tools: str = "daily") -> Server[None]:
    """A server over these mounts, which it closes when it ends."""

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        try:
            yield None
        finally:
            mounts.close()

    return offering(Threads(mounts), tools, lifespan)


@asynccontextmanager
async def _nothing(_: Server[None]) -> AsyncIterator[None]:
    yield None


def offering(
    runs: Runs,
    tools: str,
    lifespan: Callable[[Server[None]], AbstractAsyncContextManager[None]] = _nothing,
) -> Server[None]:
    """A server that offers a set of tools, the resources and the prompt."""
    offered = calls.offered(tools)
    listed: Result = {"tools": [calls.listed(tool) for tool in offered.values()]}
    return Server(
        lists.NAME,
        version=__version__,
        instructions=lists.ABOUT,
        lifespan=lifespan,
        get_tool_input_schema=lambda name: offered[name].input_schema if name in offered else None,
        on_list_tools=_lister(types.ListToolsResult, listed),
        on_call_tool=_caller(runs, offered),
        on_list_resources=_lister(types.ListResourcesResult, lists.RESOURCES),
        on_list_resource_templates=_lister(types.ListResourceTemplatesResult, lists.TEMPLATES),
        on_read_resource=_reader(runs),
        on_list_prompts=_lister(types.ListPromptsResult, lists.PROMPTS),
        on_get_prompt=_prompter(runs),
    )


def _lister(kind: type[Kind], listed: Result) -> Any:
    """A list that never changes, so it cannot contain anything from a memory."""
    fixed = kind.model_validate(listed, by_name=False)

    async def answer(_: Context, params: object) -> Kind:
        return fixed

    return answer


def _caller(runs: Runs, offered: calls.Offered) -> Any:
    async def answer(at: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        name, given = params.name, params.arguments
        result = await _run(runs, at, lambda mounts: calls.use(mounts, offered, name, given))
        return types.CallToolResult.model_validate(result, by_name=False)

    return answer


def _reader(runs: Runs) -> Any:
    async def answer(
        at: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        result = await _run(runs, at, lambda mounts: calls.read(mounts, uri))
        return types.ReadResourceResult.model_validate(result, by_name=False)

    return answer


def _prompter(runs: Runs) -> Any:
    async def answer(at: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        name, given = params.name, params.arguments
        result = await _run(runs, at, lambda mounts: calls.prompt(mounts, name, given))
        return types.GetPromptResult.model_validate(result, by_name=False)

    return answer


async def _run(runs: Runs, at: Context, work: Callable[[calls.Opened], Result]) -> Result:
    """Runs a call in a thread; what the protocol answers with an error becomes the SDK's."""
    try:
        return await runs.run(at, lambda mounts: work(lambda: mounts))
    except Refused as error:
        raise MCPError(error.code, error.message, error.data) from error
