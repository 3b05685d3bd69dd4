"""The Model Context Protocol server, which gives assistants a memory.

Responsible for one run of the server, over stdio or over HTTP on loopback. Leaves tools and
protocol to the modules beside this one. Invariant: every call has at most the trust of an agent,
or less if a credential says so.
"""

from __future__ import annotations

import signal
import sys
from base64 import urlsafe_b64encode
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import MCP_TOKEN_VARIABLE, mcp_token
from recollect.errors import ConfigError, Unsupported
from recollect.store.seam import REAL, Seam

TOOL_SETS: Final = ("daily", "all")
_PATH: Final = "/mcp"
_TOKEN_BYTES: Final = 32
_PREFIX: Final = "rcm_"
_SESSIONS_MAX_COUNT: Final = 64
_WAITING: Final = (
    "Waiting for an MCP client on stdin; `recollect mcp install` adds it to one. Ctrl-C ends.\n"
)


def serve(
    *,
    store: str | None = None,
    space: str = "main",
    folder: str | None = None,
    tools: str = "daily",
    http: bool = False,
    port: int = 0,
    seam: Seam = REAL,
) -> None:
    """Serves the mounts of ``folder`` (default: the current one) until the client disconnects.

    A signal also ends it.
    """
    check_installed()
    start = None if folder is None else Path(folder).absolute()
    if start is not None and not start.is_dir():
        raise ConfigError(f"{folder} is not a folder", hint="give the path of the project's folder")
    mounts = Mounts.open(store, space=space, start=start, scope=Scoping(trust="agent"))
    if http:
        _serve_http(mounts, tools, port, seam)
    else:
        _serve_stdio(mounts, tools)


def _serve_stdio(mounts: Mounts, tools: str) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from recollect.interfaces.mcp.server import build

    async def run() -> None:
        server = build(mounts, tools)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    if sys.stdin.isatty():
        sys.stderr.write(_WAITING)
    # Waiting for a line cannot be interrupted, and no cleanup is needed: acknowledged writes are
    # on the disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(run)


def _serve_http(mounts: Mounts, tools: str, port: int, seam: Seam) -> None:
    from recollect.interfaces.mcp.server import build
    from recollect.serving import guard, server

    given = mcp_token()
    token = given or _new_token(seam)
    guard.check_token(token)
    with server.listen(port) as listening:
        port = listening.getsockname()[1]
        app = build(mounts, tools).streamable_http_app(max_sessions=_SESSIONS_MAX_COUNT)
        _tell(f"http://{server.ADDRESS}:{port}{_PATH}", None if given else token)
        server.serve(guard.Guard(app, port=port, token=token), listening)


def _new_token(seam: Seam) -> str:
    """A token that a shell does not take for an option: it never begins with a hyphen."""
    return _PREFIX + urlsafe_b64encode(seam.random(_TOKEN_BYTES)).decode().rstrip("=")


def _tell(address: str, token: str | None) -> None:
    """Prints the address, a newly created token, which is shown once, and a line to paste."""
    sys.stderr.write(f"Listening on {address}\n")
    if token is not None:
        sys.stderr.write(f"Authorization: Bearer {token}\n")
    sys.stderr.write(
        f"With the token in {MCP_TOKEN_VARIABLE}, connect a client, for example:\n"
        f"  claude mcp add --transport http recollect {address} "
        f'--header "Authorization: Bearer ${MCP_TOKEN_VARIABLE}"\n'
    )
    sys.stderr.flush()


def check_installed() -> None:
    """Raises Unsupported without the SDK, which is not loaded for it."""
    if find_spec("mcp") is None:
        raise Unsupported(
            "the MCP server is not installed",
            hint="install it with: pip install 'recollect[mcp]'",
        )
