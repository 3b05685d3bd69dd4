"""A server on this machine that sends raw bytes as slowly as it is told."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Talk = Callable[[socket.socket], None]


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
