"""A server on this machine that answers as an OpenAI-compatible one does, or as a bad one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Answer = Callable[[list[str]], tuple[int, bytes]]


def vectors(texts: list[str]) -> tuple[int, bytes]:
    """Three numbers for each text, last text first: the index counts, not the order."""
    data = [
        {"index": n, "embedding": [len(text), sum(map(ord, text)) % 97, 3.0], "object": "embedding"}
        for n, text in enumerate(texts)
    ]
    return 200, json.dumps({"object": "list", "data": data[::-1], "model": "small"}).encode()


class Server:
    """Runs while it is entered; keeps what it was asked."""

    def __init__(self, *answers: Answer, headers: dict[str, str] | None = None) -> None:
        self.asked: list[dict[str, object]] = []
        self.keys: list[str | None] = []
        self._answers = list(answers)
        self._more = headers or {}
        server = self

        class Reply(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append({"path": self.path, **body})
                server.keys.append(self.headers.get("Authorization"))
                answer = server._answers.pop(0) if len(server._answers) > 1 else server._last
                status, data = answer(body["input"])
                self.send_response(status)
                for name, value in server._more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing to say."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Reply)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def _last(self) -> Answer:
        return self._answers[0] if self._answers else vectors

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
