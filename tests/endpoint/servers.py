"""Servers on this machine: one that answers JSON, and one that sends raw bytes as it is told."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Talk = Callable[[socket.socket], None]
Reply = Callable[[dict[str, Any]], tuple[int, bytes]]


class RawServer:
    """Runs while it is entered; ``talk`` gets each connection in a thread of its own."""

    def __init__(self, talk: Talk, tls: ssl.SSLContext | None = None) -> None:
        self._talk, self._tls = talk, tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.ended = threading.Event()
        self.connections = 0
        self._threads = [threading.Thread(target=self._serve)]

    def _serve(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:  # closed
                return
            self.connections += 1
            thread = threading.Thread(target=self._one, args=(connected,))
            self._threads.append(thread)
            thread.start()

    def _one(self, connected: socket.socket) -> None:
        with connected:
            try:
                if self._tls is None:
                    self._talk(connected)
                else:
                    with self._tls.wrap_socket(connected, server_side=True) as covered:
                        self._talk(covered)
            except OSError:
                """The client hung up."""

    def drip(self, connected: socket.socket, data: bytes, wait_s: float) -> None:
        """One byte at a time, until the client hangs up."""
        for byte in data:
            if self.ended.wait(wait_s):
                return
            connected.sendall(bytes([byte]))

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()


class JsonServer:
    """Answers requests in order, the last answer for ever; keeps what it was asked."""

    def __init__(self, *answers: Reply, headers: dict[str, str] | None = None) -> None:
        self.asked: list[dict[str, object]] = []
        self.keys: list[str | None] = []
        self._answers = list(answers)
        self._more = headers or {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append({"path": self.path, **body})
                server.keys.append(self.headers.get("Authorization"))
                answer = server._answers.pop(0) if len(server._answers) > 1 else server._last
                status, data = answer(body)
                self.send_response(status)
                for name, value in server._more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing to say."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def _last(self) -> Reply:
        return self._answers[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
