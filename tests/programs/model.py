"""A model that says what a test has written down, in the protocol of whoever asks.

Responsible for a server on loopback and for what was asked of it. Leaves the forms of requests and
answers to ``protocols``.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.programs.protocols import PROTOCOLS, Body, Tool, Use

LAST = "That is settled."


class Asked(NamedTuple):
    """One request that reached the model."""

    path: str
    body: Body
    tools: list[Tool]

    @property
    def text(self) -> str:
        """All of it but for the descriptions of tools."""
        return json.dumps(
            {name: part for name, part in self.body.items() if name != "tools"}, ensure_ascii=False
        )

    def offers(self, tool: str) -> Tool | None:
        """Our tool of this name, under the name that the program gave it."""
        found = (one for one in self.tools if _is_ours(one, tool))
        return next(found, None)


def _is_ours(one: Tool, tool: str) -> bool:
    whole = f"{one.namespace or ''}_{one.name}"
    return "recollect" in whole and one.name.endswith(tool)


class Model:
    """What the model will do, and what it was asked."""

    def __init__(self) -> None:
        self.address = ""
        self.asked: list[Asked] = []
        self.missing: list[str] = []  # tools that it should have called and was not offered
        self._plan: deque[tuple[str, Body]] = deque()
        self._last = LAST
        self._lock = threading.Lock()

    def will(self, *calls: tuple[str, Body], say: str = LAST) -> None:
        """Calls these tools one after the other, then says something."""
        with self._lock:
            self._plan = deque(calls)
            self._last = say
            self.asked.clear()

    @property
    def turns(self) -> list[Asked]:
        """The requests of a talk, without those that a program makes for itself."""
        return [one for one in self.asked if one.tools]

    def answer(self, protocol: Any, path: str, body: Body) -> Iterator[bytes]:
        asked = Asked(path, body, protocol.tools(body))
        with self._lock:
            self.asked.append(asked)
            said: str | Use = "Fine."
            if asked.tools:
                said = self._next(asked)
        yield from protocol.answer(body, said)

    def _next(self, asked: Asked) -> str | Use:
        if not self._plan:
            return self._last
        name, given = self._plan.popleft()
        tool = asked.offers(name)
        if tool is None:
            self.missing.append(name)
            return self._last
        return Use(tool.name, given, f"call_{len(self.asked)}", tool.namespace)


@contextmanager
def serving() -> Iterator[Model]:
    """A model on a free port of this machine."""
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send(b"{}")

        def do_HEAD(self) -> None:
            self._send(b"{}")

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, body = self.path.partition("?")[0], {}
            with suppress(ValueError):
                body = json.loads(raw)
            chosen = next((one for one in PROTOCOLS if path.endswith(one.end)), None)
            if chosen is None:
                self._send(json.dumps({"input_tokens": 10, "totalTokens": 10}).encode())
                return
            told = b"".join(model.answer(chosen, path, body))
            self._send(told, "text/event-stream" if told.startswith((b"event", b"data")) else None)

        def _send(self, told: bytes, kind: str | None = None) -> None:
            with suppress(OSError):  # the program was ended
                self.send_response(200)
                self.send_header("Content-Type", kind or "application/json")
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(told)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)
