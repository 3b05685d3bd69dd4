"""The guarded client: one host, over TLS or on this machine, within a time and a size."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from recollect.endpoint import Endpoint, Refused
from recollect.errors import LimitExceeded, Unavailable
from tests.endpoint.servers import RawServer, Talk

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
NEVER_S = 60.0  # a test that waits this long has failed


def endpoint(port: int, **more: object) -> Endpoint:
    given: dict[str, object] = {
        "what": "oracle",
        "hint": "ask another one",
        "answer_max_bytes": 1_000,
        "wait_s": 0.001,
        "tries": 2,
        **more,
    }
    scheme = given.pop("scheme", "http")
    return Endpoint(f"{scheme}://127.0.0.1:{port}/v1", "m", "answers", "secret", **given)  # type: ignore[arg-type]


def request_of(connected: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"body"):
        data += connected.recv(1_000)
    return data


def answering(data: bytes) -> Talk:
    def talk(connected: socket.socket) -> None:
        request_of(connected)
        connected.sendall(data)

    return talk


def test_it_sends_one_request_and_returns_the_bytes() -> None:
    heard: list[bytes] = []

    def talk(connected: socket.socket) -> None:
        heard.append(request_of(connected))
        connected.sendall(OK)

    with RawServer(talk) as server:
        one = endpoint(server.port)
        assert one.ask(b"body") == b"{}"
        assert one.place == f"127.0.0.1:{server.port}/v1/answers"
        assert "secret" not in repr(one) + str(vars(one).keys())
    (sent,) = heard
    assert sent.startswith(b"POST /v1/answers HTTP/1.1\r\n")
    assert b"Authorization: Bearer secret\r\n" in sent


@pytest.mark.parametrize(
    ("scheme", "data"),
    [
        ("http", b"H" * 1_000),
        ("http", b"HTTP/1.1 200 OK\r\nA: " + b"a" * 1_000),
        ("https", b"\x16\x03\x03\x3f\xff" + b"\x02" * 1_000),  # the beginning of a handshake
    ],
)
def test_a_server_that_sends_a_byte_now_and_then_is_left(scheme: str, data: bytes) -> None:
    """Each byte comes well within the timeout of a socket: only a limit on the whole ends it."""
    with RawServer(lambda connected: server.drip(connected, data, 0.05)) as server:
        with pytest.raises(Unavailable, match=r"the oracle at .* did not answer"):
            endpoint(server.port, scheme=scheme, timeout_s=0.4).ask(b"body")
        assert server.connections == 2


def test_a_body_that_comes_byte_by_byte_is_left() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"

    def talk(connected: socket.socket) -> None:
        connected.sendall(head)
        server.drip(connected, b"{" * 500, 0.05)

    broken = "IncompleteRead|ConnectionResetError"  # as the system says it
    with RawServer(talk) as server, pytest.raises(Unavailable, match=broken):
        endpoint(server.port, timeout_s=0.4).ask(b"body")


def test_a_server_that_says_nothing_is_left() -> None:
    with RawServer(lambda connected: server.drip(connected, b"x", NEVER_S)) as server:
        started = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer"):
            endpoint(server.port, timeout_s=0.2).ask(b"body")
        assert time.monotonic() - started < NEVER_S


def test_an_answer_without_an_announced_length_has_a_limit_too() -> None:
    def talk(connected: socket.socket) -> None:
        connected.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(10_000):
            connected.sendall(b"x" * 10_000)

    with RawServer(talk) as server, pytest.raises(Unavailable, match="is too long"):
        endpoint(server.port).ask(b"body")


def test_each_try_is_announced_and_may_be_refused() -> None:
    tries: list[int] = []

    def before() -> None:
        tries.append(1)
        if len(tries) == 2:
            raise LimitExceeded("enough")

    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    with RawServer(answering(busy)) as server:
        with pytest.raises(LimitExceeded):
            endpoint(server.port, tries=3).ask(b"body", before)
        assert server.connections == 1


def test_a_refusal_says_its_status_and_not_its_words() -> None:
    text = b"HTTP/1.1 401 secret\r\nContent-Length: 6\r\n\r\nsecret"
    with RawServer(answering(text)) as server:
        with pytest.raises(Refused, match="status 401") as refused:
            endpoint(server.port).ask(b"body")
        assert server.connections == 1
    assert refused.value.status == 401
    assert "secret" not in str(refused.value)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_tls_needs_a_certificate_that_this_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, tmp_path / "key.pem")
    heard: list[bytes] = []

    def talk(connected: socket.socket) -> None:
        heard.append(request_of(connected))
        connected.sendall(OK)

    with RawServer(talk, tls) as server:
        with pytest.raises(Unavailable, match="SSLCertVerificationError"):
            endpoint(server.port, scheme="https").ask(b"body")
        assert heard == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert endpoint(server.port, scheme="https").ask(b"body") == b"{}"
        assert len(heard) == 1


def _certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    named = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command.split(), *named, *files], cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem"
