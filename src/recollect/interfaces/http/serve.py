"""The process behind ``recollect serve``.

Responsible for opening the store, the first token and telling the address. Leaves listening to
``serving.server`` and requests to ``app``. Invariant: nothing is answered without a token, so a
store that has none gets one, which is shown once.
"""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final

from recollect.config import load
from recollect.config import shown as named
from recollect.errors import ConfigError, Forbidden, Unavailable
from recollect.interfaces.http import ready_check
from recollect.interfaces.http.limits.rates import Rates, parsed
from recollect.interfaces.http.options import Options, Setting, resolved
from recollect.interfaces.http.problems import Refused
from recollect.interfaces.http.telemetry.parts import Telling, told_as
from recollect.memory.store import Store, give_up
from recollect.model.counts import counted
from recollect.serving import guard, server
from recollect.store.tokens.grants import VERBS
from recollect.store.tokens.tokens import hash_of

_SPARE_S: Final = 1  # for what ends with the last requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.interfaces.http.app import App
    from recollect.interfaces.http.mcp_port import Speaks
    from recollect.interfaces.http.oauth import OAuth
    from recollect.interfaces.http.telemetry.telemetry import Told
    from recollect.interfaces.http.ui import MakesPages, Pages
    from recollect.serving.oauth.desk import Desk


def serve(
    *,
    store: str | None,
    mode: str = "serve",
    mcp: Speaks | None = None,
    pages: MakesPages | None = None,
    **flags: Any,
) -> list[Setting] | None:
    """Serves a store until a signal ends it; assistants too, if ``mcp`` speaks with them.

    ``pages`` makes the inspector, if the flag ``ui`` asks for it.

    With another mode it shows its settings, or asks a service that runs.
    """
    options, shown = resolved(flags)
    if mode == "print":
        where = load(store)
        place = Setting(name="store", value=named(where.where), source=where.why)
        return [place, *shown]
    if mode == "check":
        ready_check.check(options)
        return None
    if options.oauth and mcp is None:
        raise ConfigError(
            "--oauth is for assistants, and they are not served",
            hint="leave --no-mcp out, and install recollect[mcp]",
        )
    server.check_installed("the service", "serve")
    asked = Telling(options.metrics, options.metrics_port, options.log_requests, options.traces)
    with (
        told_as(asked) as told,
        Store.open(store) as opened,
        _listening(options) as listening,
    ):
        _check_is_memory(opened)
        cut = _run(opened, listening, options, mcp, pages if options.ui else None, told)
    if cut:
        raise Unavailable(
            f"{counted(cut, 'request')} did not end within {options.grace} s and were told so",
            hint="what they wrote is in the memory; allow more time with --grace",
        )
    return None


def _run(
    store: Store,
    listening: socket.socket,
    options: Options,
    mcp: Speaks | None,
    ui: MakesPages | None,
    told: Told | None,
) -> int:
    """Serves; returns how many requests were cut."""
    from recollect.interfaces.http.app import App
    from recollect.interfaces.http.feed import STREAMS, Streams
    from recollect.interfaces.http.limits.gate import Gate
    from recollect.interfaces.http.work import Rules
    from recollect.interfaces.http.worker import working
    from recollect.serving.oauth.desk import Desk

    allowed, connections = _room(options.streams, STREAMS.most)
    per_token = min(allowed, options.streams_per_token or STREAMS.most_per_token)
    address, hosts = _names(listening, options)
    rates = Rates(parsed(options.rate, is_local=options.is_local))
    desk = Desk() if options.oauth else None
    pages = None if ui is None else _pages(ui, store, address, hosts, options, rates, desk)
    _tell(
        address,
        store.where,
        _first_token(store),
        has_mcp=mcp is not None,
        has_oauth=options.oauth,
        ui=None if pages is None else f"{_seen_at(address, options)}{pages.path}",
    )
    app = App(
        store,
        Gate(hosts),
        mcp=mcp,
        ui=pages,
        oauth=_oauth(desk, pages, options),
        metrics=told.metrics if told else None,
        streams=Streams(allowed, per_token),
        rules=Rules(rates, options.strict, options.root_path),
    )
    with working(store, is_asked=options.work, grace_s=options.grace):
        server.serve(
            told.about(app) if told else app,
            listening,
            grace_s=options.grace,
            drain=partial(_drain, app, store, options.grace),
            connections=connections,
            tls=_tls(options),
            leave=app.leave,
            delay_s=options.drain_delay,
        )
    return app.cut


def _tls(options: Options) -> tuple[str, str] | None:
    cert, key = options.tls_cert, options.tls_key
    return (cert, key) if cert and key else None


def _drain(app: App, store: Store, grace_s: float) -> None:
    """Begins to stop; what still waits for a database at the end of that time waits no longer."""
    app.drain()
    timer = threading.Timer(grace_s + _SPARE_S, give_up, (store,))
    timer.daemon = True
    timer.start()


def _pages(
    make: MakesPages, store: Store, address: str, hosts: list[str], options: Options, rates: Rates,
    desk: Desk | None,
) -> Pages:  # fmt: skip
    """The inspector; if the service has names, it is reached under these alone."""
    root, is_named = options.root_path, bool(options.hostname)

    def take(token: str, kind: str) -> None:
        try:
            rates.take(hash_of(token), kind)
        except Refused as error:
            raise Unavailable(error.problem.detail, hint=error.problem.hint) from error

    return make(
        store, hosts=[each for each in hosts if not (is_named and _is_here(each))],
        address=f"{address}{root}", root=root, is_secure=options.is_secure, is_named=is_named,
        take=take, desk=desk,
    )  # fmt: skip


def _oauth(desk: Desk | None, pages: Pages | None, options: Options) -> OAuth | None:
    """What lets assistants in that have no token, if that is asked for."""
    if desk is None or pages is None:
        return None
    from recollect.interfaces.http.oauth import OAuth
    from recollect.interfaces.http.ui import CONSENT

    return OAuth(desk, f"{pages.path}{CONSENT}", options.root_path)


def _listening(options: Options) -> AbstractContextManager[socket.socket]:
    if options.unix is not None:
        return server.listen_unix(Path(options.unix))
    return server.listen(options.port, options.host)


def _names(listening: socket.socket, options: Options) -> tuple[str, list[str]]:
    """The address that is told, and every Host that a request may name."""
    if options.unix is not None:
        return f"unix:{options.unix}", ["localhost", *options.hostname]
    port = listening.getsockname()[1]
    local = [f"{name}:{port}" for name in guard.NAMES]
    scheme = "http" if options.tls_cert is None else "https"
    with_port = [f"{name}:{port}" for name in options.hostname if ":" not in name]
    shown = options.host if options.is_local else options.hostname[0]
    return f"{scheme}://{shown}:{port}", [*local, *options.hostname, *with_port]


def _is_here(host: str) -> bool:
    """True for a name that every program of this machine answers to, on some port."""
    return host in guard.NAMES or host.rpartition(":")[0] in guard.NAMES


def _seen_at(address: str, options: Options) -> str:
    """The address at which people see the inspector."""
    if not options.hostname:
        return address
    name = options.hostname[0]
    port = address.rpartition(":")[2] if options.tls_cert is not None and ":" not in name else ""
    return f"https://{name}:{port}" if port else f"https://{name}"


def _room(asked: int | None, most: int) -> tuple[int, int]:
    """How many streams there may be, and how many connections, so that other requests find one."""
    from recollect.serving.connections import CONNECTIONS_MAX_COUNT, files_for, possible_count

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
        return store.tokens.create("first", space=None, verbs=VERBS, trust="person").token
    except Forbidden:  # on a server, only its owner creates tokens without one
        return None


def _tell(
    address: str, where: str, token: str | None, *, has_mcp: bool, has_oauth: bool, ui: str | None
) -> None:
    sys.stderr.write(f"Serving {where} on {address}\n")
    if has_mcp:
        how = "; they ask a person for access" if has_oauth else ""
        sys.stderr.write(f"MCP for assistants: {address}/mcp{how}\n")
    if ui is not None:
        sys.stderr.write(f"The inspector, for people with a token: {ui}\n")
    if token is not None:
        sys.stderr.write(
            f"\nThe first token of this store; it is shown only now:\n\n  {token}\n\n"
            "It may do everything as a person. Give agents tokens of their own:\n"
            "  recollect admin token create --label NAME --space main\n"
        )
    sys.stderr.write(f"\nTry: curl {address}/v1/spaces -H 'Authorization: Bearer rct_…'\n")
    sys.stderr.flush()
