"""Ways to talk to the server: the SDK's own client over real pipes, and raw HTTP.

Responsible for processes with a home and a folder of their own, ended by their id. Leaves what is
expected to the tests.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.interfaces.mcp.server import build

SERVER = ("-m", "recollect", "mcp")
TIME_LIMIT_S = 60


@dataclass(frozen=True)
class Folder:
    """A project's folder and a home."""

    project: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RECOLLECT")}
        return kept | {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config")}


@dataclass(frozen=True)
class Said:
    """What a tool answered."""

    data: dict[str, Any]
    text: str
    is_error: bool

    @property
    def error(self) -> Any:
        assert self.is_error, self.text
        return self.data["error"]


class Talk:
    """A session with one server."""

    def __init__(self, session: Client | ClientSession) -> None:
        self.session = session

    async def call(self, tool: str, **given: object) -> Said:
        answer = await self.session.call_tool(tool, given)
        assert isinstance(answer, types.CallToolResult)
        (content,) = answer.content
        assert isinstance(content, types.TextContent)
        return Said(answer.structured_content or {}, content.text, answer.is_error)

    async def ask(self, tool: str, **given: object) -> Said:
        """A call that must succeed."""
        said = await self.call(tool, **given)
        assert not said.is_error, said.text
        return said


@asynccontextmanager
async def talking(
    folder: Folder, *options: str, client: types.Implementation | None = None
) -> AsyncIterator[Talk]:
    """A server of its own in the folder, over real pipes."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*SERVER, *options],
        env=folder.environment,
        cwd=folder.project,
    )
    with anyio.fail_after(TIME_LIMIT_S):
        async with (
            stdio_client(parameters) as (incoming, outgoing),
            ClientSession(incoming, outgoing, client_info=client) as session,
        ):
            await session.initialize()
            yield Talk(session)


def in_talk(folder: Folder, work: Callable[[Talk], Awaitable[None]], tools: str = "daily") -> None:
    """Runs the work in one talk with a server in this process: the SDK's client, no pipes."""

    async def run() -> None:
        at = places(start=folder.project, home=folder.home, environment={})
        server = build(Mounts(at, scope=Scoping(trust="agent")), tools)
        with anyio.fail_after(TIME_LIMIT_S):
            async with Client(server, mode="legacy") as session:
                await work(Talk(session))

    anyio.run(run)


def children() -> set[int]:
    """The processes that this one started and that still run."""
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(name.split()[0]))
    return found
