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
    from recollect.interfaces.web.app import App


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    try:
        if given[:1] == ["mcp"]:  # an assistant does not wait for its servers
            from recollect.interfaces.mcp import run_plain

            if run_plain(given):
                return 0
        from recollect.interfaces.cli import main as run

        return run(argv, start={"mcp": _serve_mcp, "http": _serve_http, "web": _show})
    except KeyboardInterrupt:  # also while the modules are loading
        return 130


def _serve_mcp(
    *, store: str | None, space: str, folder: str | None, tools: str, http: bool, port: int
) -> None:
    from recollect.interfaces.mcp import serve

    serve(store=store, space=space, folder=folder, tools=tools, http=http, port=port)


def _serve_http(*, mcp: bool, **options: Any) -> object:
    from recollect.interfaces.http.serve import serve

    speaks = _mcp() if mcp and options.get("mode") == "serve" else None
    return serve(mcp=speaks, pages=_pages, **options)


def _show(**options: Any) -> None:
    from recollect.interfaces.web.serve import serve

    serve(**options)


def _pages(store: Any, **where: Any) -> App:
    """The inspector on the port of the service."""
    from recollect.interfaces.web.serve import mounted

    return mounted(store, **where)


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
