"""Listening, and answering until told to stop.

Responsible for sockets, for how uvicorn runs and for what a server writes to stderr. Leaves access
to ``serving.guard`` and ``interfaces.http.gate``, and slow or idle clients to
``serving.connections``. Invariant: it listens on this machine alone, unless another address is
named; however often an error happens, it is written at most once a minute.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

from recollect.errors import NotInstalled, Unavailable
from recollect.serving.guard import App
from recollect.store.seam import REAL, Seam

ADDRESS: Final = "127.0.0.1"
_BACKLOG_MAX_COUNT: Final = 64
_GRACE_S: Final = 3
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SWITCH_S: Final = 0.0005  # a short request waits so long each time that a long one computes
_PACKAGES: Final = ("uvicorn", "httptools")
_WINDOW_S: Final = 60.0
_KINDS_MAX_COUNT: Final = 256
# Ports, descriptors, addresses and the ids of requests differ each time.
_VARYING: Final = re.compile(r"\breq(?:_|uest )\S+|[0-9]+")


def check_installed(what: str, extra: str, *more: str) -> None:
    """Raises NotInstalled without what a server needs, which is not loaded for it."""
    for name in (*_PACKAGES, *more):
        if find_spec(name) is None:
            raise NotInstalled(
                f"{what} needs the package {name}",
                hint=f"install it with: pip install 'recollect[{extra}]'",
            )


def listen(port: int, host: str = ADDRESS) -> socket.socket:
    """A socket, on loopback by default; port 0 takes a free one."""
    # With the protocol named, asyncio sends small answers at once (TCP_NODELAY).
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG_MAX_COUNT)
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"could not listen on port {port}: {error.strerror}", hint="choose another with --port"
        ) from error
    return listening


@contextmanager
def listen_unix(path: Path, seam: Seam = REAL) -> Iterator[socket.socket]:
    """A socket with a name in a folder, for this account alone; its name goes when it ends."""
    if _is_left(path):
        seam.unlink(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        try:
            before = os.umask(0o177)
            try:
                listening.bind(str(path))
            finally:
                os.umask(before)
            listening.listen(_BACKLOG_MAX_COUNT)
        except OSError as error:
            raise Unavailable(
                f"could not listen on {path}: {error.strerror}", hint="name another with --unix"
            ) from error
        yield listening
        with suppress(OSError):
            seam.unlink(path)


def _is_left(path: Path) -> bool:
    """True for a socket that nobody listens on any more."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(str(path))
        except OSError:
            return True
    return False


def serve(
    app: App,
    listening: socket.socket,
    *,
    grace_s: int = _GRACE_S,
    drain: Callable[[], None] | None = None,
    connections: int | None = None,
    tls: tuple[str, str] | None = None,
    leave: Callable[[], None] | None = None,
    delay_s: float = 0,
) -> None:
    """Answers on the socket until SIGINT or SIGTERM; then requests in work get ``grace_s`` to end.

    When the signal comes, ``leave`` is called, and ``delay_s`` later ``drain``. ``connections`` is
    the most at a time, and ``tls`` the files of a certificate and its key.
    """
    with _Stopping(drain, leave, delay_s) as stopping:  # first: what follows takes a while to load
        import uvicorn

        from recollect.serving.connections import bounded

        class Server(uvicorn.Server):
            """Leaves signals to ``_Stopping``: uvicorn would raise them once more at its end."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        sys.setswitchinterval(_SWITCH_S)
        to_stderr()
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
            ssl_certfile=None if tls is None else tls[0],
            ssl_keyfile=None if tls is None else tls[1],
        )
        server = Server(config)
        stopping.tell(server.handle_exit)
        server.run(sockets=[listening])


class _Stopping:
    """Takes the signals that end a server, from before it starts: none is lost, none kills it."""

    def __init__(
        self,
        drain: Callable[[], None] | None,
        leave: Callable[[], None] | None = None,
        delay_s: float = 0,
    ) -> None:
        self._drain = drain
        self._leave = leave
        self._delay_s = delay_s
        self._stop: Callable[[int, FrameType | None], None] | None = None
        self._asked: int | None = None
        self._timer: threading.Timer | None = None
        self._before: dict[int, Any] = {}

    def tell(self, stop: Callable[[int, FrameType | None], None]) -> None:
        """Has a function called for each signal, and now for one that came before."""
        self._stop = stop
        if self._asked is not None:
            stop(self._asked, None)

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self._leave is not None:
            self._leave()
        if self._delay_s and self._timer is None:  # a second signal does not wait
            self._timer = threading.Timer(self._delay_s, self._end, (number,))
            self._timer.daemon = True
            self._timer.start()
            return
        self._end(number)

    def _end(self, number: int) -> None:
        self._asked = number
        if self._drain is not None:
            self._drain()
        if self._stop is not None:
            self._stop(number, None)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._before = {each: signal.signal(each, self._came) for each in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)


class Repeats(logging.Filter):
    """Passes the first of many equal messages, and later one more with their count."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True if this message is written."""
        first, _, _ = record.getMessage().partition("\n")
        kind = (record.name, _VARYING.sub("#", first))
        since, count = self._seen.get(kind, (record.created - _WINDOW_S, 0))
        if record.created - since < _WINDOW_S:
            self._seen[kind] = (since, count + 1)
            return False
        if len(self._seen) >= _KINDS_MAX_COUNT:
            self._seen.clear()
        self._seen[kind] = (record.created, 0)
        if count:
            record.msg, record.args = f"{first} (and {count:,} more like it)", ()
            record.exc_info = None
        return True


def to_stderr() -> None:
    """Writes this process's warnings and errors to stderr, each kind once a minute."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Repeats())
    logging.getLogger().addHandler(handler)
