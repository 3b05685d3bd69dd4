"""The process behind ``recollect serve``.

Responsible for opening the store, the first token and telling the address. Leaves listening to
``web.serving`` and requests to ``app``. Invariant: nothing is answered without a token, so a store
that has none gets one, which is shown once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from recollect.errors import ConfigError, Forbidden, NotInstalled
from recollect.interfaces.http.telling import Telling, told_as
from recollect.memory.store import Store
from recollect.store.grants import VERBS
from recollect.web import guard, serving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.interfaces.http.mcp_port import Speaks

_GRACE_S: Final = 20


def serve(
    *,
    store: str | None,
    port: int,
    hostnames: Iterable[str] = (),
    mcp: Speaks | None = None,
    streams: int | None = None,
    streams_per_token: int | None = None,
    telling: Telling | None = None,
    work: bool = False,
) -> None:
    """Serves a store until a signal ends it; assistants too, if ``mcp`` speaks with them."""
    _check_installed()
    from recollect.interfaces.http.app import App
    from recollect.interfaces.http.feed import STREAMS, Streams
    from recollect.interfaces.http.gate import Gate
    from recollect.interfaces.http.working import working

    allowed, connections = _room(streams, STREAMS.most)
    per_token = min(allowed, streams_per_token or STREAMS.most_per_token)

    with (
        told_as(telling or Telling()) as told,
        Store.open(store) as opened,
        serving.listen(port) as listening,
    ):
        _check_is_memory(opened)
        port = listening.getsockname()[1]
        hosts = [*(f"{name}:{port}" for name in guard.NAMES), *hostnames]
        address = f"http://{serving.ADDRESS}:{port}"
        _tell(address, opened.where, _first_token(opened), has_mcp=mcp is not None)
        app = App(
            opened, Gate(hosts), mcp=mcp, metrics=told.metrics if told else None,
            streams=Streams(allowed, per_token),
        )  # fmt: skip
        with working(opened, is_asked=work, grace_s=_GRACE_S):
            serving.serve(
                told.about(app) if told else app, listening,
                grace_s=_GRACE_S, drain=app.drain, connections=connections,
            )  # fmt: skip


def _room(asked: int | None, most: int) -> tuple[int, int]:
    """How many streams there may be, and how many connections, so that other requests find one."""
    from recollect.web.connections import CONNECTIONS_MAX_COUNT, files_for, possible_count

    wanted, possible = (asked or most) + CONNECTIONS_MAX_COUNT, possible_count()
    if asked is not None and wanted > possible:
        raise ConfigError(
            f"this process may not open enough files for {asked:,} streams",
            hint=f"raise the limit with `ulimit -n {files_for(wanted)}`, or allow fewer streams",
        )
    connections = min(wanted, possible)
    return max(connections - CONNECTIONS_MAX_COUNT, connections // 2), connections


def _check_is_memory(store: Store) -> None:
    """Refuses a folder without a memory: its name may be mistyped."""
    folder = store.settings.folder
    if folder is not None and not store.spaces():
        raise ConfigError(
            f"{folder} does not contain a memory",
            hint="run `recollect init` to create one, or name another folder with --store",
        )


def _first_token(store: Store) -> str | None:
    """A token for a store that has none and whose owner this process is."""
    try:
        if store.tokens.list():
            return None
        return store.tokens.create("first", space=None, verbs=VERBS, origin="person").token
    except Forbidden:  # on a server, only its owner creates tokens without one
        return None


def _tell(address: str, where: str, token: str | None, *, has_mcp: bool) -> None:
    sys.stderr.write(f"Serving {where} on {address}\n")
    if has_mcp:
        sys.stderr.write(f"MCP for assistants: {address}/mcp\n")
    if token is not None:
        sys.stderr.write(
            f"\nThe first token of this store; it is shown only now:\n\n  {token}\n\n"
            "It may do everything as a person. Give agents tokens of their own:\n"
            "  recollect admin token create --label NAME --space main\n"
        )
    sys.stderr.write(f"\nTry: curl {address}/v1/spaces -H 'Authorization: Bearer rct_…'\n")
    sys.stderr.flush()


def _check_installed() -> None:
    try:
        import uvicorn  # noqa: F401 - an extra
    except ImportError as error:
        raise NotInstalled(
            "the service needs the package uvicorn",
            hint="install it with: pip install 'recollect[serve]'",
        ) from error
