"""An ASGI application on a real socket, in a thread of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from recollect.serving.connections import bounded


@contextmanager
def running(
    app: Any,
    listening: socket.socket,
    *,
    drain: Callable[[], None] = lambda: None,
    connections_max_count: int = 64,
) -> Iterator[None]:
    """Serves it meanwhile; ``drain`` ends streams, which would hold the server for seconds."""
    config = uvicorn.Config(
        app, http=bounded(connections_max_count, 5), log_config=None, lifespan="on", ws="none",
        access_log=False, timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield
    finally:
        drain()
        server.should_exit = True
        thread.join()
