"""The Model Context Protocol server, which gives assistants a memory.

Responsible for one run of the server, over stdio or over HTTP on loopback. Leaves tools and
protocol to the modules beside this one. Invariants: every call has at most the trust of an agent,
or less if a credential says so; importing this loads nothing else, because a client that starts
the server does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.assistants.mounts import Mounts
    from recollect.store.seam import Seam

TOOL_SETS: Final = ("daily", "all")
_PATH: Final = "/mcp"
_TOKEN_BYTES: Final = 32
_PREFIX: Final = "rcm_"
_SESSIONS_MAX_COUNT: Final = 64
_OPTIONS: Final = ("--store", "--space", "--folder", "--tools")


def run_plain(given: Sequence[str]) -> bool:
    """Serves stdio for a plain command line; False for any other, which is left to its parser.

    A line is plain if it is ``mcp`` with options of ``serve`` and their values, the folder is
    there, and the system has locks; one without is refused by the command line.
    """
    import os
    from importlib.util import find_spec

    if find_spec("fcntl") is None:
        return False
    values: dict[str, str] = {}
    words = iter(given[1:])
    for word in words:
        name, sign, value = word.partition("=")
        value = value if sign else next(words, "")
        if name not in _OPTIONS or not value or value.startswith("-"):
            return False
        values[name] = value
    folder, tools = values.get("--folder"), values.get("--tools", "daily")
    if list(given[:1]) != ["mcp"] or tools not in TOOL_SETS:
        return False
    if folder is not None and not os.path.isdir(folder):
        return False
    serve(
        store=values.get("--store"),
        space=values.get("--space", "main"),
        folder=folder,
        tools=tools,
    )
    return True


def serve(
    *,
    store: str | None = None,
    space: str = "main",
    folder: str | None = None,
    tools: str = "daily",
    http: bool = False,
    port: int = 0,
    seam: Seam | None = None,
) -> None:
    """Serves the mounts of ``folder`` (default: the current one) until the client disconnects.

    A signal also ends it.
    """
    import os

    if folder is not None and not os.path.isdir(folder):
        from recollect.errors import ConfigError

        raise ConfigError(f"{folder} is not a folder", hint="give the path of the project's folder")

    def opening() -> Mounts:
        from pathlib import Path

        from recollect.assistants.mounts import Mounts
        from recollect.assistants.place import Scoping

        start = None if folder is None else Path(folder).absolute()
        return Mounts.open(store, space=space, start=start, scope=Scoping(trust="agent"))

    if http:
        check_installed()
        _serve_http(opening(), tools, port, seam)
    else:
        from recollect.interfaces.mcp import stdio

        stdio.serve(opening, tools)


def _serve_http(mounts: Mounts, tools: str, port: int, seam: Seam | None) -> None:
    from recollect.config import mcp_token
    from recollect.interfaces.mcp.server import build
    from recollect.serving import guard, server
    from recollect.store.seam import REAL

    given = mcp_token()
    token = given or _new_token(seam or REAL)
    guard.check_token(token)
    with server.listen(port) as listening:
        port = listening.getsockname()[1]
        app = build(mounts, tools).streamable_http_app(max_sessions=_SESSIONS_MAX_COUNT)
        _tell(f"http://{server.ADDRESS}:{port}{_PATH}", None if given else token)
        server.serve(guard.Guard(app, port=port, token=token), listening)


def _new_token(seam: Seam) -> str:
    """A token that a shell does not take for an option: it never begins with a hyphen."""
    from base64 import urlsafe_b64encode

    return _PREFIX + urlsafe_b64encode(seam.random(_TOKEN_BYTES)).decode().rstrip("=")


def _tell(address: str, token: str | None) -> None:
    """Prints the address, a newly created token, which is shown once, and a line to paste."""
    import sys

    from recollect.config import MCP_TOKEN_VARIABLE

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
    from importlib.util import find_spec

    from recollect.errors import Unsupported

    if find_spec("mcp") is None:
        raise Unsupported(
            "the MCP server over HTTP is not installed",
            hint="install it with: pip install 'recollect[mcp]'",
        )
