"""Figures on a port of their own, for a collector on this machine.

Responsible for that port: 127.0.0.1 only, one path, no token. Leaves the figures to ``metrics``.
Invariant: nothing but the figures is answered, and only to this machine's own name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from recollect.errors import Unavailable
from recollect.interfaces.http.telemetry.metrics import KIND, Metrics
from recollect.serving import guard
from recollect.serving.server import ADDRESS

_READ_MAX_S: Final = 5


@contextmanager
def listening(metrics: Metrics, port: int) -> Iterator[int]:
    """Answers on the port while the block runs; 0 picks a free one."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _READ_MAX_S

        def do_GET(self) -> None:
            host = self.headers.get("host", "")
            is_ours = host.rpartition(":")[0] in guard.NAMES and self.path == "/metrics"
            body = metrics.exposition() if is_ours else b"not found\n"
            self.send_response(200 if is_ours else 404)
            self.send_header("content-type", KIND.decode())
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: a collector asks every few seconds."""

    try:
        server = ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        raise Unavailable(
            f"could not listen on port {port}: {error.strerror}",
            hint="choose another with --metrics-port",
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
