"""Listening on loopback, and answering until told to stop.

Responsible for a socket on 127.0.0.1 only and for how uvicorn runs. Leaves access to ``web.guard``
and slow or idle clients to ``web.connections``. Invariant: nothing listens on another address.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from recollect.errors import Unavailable
from recollect.web.guard import App

ADDRESS: Final = "127.0.0.1"
_BACKLOG_MAX_COUNT: Final = 64
_GRACE_S: Final = 3
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes a free one."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
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
) -> None:
    """Answers on the socket until SIGINT or SIGTERM; then requests in work get ``grace_s`` to end.

    ``drain`` is called when the signal comes.
    """
    import uvicorn

    from recollect.web import repeats
    from recollect.web.connections import bounded

    class Server(uvicorn.Server):
        """Ends in order: uvicorn would raise the signal once more, and the process would die."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            before = {each: signal.signal(each, self._stop) for each in _SIGNALS}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)

        def _stop(self, number: int, frame: FrameType | None) -> None:
            if drain is not None:
                drain()
            self.handle_exit(number, frame)

    repeats.to_stderr()
    config = uvicorn.Config(
        app,
        http=bounded(),
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
    Server(config).run(sockets=[listening])
