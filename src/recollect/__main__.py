"""The whole program: the command line, and what it can start.

Responsible for connecting the interfaces, so that none of them imports another. Leaves everything
else to them. Invariant: an interface is loaded when it is started, not before.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from recollect.interfaces.mcp.over_http import OverHttp


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    try:
        from recollect.interfaces.cli import main as run

        return run(argv, start={"mcp": _serve_mcp, "http": _serve_http})
    except KeyboardInterrupt:  # also while the modules are loading
        return 130


def _serve_mcp(
    *, store: str | None, space: str, folder: str | None, tools: str, http: bool, port: int
) -> None:
    from recollect.interfaces.mcp import serve

    serve(store=store, space=space, folder=folder, tools=tools, http=http, port=port)


def _serve_http(
    *,
    store: str | None,
    port: int,
    hostnames: Sequence[str],
    streams: int | None,
    streams_per_token: int | None,
    mcp: bool,
    work: bool,
    **telling: Any,
) -> None:
    from recollect.interfaces.http.serve import serve
    from recollect.interfaces.http.telling import Telling

    serve(
        store=store, port=port, hostnames=hostnames, mcp=_mcp() if mcp else None,
        streams=streams, streams_per_token=streams_per_token, telling=Telling(**telling),
        work=work,
    )  # fmt: skip


def _mcp() -> OverHttp | None:
    """What speaks MCP on the port of the service, if its extra is installed."""
    from recollect.errors import Unsupported
    from recollect.interfaces.mcp import check_installed

    try:
        check_installed()
    except Unsupported as error:
        sys.stderr.write(f"{error.message}, so assistants are not served; {error.hint}\n")
        return None
    from recollect.interfaces.mcp.over_http import OverHttp

    return OverHttp()


if __name__ == "__main__":
    sys.exit(main())
