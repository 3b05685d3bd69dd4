"""Listening on loopback, and answering until told to stop.

Responsible for a socket on 127.0.0.1 only and for how uvicorn runs. Leaves access to ``web.guard``
and slow or idle clients to ``web.connections``. Invariant: nothing listens on another address.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Self

from recollect.errors import Unavailable
from recollect.web.guard import App

ADDRESS: Final = "127.0.0.1"
_BACKLOG_MAX_COUNT: Final = 64
_GRACE_S: Final = 3
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes a free one."""
    # With the protocol named, asyncio sends small answers at once (TCP_NODELAY).
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen(_BACKLOG_MAX_COUNT)
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"could not listen on port {port}: {error.strerror}", hint="choose another with --port"
        ) from error
    return listening


def serve(
    app: App,
    listening: socket.socket,
    *,
    grace_s: int = _GRACE_S,
    drain: Callable[[], None] | None = None,
    connections: int | None = None,
) -> None:
    """Answers on the socket until SIGINT or SIGTERM; then requests in work get ``grace_s`` to end.

    ``drain`` is called when the signal comes; ``connections`` is the most at a time.
    """
    with _Stopping(drain) as stopping:  # first: what follows takes a while to load
        import uvicorn

        from recollect.web import repeats
        from recollect.web.connections import bounded

        class Server(uvicorn.Server):
            """Leaves signals to ``_Stopping``: uvicorn would raise them once more at its end."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        repeats.to_stderr()
        config = uvicorn.Config(
            app,
            http=bounded(connections),
            ws="none",
            backlog=_BACKLOG_MAX_COUNT,
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=grace_s,
        )
        server = Server(config)
        stopping.tell(server.handle_exit)
        server.run(sockets=[listening])


class _Stopping:
    """Takes the signals that end a server, from before it starts: none is lost, none kills it."""

    def __init__(self, drain: Callable[[], None] | None) -> None:
        self._drain = drain
        self._stop: Callable[[int, FrameType | None], None] | None = None
        self._asked: int | None = None
        self._before: dict[int, Any] = {}

    def tell(self, stop: Callable[[int, FrameType | None], None]) -> None:
        """Has a function called for each signal, and now for one that came before."""
        self._stop = stop
        if self._asked is not None:
            stop(self._asked, None)

    def _came(self, number: int, frame: FrameType | None) -> None:
        self._asked = number
        if self._drain is not None:
            self._drain()
        if self._stop is not None:
            self._stop(number, frame)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._before = {each: signal.signal(each, self._came) for each in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
