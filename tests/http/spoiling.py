"""A proxy in front of a service that puts controls of a terminal into all that it says."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CONTROLS = frozenset("\x1b\x07\r\x9b\u202e\u200b")
ADDED = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\x9b31m\r"
# What says which of a few things is meant is a word that a client knows, or it refuses the answer.
WORDS = frozenset(
    "text key tags name detail hint by user agent about id a session query where problem "
    "said_at recorded at expires opened started".split()
)


def spoiled(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {each: spoiled(inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(each, name) for each in value]
    return value + ADDED if isinstance(value, str) and name in WORDS else value


@contextmanager
def spoiling(port: int) -> Iterator[int]:
    """A proxy in front of a service."""

    class Proxy(BaseHTTPRequestHandler):
        def passed(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            service = http.client.HTTPConnection("127.0.0.1", port)
            sent = {name: each for name, each in self.headers.items() if name.lower() != "host"}
            service.request(self.command, self.path, body, sent)
            answer = service.getresponse()
            data = answer.read()
            service.close()
            if data and self.path.partition("?")[0] not in ("/v1/me", "/v1/spaces"):
                data = json.dumps(spoiled(json.loads(data))).encode()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = passed  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Nothing to say."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield proxy.server_address[1]
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
