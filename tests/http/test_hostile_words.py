"""The command line behind a service that puts controls of a terminal into all that it says."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from recollect import Store
from tests.http.serving import served

_CONTROLS = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\x9b31m\r"
# What says which of a few things is meant is a word that a client knows, or it refuses the answer.
_WORDS = frozenset(
    "text key tags name detail hint by user agent about id a session query where problem "
    "said_at recorded at expires opened started".split()
)
_COMMANDS = (
    "recall Alice", "list", "show {id}", "log", "status", "context Alice", "recent", "receipts",
    "session list", "page list", "graph", "remember News.", "forget {id}", "undo", "show nothing",
    "admin verify", "recall Alice --json",
)  # fmt: skip


def spoiled(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {each: spoiled(inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(each, name) for each in value]
    return value + _CONTROLS if isinstance(value, str) and name in _WORDS else value


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
            if data and not self.path.startswith(("/v1/me", "/v1/spaces?")):
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


@pytest.mark.ci
def test_no_control_reaches_the_terminal_and_no_answer_ends_a_command(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        memory = store.space("main")
        id = memory.remember("Alice sits in 12A.", key="alice.seat", tags=["seat"]).id
        memory.observe("Hello Alice.", id="e1")
        memory.link(id, memory.remember("Bob sits near.").id, "near")
        memory.sessions.open("s1")
        verbs = ("read", "write", "erase", "review", "admin")
        token = store.tokens.create("p", space=None, verbs=verbs, origin="person").token
        names = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "RECOLLECT_TOKEN": token}
        marked = 0
        with served(store) as port, spoiling(port) as proxy:
            url = f"http://127.0.0.1:{proxy}"
            for command in _COMMANDS:
                words = command.format(id=id).split()
                done = subprocess.run(
                    [sys.executable, "-m", "recollect", "--store", url, *words],
                    env=names, cwd=tmp_path, capture_output=True, timeout=60, check=False,
                )  # fmt: skip
                said = (done.stdout + done.stderr).decode()
                assert not set(said) & set("\x1b\x07\r\x9b\u202e\u200b"), command
                assert done.returncode != 70, (command, said)  # an error that is not ours
                assert "Traceback" not in said, (command, said)
                marked += "[U+202E" in said or "\\u202e" in said
    assert marked > len(_COMMANDS) / 2  # the control: the words did arrive
