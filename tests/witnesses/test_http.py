"""A witness over HTTP: what its clients may send, and what a hostile one may answer."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recollect.errors import RecollectError, Unavailable
from recollect.proof.keys import WITNESS, PrivateKey
from recollect.proof.notes import Signature
from recollect.proof.witness import REQUEST_MAX_BYTES, Behind, Cosigned, render_request
from recollect.store.witnesses.folder import FolderWitness
from recollect.store.witnesses.remote import RemoteWitness
from recollect.store.witnesses.requests import good as counted
from recollect.testing.witness_suite import LOG_A
from tests.endpoint.servers import RawServer
from tests.witnesses.folders import created
from tests.witnesses.serving import served

NOW = "2026-01-01T00:00:00.000000Z"
OWN = PrivateKey("w.example", WITNESS, bytes(32))
REQUEST = LOG_A.request(0, 3)


class Asked:
    """A server, asked with plain HTTP."""

    def __init__(self, witness: FolderWitness, address: str) -> None:
        self.witness = witness
        self.port = int(address.rpartition(":")[2])

    def __call__(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.getheader("Content-Type") or "", response.read()
        finally:
            connection.close()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    witness, _ = created(tmp_path)
    with served(witness, body_max_s=0.3) as address:
        yield Asked(witness, address)


def test_the_statuses_of_the_specification(asked: Asked) -> None:
    hash = sha256(LOG_A.key.name.encode()).hexdigest()
    assert asked("GET", f"/{hash}/checkpoint")[0] == 404
    status, _, body = asked("POST", "/add-checkpoint", render_request(REQUEST))
    assert (status, body.startswith("\u2014 ".encode()), body.endswith(b"\n")) == (200, True, True)
    again = asked("POST", "/add-checkpoint", render_request(REQUEST))
    assert again == (409, "text/x.tlog.size", b"3\n")
    for old, size, status in ((3, 9, 200), (9, 5, 400)):
        told = asked("POST", "/add-checkpoint", render_request(LOG_A.request(old, size)))
        assert told[0] == status
    status, _, note = asked("GET", f"/{hash}/checkpoint")
    assert (status, note) == (200, asked.witness.latest(LOG_A.key.name))
    assert asked("GET", f"/{hash}/checkpoint", Authorization="Bearer x")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/add-checkpoint", 405),
        ("POST", "/" + "0" * 64 + "/checkpoint", 405),
        ("GET", "/" + "0" * 64 + "/checkpoint", 404),
        ("GET", "/", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/" + "0" * 62 + "..", 404),
        ("POST", "/sign-subtree", 404),
    ],
)
def test_other_requests_are_refused(asked: Asked, method: str, path: str, status: int) -> None:
    assert asked(method, path)[0] == status


def test_bodies_that_are_wrong_long_or_slow_are_refused(asked: Asked) -> None:
    whole = render_request(REQUEST)
    for body in (b"", b"old 0\n", whole[:-20], b"\xff" * 100, whole.replace(b"old 0", b"old x")):
        assert asked("POST", "/add-checkpoint", body)[0] == 400
    assert asked("POST", "/add-checkpoint", b"x" * (REQUEST_MAX_BYTES + 1))[0] == 413
    head = b"POST /add-checkpoint HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99\r\n\r\nold "
    with socket.create_connection(("127.0.0.1", asked.port), timeout=60) as slow:
        slow.sendall(head % asked.port)
        assert b" 408 " in slow.recv(1_000)
    assert asked.witness.latest(LOG_A.key.name) is None


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "127.0.0.1:1"}],
)
def test_a_web_page_of_another_site_is_refused(asked: Asked, headers: dict[str, str]) -> None:
    body = render_request(REQUEST)
    assert asked("POST", "/add-checkpoint", body, **headers)[0] == 403
    assert asked.witness.latest(LOG_A.key.name) is None


def test_a_witness_that_cannot_answer_says_so_without_its_paths(asked: Asked) -> None:
    asked("POST", "/add-checkpoint", render_request(REQUEST))
    (note,) = asked.witness.folder.rglob("3.note")
    note.write_bytes(b"")
    status, _, body = asked("POST", "/add-checkpoint", render_request(LOG_A.request(3, 9)))
    assert (status, b"/" in body) == (503, False)


# A hostile witness.


def answered(status: bytes, body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers, b"", b""]
    return b"\r\n".join(lines) + body


def ask(reply: bytes) -> object:
    """What a client makes of a reply: its answer, or its error."""

    def talk(connected: socket.socket) -> None:
        connected.recv(65_536)
        connected.sendall(reply)

    with RawServer(talk) as server:
        witness = RemoteWitness(f"http://127.0.0.1:{server.port}", OWN.public, timeout_s=1)
        try:
            return witness.add(REQUEST)
        except RecollectError as error:
            return error


SIZE = b"Content-Type: text/x.tlog.size"


@pytest.mark.parametrize(
    "reply",
    [
        answered(b"200 OK", b""),
        answered(b"200 OK", b"\xff\n"),
        answered(b"200 OK", b"<html>\n"),
        answered(b"200 OK", "\u2014 w.example AAAA\n".encode() * 200),
        answered(b"200 OK", b"x" * 100_000),
        answered(b"409 Conflict", b"5\n"),  # without its type
        answered(b"409 Conflict", b"-5\n", SIZE),
        answered(b"409 Conflict", b"05\n", SIZE),
        answered(b"409 Conflict", b"5", SIZE),
        answered(b"409 Conflict", b"9" * 40 + b"\n", SIZE),
        answered(b"302 Found", b"", b"Location: http://evil.example/"),
        answered(b"500 Oops", b"no"),
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort",
    ],
)
def test_other_answers_are_errors(reply: bytes) -> None:
    assert isinstance(ask(reply), Unavailable)


def test_a_size_is_believed_only_in_its_form() -> None:
    assert ask(answered(b"409 Conflict", b"5\n", SIZE)) == Behind(5)


def test_cosignatures_of_other_keys_are_ignored() -> None:
    stranger = PrivateKey("w.example", WITNESS, b"\x01" * 32).cosign(REQUEST.note.text, 5)
    own = OWN.cosign(REQUEST.note.text, 5)
    both = answered(b"200 OK", (stranger.line + own.line).encode())
    assert ask(both) == Cosigned((own,))
    assert ask(answered(b"200 OK", stranger.line.encode())) == Cosigned(())


def test_only_a_cosignature_for_this_text_and_a_possible_time_counts() -> None:
    text = REQUEST.note.text
    good = OWN.cosign(text, 1_767_000_000)
    assert counted(OWN.public, REQUEST.note, [good], NOW) == good
    torn = Signature(good.name, good.key_id, good.value[:-1])
    for bad in (
        OWN.cosign(LOG_A.note(2).text, 1_767_000_000),  # replayed: an older checkpoint
        OWN.cosign(text, 0),
        OWN.cosign(text, 1_767_225_600 + 200_000),  # days ahead of this clock
        OWN.cosign(text, 2**63),
        PrivateKey("w.example", WITNESS, b"\x01" * 32).cosign(text, 1_767_000_000),
        OWN.sign(text),
        torn,
    ):
        with pytest.raises(Unavailable, match="no cosignature of its key"):
            counted(OWN.public, REQUEST.note, [bad], NOW)
        assert counted(OWN.public, REQUEST.note, [bad, good], NOW) == good
    with pytest.raises(Unavailable):
        counted(OWN.public, REQUEST.note, [], NOW)
