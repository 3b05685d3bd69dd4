"""The lines for nginx in the documentation, with nginx if it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.service.servers import free_port
from tests.postgres.halting import until

PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PAGE = Path(__file__).resolve().parents[2] / "docs/reference/postgres.md"
SETTINGS = """
daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fast; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {lines}
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://recollect; }} }}
}}
"""

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")


@contextmanager
def named_server() -> Iterator[int]:
    """A service that answers with its own port."""

    class Handler(BaseHTTPRequestHandler):
        server: ThreadingHTTPServer

        def do_GET(self) -> None:
            body = str(self.server.server_port).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def nginx(ports: list[int]) -> Iterator[int]:
    """nginx with the documented lines in front of these ports."""
    (lines,) = re.findall(r"```text\n(map \$uri .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for host, to in zip(("10.0.0.1:7357", "10.0.0.2:7357"), ports, strict=True):
        lines = lines.replace(host, f"127.0.0.1:{to}")
    folder, port = Path(tempfile.mkdtemp(prefix="nginx-")), free_port()
    folder.chmod(0o755)
    settings = folder / "nginx.conf"
    settings.write_text(SETTINGS.format(folder=folder, lines=lines, port=port))
    words = [str(PROGRAM), "-c", str(settings), "-e", str(folder / "log")]
    process = subprocess.Popen(words)
    try:
        until(lambda: answered(port, "/livez") is not None)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def answered(port: int, path: str) -> str | None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    except ConnectionError:
        return None
    finally:
        connection.close()


def test_every_request_for_one_space_goes_to_one_process() -> None:
    with named_server() as one, named_server() as two, nginx([one, two]) as port:
        paths = ("records", "status", "records/1?at=3", "episodes")
        found = {
            space: {answered(port, f"/v1/spaces/{space}/{path}") for path in paths}
            for space in (f"user-{number}" for number in range(40))
        }
        assert {len(each) for each in found.values()} == {1}
        used = Counter(each.pop() for each in found.values())
    assert set(used) == {str(one), str(two)}  # the control: they are not all at one
