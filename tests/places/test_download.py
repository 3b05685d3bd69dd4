"""Fetching a model from a server on this machine: an honest one, and every way to lie."""

from __future__ import annotations

import re
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from recollect.errors import ConfigError, RecollectError, Unavailable
from recollect.places import models
from recollect.places.download import fetch
from recollect.places.models import LISTED, File, Model
from tests.endpoint.servers import RawServer

WEIGHTS = bytes(range(256)) * 2_000  # longer than one piece
TOKENS = b'{"tokens": 1}'
BYTES = {"model.onnx": WEIGHTS, "tokenizer.json": TOKENS}
Answer = Callable[[str, int], bytes]  # the file's name and where it is to begin: the raw answer


def head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""]).encode()


def honest(name: str, start: int) -> bytes:
    data = BYTES[name]
    if not start:
        return head("200 OK", f"Content-Length: {len(data)}") + data
    told = f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}"
    rest = data[start:]
    return head("206 Partial Content", told, f"Content-Length: {len(rest)}") + rest


class Hub:
    """A server; ``answer`` says what it sends, and ``asked`` what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = honest
        self.asked: list[tuple[str, int]] = []
        self.heads: list[str] = []
        self._server = RawServer(self._talk)

    def _talk(self, connected: socket.socket) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked:
            piece = connected.recv(65_536)
            if not piece:
                return  # hung up without a question
            asked += piece
        text = asked.decode()
        found = re.match(r"GET /\S*?([^/ ?]+)(?:\?\S*)? HTTP", text)
        start = re.search(r"Range: bytes=(\d+)-", text)
        assert found is not None
        self.heads.append(text)
        self.asked.append((found[1], int(start[1]) if start else 0))
        connected.sendall(self.answer(*self.asked[-1]))

    def __enter__(self) -> Hub:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__(None, None, None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def model(self) -> Model:
        """What the list says of the model here."""
        files = tuple(
            File(name, f"{self.url}/m/{name}", len(data), sha256(data).hexdigest())
            for name, data in BYTES.items()
        )
        return Model("small", "", "English", "MIT", 8, files, ("hub.test", ".hf.co"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


def half(name: str = "") -> Path:
    return models.models_folder() / ".half-small" / name


def refused(hub: Hub, match: str) -> None:
    """The model is not there afterwards, under no name that is used."""
    with pytest.raises(Unavailable, match=match):
        fetch(hub.model())
    assert models.folder_of("small") is None
    assert models.fetched() == []


def test_a_model_is_fetched_whole_and_readable_by_its_owner_alone(hub: Hub) -> None:
    steps: list[tuple[int, int]] = []
    folder = fetch(hub.model(), lambda done, total: steps.append((done, total)))
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == BYTES
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    assert (models.folder_of("small"), models.fetched()) == (folder, ["small"])
    size = sum(map(len, BYTES.values()))
    assert steps[-1] == (size, size)
    assert not half().exists()


def test_nothing_but_the_name_of_the_file_is_told(hub: Hub) -> None:
    fetch(hub.model())
    for asked in hub.heads:
        names = {line.partition(":")[0] for line in asked.splitlines()[1:] if line}
        assert names == {"Host", "Accept", "Accept-Encoding", "User-Agent"}


def test_what_is_there_is_not_fetched_again(hub: Hub) -> None:
    first = fetch(hub.model())
    assert fetch(hub.model()) == first
    assert len(hub.asked) == 2


def test_two_at_once_fetch_it_once(hub: Hub) -> None:
    model = hub.model()
    both = [threading.Thread(target=fetch, args=(model,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(hub.asked) == 2
    assert models.fetched() == ["small"]


def test_an_interrupted_download_goes_on_where_it_ended(hub: Hub) -> None:
    hub.answer = lambda name, start: honest(name, start)[:100_000]  # as a broken line does
    refused(hub, "ended early")
    had = half("model.onnx").stat().st_size
    assert 0 < had < 100_000
    hub.answer = honest
    folder = fetch(hub.model())
    assert hub.asked[1:] == [("model.onnx", had), ("tokenizer.json", 0)]
    assert (folder / "model.onnx").read_bytes() == WEIGHTS


def test_a_server_that_cannot_go_on_begins_anew(hub: Hub) -> None:
    hub.answer = lambda name, start: honest(name, start)[:100_000]
    refused(hub, "ended early")
    hub.answer = lambda name, start: honest(name, 0)
    assert (fetch(hub.model()) / "model.onnx").read_bytes() == WEIGHTS


def test_a_file_that_was_whole_is_not_asked_for_again(hub: Hub) -> None:
    hub.answer = lambda name, start: (
        honest(name, start) if name == "model.onnx" else head("503 Busy", "Content-Length: 0")
    )
    refused(hub, "the status 503")
    hub.answer = honest
    fetch(hub.model())
    assert [name for name, _ in hub.asked] == ["model.onnx", "tokenizer.json", "tokenizer.json"]


def test_a_file_that_changed_between_two_tries_is_refused_and_then_fetched(hub: Hub) -> None:
    hub.answer = lambda name, start: honest(name, start)[:100_000]
    refused(hub, "ended early")
    path = half("model.onnx")
    path.write_bytes(b"x" * path.stat().st_size)  # as if it had begun with another file
    hub.answer = honest
    refused(hub, "another file")
    assert not path.exists()
    assert fetch(hub.model()).is_dir()


def test_a_file_whose_length_changed_between_two_tries_is_refused(hub: Hub) -> None:
    hub.answer = lambda name, start: honest(name, start)[:100_000]
    refused(hub, "ended early")
    told = f"bytes 5-{len(WEIGHTS)}/{len(WEIGHTS) + 1}"
    hub.answer = lambda name, start: head("206 Partial Content", f"Content-Range: {told}") + b"x"
    refused(hub, "another file")


def endless(name: str, start: int) -> bytes:
    return head("200 OK") + b"x" * (len(BYTES[name]) + 200_000)


LIES: dict[str, tuple[Answer, str]] = {
    "wrong bytes": (lambda n, _: head("200 OK", f"Content-Length: {len(BYTES[n])}")
                    + bytes(len(BYTES[n])), "another file"),
    "more bytes than the file has": (endless, "another file"),
    "a longer length": (lambda n, s: head("200 OK", f"Content-Length: {1 << 50}")
                        + bytes(len(BYTES[n]) + 1), "another file"),
    "no bytes": (lambda n, s: head("200 OK", "Content-Length: 0"), "ended early"),
    "half of the bytes": (lambda n, s: honest(n, s)[:-7], "ended early"),
    "a part that was not asked for": (
        lambda n, s: head("206 Partial Content", "Content-Range: bytes 9-9/10") + b"x",
        "another file"),
    "a part of nothing": (lambda n, s: head("206 Partial Content") + b"x", "status 206"),
    "a page": (lambda n, s: head("404 Not Found") + b"<html>", "status 404"),
    "nonsense": (lambda n, s: b"no HTTP at all\r\n\r\n", "BadStatusLine"),
    "nothing": (lambda n, s: b"", "ended early"),
    "headers without an end": (lambda n, s: head("200 OK")[:-2] + b"X-A: b\r\n" * 5_000,
                               "HTTPException"),
    "packed bytes": (lambda n, s: head("200 OK", "Content-Encoding: gzip") + b"\x1f\x8b\x08",
                     "ended early"),
    "a longer name": (lambda n, s: head("200 OK", 'Content-Disposition: attachment; filename="../'
                                        '../x"', "Content-Length: 1") + b"x", "ended early"),
}  # fmt: skip


@pytest.mark.parametrize("kind", LIES)
def test_a_lie_is_refused_and_leaves_nothing_that_is_used(hub: Hub, home: Path, kind: str) -> None:
    hub.answer, match = LIES[kind]
    refused(hub, match)
    kept = sum(each.stat().st_size for each in half().iterdir())
    assert kept < sum(map(len, BYTES.values()))
    assert sorted(each.name for each in home.rglob("*")) == sorted(
        [".half-small", ".recollect", "models", *(each.name for each in half().iterdir())]
    )
    half("model.onnx").unlink(missing_ok=True)
    hub.answer = honest
    assert fetch(hub.model()).is_dir()  # the control: only the answers were wrong


def to(url: str) -> Answer:
    return lambda name, start: head("302 Found", f"Location: {url}", "Content-Length: 0")


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("https://elsewhere.test/model.onnx", "elsewhere.test"),
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("http://localhost:1/x", "localhost"),
        ("//elsewhere.test/x", "elsewhere.test"),
        ("https://evil-hf.co/x", "evil-hf.co"),
        ("https://hf.co/x", "'hf.co'"),
        ("https://sub.hub.test/x", "sub.hub.test"),
        ("https://hf.co.elsewhere.test/x", "elsewhere.test"),
        ("ftp://elsewhere.test/x", "leads to"),
        ("", "one redirect after another"),
        ("https://[", "leads nowhere"),
        ("http://127.0.0.1:port/x", "leads nowhere"),
        ("http://127.0.0.1:99999/x", "leads nowhere"),
        ("/caf\u00e9/model.onnx", "leads nowhere"),
        ("/a b/model.onnx", "could not be fetched"),
        ("model.onnx", "one redirect after another"),
    ],
)
def test_a_redirect_leads_only_where_the_list_says(hub: Hub, url: str, match: str) -> None:
    hub.answer = to(url)
    refused(hub, match)
    assert len(hub.asked) <= 4


def test_a_redirect_without_tls_is_refused(hub: Hub) -> None:
    """Also to a host that the list names."""
    for url in ("http://cdn.hf.co/x", "http://hub.test/x"):
        hub.answer = to(url)
        with pytest.raises(ConfigError, match="without TLS"):
            fetch(hub.model())
    assert models.fetched() == []


def test_a_redirect_to_a_host_of_the_list_is_followed(hub: Hub) -> None:
    with Hub() as other:
        model = hub.model()
        listed = Model(model.name, "", "", "", 8, model.files, hosts=("localhost",))
        port = other.url.rpartition(":")[2]

        def away(name: str, start: int) -> bytes:
            return to(f"http://localhost:{port}/signed/{name}?key=1")(name, start)

        hub.answer = away
        folder = fetch(listed)
        assert (folder / "model.onnx").read_bytes() == WEIGHTS
        assert "/signed/model.onnx?key=1 " in other.heads[0]


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "", ".x", "x\0y", "x" * 99, ".half-x"])
def test_a_name_leads_out_of_no_folder(hub: Hub, home: Path, name: str) -> None:
    model = hub.model()
    file = File(name, f"{hub.url}/x", 1, "00")
    for strange in (
        Model("small", "", "", "", 8, (file,)),
        Model(name, "", "", "", 8, model.files),
    ):
        with pytest.raises(ConfigError, match="cannot be the name"):
            fetch(strange)
    assert list(home.iterdir()) == []
    assert hub.asked == []


def test_a_link_in_the_place_of_a_file_is_not_written_through(hub: Hub, home: Path) -> None:
    half().mkdir(parents=True)
    (home / "mine").write_bytes(b"mine")
    half("model.onnx").symlink_to(home / "mine")
    with pytest.raises(RecollectError):
        fetch(hub.model())
    assert (home / "mine").read_bytes() == b"mine"


def test_a_folder_that_cannot_be_written_is_named(hub: Hub, home: Path) -> None:
    (home / ".recollect").write_text("a file")
    with pytest.raises(Unavailable, match="could not be fetched"):
        fetch(hub.model())


def test_every_listed_model_says_what_it_is() -> None:
    assert len({model.name for model in LISTED}) == len(LISTED)
    for model in LISTED:
        assert models.listed(model.name) is model
        assert all((model.about, model.languages, model.license, model.dimensions))
        assert {"model_quantized.onnx", "tokenizer.json"} == {file.name for file in model.files}
        for file in model.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert re.match(r"https://huggingface\.co/\S+/resolve/[0-9a-f]{40}/", file.url)
            assert 0 < file.size < 1 << 30
