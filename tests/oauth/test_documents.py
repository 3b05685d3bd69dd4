"""Descriptions of clients are fetched from where they are, and from nowhere else."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.errors import InvalidInput, Unavailable
from recollect.serving.oauth import clients, documents
from recollect.serving.oauth.documents import Documents, is_public
from tests.endpoint.servers import RawServer

URL = "https://client.example/oauth/client.json"
BACK = "https://client.example/callback"
TOLD = {"client_id": URL, "client_name": "Planner", "redirect_uris": [BACK]}

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs openssl for a certificate"
)


def ok(
    body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = ""
) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    named = ["-subj", "/CN=client.example", "-addext", "subjectAltName=DNS:client.example"]
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command.split(), *named, *files], cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem"


class Found:
    """What a test sees of one server of descriptions."""

    def __init__(self, server: RawServer, documents: Documents, looked: list[str]) -> None:
        self.server = server
        self.documents = documents
        self.looked = looked  # names that were looked up


@pytest.fixture
def publish(certificate: Path) -> Callable[..., Any]:
    """A server that answers with these bytes, and what fetches from it under its public name."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, certificate.parent / "key.pem")

    @contextmanager
    def published(
        answer: bytes, addresses: tuple[str, ...] = ("127.0.0.1",), wait_s: float = 0,
        is_allowed: Callable[[str], bool] = lambda address: True,
    ) -> Iterator[Found]:  # fmt: skip
        looked: list[str] = []

        def look_up(host: str, port: int) -> list[str]:
            looked.append(host)
            return list(addresses)

        def talk(connected: socket.socket) -> None:
            connected.recv(65_536)
            if wait_s:
                server.drip(connected, answer, wait_s)
            else:
                connected.sendall(answer)

        with RawServer(talk, tls) as server:
            trusted = ssl.create_default_context(cafile=str(certificate))
            fetching = Documents(
                is_allowed=is_allowed, look_up=look_up, trusted=trusted, port=server.port, max_s=1.0
            )
            yield Found(server, fetching, looked)

    return published


def test_a_client_is_what_its_description_says(publish: Callable[..., Any]) -> None:
    with publish(ok(msgspec.json.encode(TOLD))) as found:
        client = clients.found(URL, found.documents)
        assert (client.id, client.name, client.redirect_uris) == (URL, "Planner", (BACK,))
        assert client.described_at == "client.example"
        clients.found(URL, found.documents)  # kept for a while
        assert (found.server.connections, found.looked) == (1, ["client.example"])


ANSWERS: dict[str, bytes] = {
    "a redirect": ok(b"", status="302 Found", more="Location: http://127.0.0.1/\r\n"),
    "not found": ok(b"{}", status="404 Not Found"),
    "a page": ok(b"<p>", kind="text/html"),
    "too long": ok(msgspec.json.encode({**TOLD, "more": "x" * 6_000})),
    "nothing": b"",
    "not HTTP": b"hello\r\n\r\n",
    "not JSON": ok(b"{"),
    "nested deeply": ok(b'{"x":' + b"[" * 2_500 + b"]" * 2_500 + b"}"),
    "of another client": ok(msgspec.json.encode({**TOLD, "client_id": URL + "x"})),
    "with a secret": ok(
        msgspec.json.encode({**TOLD, "token_endpoint_auth_method": "client_secret_post"})
    ),
    "an address that is not safe": ok(
        msgspec.json.encode({**TOLD, "redirect_uris": ["javascript:alert(1)"]})
    ),
    "without addresses": ok(msgspec.json.encode({**TOLD, "redirect_uris": []})),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_is_not_a_description_is_refused(publish: Callable[..., Any], answer: bytes) -> None:
    with publish(answer) as found, pytest.raises(InvalidInput):
        clients.found(URL, found.documents)
    assert found.server.connections == 1


@pytest.mark.parametrize("other", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1"])
def test_a_name_that_also_leads_inside_is_not_asked(
    publish: Callable[..., Any], other: str
) -> None:
    answer = ok(msgspec.json.encode(TOLD))
    with publish(answer, ("93.184.216.34", other), is_allowed=is_public) as found:
        with pytest.raises(InvalidInput, match="could not be fetched"):
            clients.found(URL, found.documents)
        assert (found.server.connections, found.looked) == (0, ["client.example"])


def test_control_without_the_check_a_server_inside_is_asked(publish: Callable[..., Any]) -> None:
    answer = ok(msgspec.json.encode(TOLD))
    with publish(answer, is_allowed=lambda address: True) as found:
        assert clients.found(URL, found.documents).name == "Planner"
        assert found.server.connections == 1


def test_a_certificate_of_another_name_is_refused(publish: Callable[..., Any]) -> None:
    other = URL.replace("client", "other")
    answer = ok(msgspec.json.encode({**TOLD, "client_id": other}))
    with publish(answer) as found, pytest.raises(InvalidInput, match="could not be fetched"):
        clients.found(other, found.documents)


@pytest.mark.timing
def test_a_slow_server_holds_nothing_up(publish: Callable[..., Any]) -> None:
    with publish(ok(msgspec.json.encode(TOLD)), wait_s=0.2) as found:
        began = time.monotonic()
        for number in range(3):  # more than are fetched at a time
            with pytest.raises(InvalidInput, match="could not be fetched"):
                found.documents.get(f"{URL}{number}")
        assert time.monotonic() - began < 2
        assert found.looked == ["client.example"]  # and it is not asked again for a minute


def test_control_a_slow_host_that_is_forgotten_is_asked_again(
    publish: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_SLOW_S", 0.0)
    with publish(ok(msgspec.json.encode(TOLD)), wait_s=0.2) as found:
        for number in range(2):
            with pytest.raises(InvalidInput, match="could not be fetched"):
                found.documents.get(f"{URL}{number}")
        assert found.looked == ["client.example"] * 2


ENDS = """
import time
from recollect.errors import InvalidInput
from recollect.serving.oauth.documents import Documents
try:
    Documents(look_up=lambda host, port: time.sleep(60), max_s=0.1).get("https://a.example/c")
except InvalidInput:
    print("refused")
"""


def test_the_end_of_the_process_does_not_wait_for_a_name() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "refused\n"


def test_few_are_fetched_at_a_time(publish: Callable[..., Any]) -> None:
    with publish(ok(msgspec.json.encode(TOLD))) as found:
        held = [found.documents._free.acquire() for _ in range(2)]
        with pytest.raises(Unavailable):
            found.documents.get(URL)
        assert (len(held), found.server.connections) == (2, 0)


INSIDE = (
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "::",
    "::1",
    "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1",
    "localhost", "", "192.0.0.192", "192.0.0.9", "192.88.99.1", "168.63.129.16", "3fff::1",
)  # fmt: skip


def test_only_the_public_internet_is_public() -> None:
    assert [each for each in INSIDE if is_public(each)] == []
    assert is_public("93.184.216.34")
    assert is_public("2606:4700::1111")
    assert is_public("::ffff:93.184.216.34")


@pytest.mark.parametrize(
    "id",
    [
        "http://client.example/c.json", "https://client.example", "https://client.example/",
        "https://client.example:8443/c.json", "https://u@client.example/c.json",
        "https://client.example/a/../c.json", "https://client.example/c.json#f",
        "https://client.example/c.json?x=1", "https://localhost/c.json", "file:/c.json",
        "https://client.example\\@10.0.0.1/c.json", "https://[::1]/c.json",
        "https://10.0.0.1/c.json", "https://client.0x7f/c.json",
    ],
)  # fmt: skip
def test_other_addresses_are_no_ids(publish: Callable[..., Any], id: str) -> None:
    with publish(ok(msgspec.json.encode({**TOLD, "client_id": id}))) as found:
        with pytest.raises(InvalidInput):
            clients.found(id, found.documents)
        assert (found.server.connections, found.looked) == (0, [])
