"""The flags of ``recollect serve``, each with a real process or with a real proxy."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from recollect import Store
from recollect.errors import ConfigError
from recollect.interfaces.http.limits.rates import Rates, parsed
from recollect.interfaces.http.options import resolved
from recollect.interfaces.http.problems import Refused
from tests.http.serving import Client, served
from tests.http.test_process import COMMAND, folder, running  # noqa: F401 - a fixture
from tests.http.test_service import S

pytestmark = pytest.mark.ci


def run(store: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--store", str(store), "serve", *words], check=False, capture_output=True,
        text=True, timeout=120, env={**os.environ, **variables},
    )  # fmt: skip


def test_flags_win_over_variables_and_these_over_defaults() -> None:
    variables = {"RECOLLECT_SERVE_PORT": "81", "RECOLLECT_SERVE_HOSTNAME": "a.example,b.example",
                 "RECOLLECT_TOKEN": "rct_secret", "RECOLLECT_SERVE_STRICT": "true"}  # fmt: skip
    options, shown = resolved({"port": 80, "grace": None, "strict": False}, variables)
    assert (options.port, options.hostname, options.strict, options.grace) == (
        80, ("a.example", "b.example"), True, 20,
    )  # fmt: skip
    sources = {each.name: (each.value, each.source) for each in shown}
    assert sources["port"] == (80, "--port")
    assert sources["strict"] == (True, "RECOLLECT_SERVE_STRICT")
    assert sources["grace"] == (20, "default")
    assert sources["RECOLLECT_TOKEN"][0] == "set"
    assert "rct_secret" not in str(shown)


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        ({"host": "0.0.0.0"}, {}), ({"oauth": True}, {}), ({"oauth": True, "ui": True}, {}),
        ({"oauth": True, "hostname": ("memory.example",)}, {}),
        ({"tls_cert": "x"}, {}), ({"root_path": "memory"}, {}),
        ({"rate": "reads=1"}, {}), ({"rate": "read=0"}, {}), ({}, {"RECOLLECT_SERVE_PORT": "x"}),
        ({}, {"RECOLLECT_SERV_PORT": "80"}), ({}, {"RECOLLECT_SERVE_HOST": "10.0.0.1"}),
    ],
)  # fmt: skip
def test_a_wrong_setting_stops_the_start(flags: dict[str, Any], variables: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        resolved(flags, variables)
    resolved({"host": "0.0.0.0", "hostname": ("memory.example",)}, {})  # the control


def test_the_settings_are_shown(folder: Path) -> None:  # noqa: F811
    done = run(folder, "--print-config", "--json", RECOLLECT_SERVE_GRACE="7")
    shown = {each["name"]: each for each in json.loads(done.stdout)}
    assert (shown["grace"]["value"], shown["grace"]["source"]) == (7, "RECOLLECT_SERVE_GRACE")
    assert shown["store"]["value"] == str(folder)
    wrong = run(folder, "--print-config", RECOLLECT_SERVE_GRASE="7")
    assert (wrong.returncode != 0, "RECOLLECT_SERVE_GRASE" in wrong.stderr) == (True, True)


def test_a_bucket_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("recollect.interfaces.http.limits.rates.monotonic", lambda: now[0])
    rates = Rates({"read": 5})
    for _ in range(50):
        rates.take(b"a", "read")
    with pytest.raises(Refused) as caught:
        rates.take(b"a", "read")
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "1")
    assert caught.value.headers["RateLimit-Policy"] == '"read";q=50;w=10'
    assert caught.value.headers["RateLimit"] == '"read";r=0;t=1'
    rates.take(b"b", "read")  # another token has its own
    rates.take(b"a", "write")  # and another class, without a rate here
    now[0] = 0.25
    rates.take(b"a", "read")
    assert parsed("auto", is_local=True) is None
    assert parsed("auto", is_local=False) == {"read": 50, "recall": 10, "write": 20, "admin": 1}


def test_rates_and_strictness_over_http(store: Store) -> None:
    from recollect.interfaces.http.work import Rules

    token = store.tokens.create("a", space="main").token
    with served(store, rules=Rules(Rates({"recall": 1}), is_strict=True)) as port:
        client = Client(port, token)
        said = [client.post(f"{S}/recall", {"query": "x"}) for _ in range(12)]
        assert [each.status for each in said].count(200) in (10, 11)
        assert (said[-1].status, said[-1].json["code"]) == (429, "rate_limited")
        assert said[-1].headers["retry-after"] == "1"
        place = client.post(f"{S}/records", {"text": "One."}).headers["location"]
        assert client.ask("PATCH", place, {"text": "Two."}).status == 428
        tag = client.get(place).headers["etag"]
        assert client.ask("PATCH", place, {"text": "Two."}, {"If-Match": tag}).status == 200
    with served(store) as port:  # the control
        client = Client(port, token)
        assert {client.post(f"{S}/recall", {"query": "x"}).status for _ in range(12)} == {200}


def test_a_socket_with_a_name(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "s.sock"
    process = subprocess.Popen(
        [*COMMAND, "--store", str(folder), "serve", "--unix", str(path)], stderr=subprocess.PIPE
    )
    try:
        for _ in range(300):
            if run(folder, "--unix", str(path), "--check").returncode == 0:
                break
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(path))
            asking.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert asking.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.communicate()
    assert not path.exists()
    assert run(folder, "--unix", str(path), "--check").returncode != 0


def test_tls(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True,
    )  # fmt: skip
    with running(folder, "--tls-cert", str(cert), "--tls-key", str(key)) as service:
        port = int(service.url.rpartition(":")[2])
        context = ssl.create_default_context(cafile=str(cert))
        connection = HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()
        flags = ("--tls-cert", str(cert), "--tls-key", str(key), "--port", str(port), "--check")
        assert run(folder, *flags).returncode == 0


def test_not_ready_before_it_ends(folder: Path) -> None:  # noqa: F811
    with running(folder, "--drain-delay", "8") as service:
        port = int(service.url.rpartition(":")[2])
        assert run(folder, "--port", str(port), "--check").returncode == 0
        service.process.send_signal(signal.SIGTERM)
        while _status(port, "/readyz") != 503:
            time.sleep(0.01)
        assert _status(port, "/livez") == 200
        assert _status(port, f"{S}/status", service.token) == 200  # it still answers
        assert service.process.wait(60) == 0


def _status(port: int, path: str, token: str | None = None) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize("slash", ["", "/"])  # with it, nginx takes the prefix off
def test_behind_nginx(folder: Path, tmp_path: Path, slash: str) -> None:  # noqa: F811
    flags = ("--root-path", "/memory", "--hostname", "memory.example")
    with running(folder, *flags) as service, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        front = free.getsockname()[1]
        free.close()
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\n"
            f"http {{ access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path "
            f"{tmp_path}/p; server {{ listen 127.0.0.1:{front}; location /memory/ {{ "
            f"proxy_pass {service.url}{slash}; proxy_set_header Host memory.example; }} }} }}\n"
        )
        proxy = subprocess.Popen(["nginx", "-c", f"{tmp_path}/nginx.conf", "-p", str(tmp_path)])
        try:
            _wait(front)
            client = Client(front, service.token)
            made = client.post(f"/memory{S}/records", {"text": "Tea."})
            assert made.status == 201
            assert made.headers["location"].startswith("/memory/v1/")
            assert client.get(made.headers["location"]).json["text"] == "Tea."
            assert _first_event(front, service.token) == b"event: space.opened"
        finally:
            proxy.terminate()
            proxy.wait(60)


def _wait(port: int) -> None:
    for _ in range(1_200):
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def _first_event(port: int, token: str | None) -> bytes:
    """The name of the first event of a stream, which no buffer of the proxy holds back."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    connection.request("GET", f"/memory{S}/events?after=0", headers=headers)
    answer = connection.getresponse()
    ends = threading.Timer(9, connection.close)
    ends.start()
    try:
        while not (line := answer.readline()).startswith(b"event:"):
            assert line
        return line.strip()
    finally:
        ends.cancel()
        connection.close()


def test_zero_is_a_value_and_not_a_missing_flag() -> None:
    found, _ = resolved({"port": 0, "grace": 0, "hostname": ()}, {})
    assert (found.port, found.grace, found.hostname) == (0, 0, ())


@pytest.mark.parametrize("flags", [("--ui",), ()], ids=["shown", "not shown"])
def test_the_inspector_is_there_if_it_is_asked_for(folder: Path, flags: tuple[str, ...]) -> None:  # noqa: F811
    with running(folder, *flags) as service:
        connection = HTTPConnection("127.0.0.1", int(service.url.rpartition(":")[2]))
        connection.request("GET", "/ui/")
        said = connection.getresponse().read().decode()
        connection.close()
    # Over plain http its address is told in the terminal alone.
    assert ("the terminal where it runs shows its address" in said.lower()) is bool(flags)


def test_with_a_name_the_inspector_answers_under_it_alone(folder: Path) -> None:  # noqa: F811
    """A cookie of 127.0.0.1 would be sent to every other port of this machine."""
    with running(folder, "--ui", "--hostname", "memory.example") as service:
        port = int(service.url.rpartition(":")[2])
        statuses = {}
        for host in ("memory.example", f"memory.example:{port}", f"127.0.0.1:{port}"):
            connection = HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/ui/-/login", headers={"Host": host})
            answer = connection.getresponse()
            statuses[host.replace(str(port), "PORT")] = answer.status
            connection.close()
    assert statuses == {
        "memory.example": 200, "memory.example:PORT": 200, "127.0.0.1:PORT": 421,
    }  # fmt: skip
