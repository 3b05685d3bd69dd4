"""A server on the loopback that gives scripted answers, one for each request, and keeps them.

Responsible for standing where a model's provider would. Leaves the client to the framework.
Invariant: an answer is given once, in order; a request too many is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Scripted:
    """Use as ``with Scripted([...]) as server:``; ``server.requests`` has what was asked."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.requests: list[dict[str, Any]] = []
        waiting = list(answers)
        requests = self.requests

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["content-length"])
                requests.append(json.loads(self.rfile.read(size)))
                answer = waiting.pop(0).encode() if waiting else b"{}"
                self.send_response(200 if answer != b"{}" else 500)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing to say."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
