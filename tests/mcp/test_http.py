"""Who gets in over HTTP: every method, every Host and Origin, with and without the token."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
import uvicorn
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.transport_security import TransportSecuritySettings

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.errors import ConfigError, Unavailable
from recollect.interfaces.mcp import serve
from recollect.interfaces.mcp.server import build
from recollect.serving.guard import Guard
from recollect.serving.server import listen
from tests.mcp.talking import SERVER, Folder, Talk

pytestmark = pytest.mark.ci

METHODS = ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH")
TOKEN = "a-token-of-a-test-0123456789"
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
REFUSED = (401, 403)


@dataclass(frozen=True)
class Asked:
    """The headers of one request; None leaves one out, a list sends it more than once."""

    host: str | list[str] | None = "127.0.0.1:{port}"
    origin: str | list[str] | None = None
    authorization: str | list[str] | None = f"Bearer {TOKEN}"
    version: str = "1.1"


BAD = {
    "a host of somebody else": Asked(host="evil.example"),
    "a host of somebody else with our port": Asked(host="evil.example:{port}"),
    "a host that begins like ours": Asked(host="127.0.0.1.evil.example:{port}"),
    "a host that hides ours": Asked(host="evil.example@127.0.0.1:{port}"),
    "a host that goes on": Asked(host="127.0.0.1:{port}.evil.example"),
    "our host with another port": Asked(host="127.0.0.1:1"),
    "our host without a port": Asked(host="127.0.0.1"),
    "localhost without a port": Asked(host="localhost"),
    "localhost with another port": Asked(host="localhost:80"),
    "localhost in capitals": Asked(host="LOCALHOST:{port}"),
    "another loopback address": Asked(host="127.0.0.2:{port}"),
    "every address": Asked(host="0.0.0.0:{port}"),
    "an empty host": Asked(host=""),
    "no host": Asked(host=None, version="1.0"),
    "an evil origin": Asked(origin="http://evil.example"),
    "an evil origin with our port": Asked(origin="http://evil.example:{port}"),
    "an origin that begins like ours": Asked(origin="http://127.0.0.1:{port}.evil.example"),
    "the null origin": Asked(origin="null"),
    "our origin with another port": Asked(origin="http://localhost:1"),
    "our origin without a port": Asked(origin="http://localhost"),
    "our origin with another scheme": Asked(origin="https://localhost:{port}"),
    "an extension's origin": Asked(origin="chrome-extension://abcdefgh"),
    "an empty origin": Asked(origin=""),
    "two origins": Asked(origin=["http://localhost:{port}", "http://evil.example"]),
    "no token": Asked(authorization=None),
    "an empty token": Asked(authorization="Bearer "),
    "the scheme alone": Asked(authorization="Bearer"),
    "a wrong token": Asked(authorization="Bearer " + "x" * len(TOKEN)),
    "a token cut short": Asked(authorization=f"Bearer {TOKEN[:-1]}"),
    "a token that goes on": Asked(authorization=f"Bearer {TOKEN}x"),
    "the token in capitals": Asked(authorization=f"Bearer {TOKEN.upper()}"),
    "the token without a scheme": Asked(authorization=TOKEN),
    "another scheme": Asked(authorization=f"Basic {TOKEN}"),
    "two tokens": Asked(authorization=["Bearer wrong", f"Bearer {TOKEN}"]),
}
GOOD = {
    "the address": Asked(),
    "localhost": Asked(host="localhost:{port}"),
    "the other family's loopback": Asked(host="[::1]:{port}"),
    "our origin": Asked(origin="http://127.0.0.1:{port}"),
    "localhost as origin": Asked(origin="http://localhost:{port}"),
    "a scheme in small letters": Asked(authorization=f"bearer {TOKEN}"),
}


def status_of(port: int, method: str, asked: Asked) -> int:
    """Sends one raw request; the status of the answer."""
    lines = [f"{method} /mcp HTTP/{asked.version}"]
    for name in ("host", "origin", "authorization"):
        given = getattr(asked, name)
        values = given if isinstance(given, list) else [] if given is None else [given]
        lines += [f"{name}: {value.format(port=port)}" for value in values]
    lines += ["content-type: application/json", "accept: application/json, text/event-stream"]
    lines += [f"content-length: {len(BODY)}", "connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall("\r\n".join(lines).encode() + BODY)
        answer = connection.makefile("rb").readline()
    return int(answer.split()[1])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a real server process."""
    home = tmp_path_factory.mktemp("home")
    (home / "project").mkdir()
    folder = Folder(project=home / "project", home=home)
    server = subprocess.Popen(
        [sys.executable, *SERVER, "--http"],
        cwd=folder.project,
        env=folder.environment | {"RECOLLECT_MCP_TOKEN": TOKEN},
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert server.stderr is not None
    try:
        told = server.stderr.readline().decode()
        assert told.startswith("Listening on http://127.0.0.1:"), told
        yield int(told.rpartition(":")[2].partition("/")[0])
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(timeout=60) in (0, -signal.SIGTERM)
        assert TOKEN not in server.stderr.read().decode()
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


@pytest.mark.parametrize("asked", BAD.values(), ids=BAD)
def test_what_must_be_refused_is_refused_for_every_method(served: int, asked: Asked) -> None:
    assert {method: status_of(served, method, asked) for method in METHODS} == dict.fromkeys(
        METHODS, 401 if asked.authorization != Asked().authorization else 403
    )


@pytest.mark.parametrize("asked", GOOD.values(), ids=GOOD)
def test_who_may_pass_passes_for_every_method(served: int, asked: Asked) -> None:
    for method in METHODS:
        assert status_of(served, method, asked) not in (*REFUSED, 421), method


def test_a_request_without_a_host_is_refused(served: int) -> None:
    for method in METHODS:
        assert status_of(served, method, Asked(host=None)) in (400, 403)


def test_a_request_with_two_hosts_is_refused(served: int) -> None:
    twice = Asked(host=["127.0.0.1:{port}", "evil.example"])
    for method in METHODS:
        assert status_of(served, method, twice) in (400, 403)


def test_other_paths_are_guarded_too(served: int) -> None:
    with socket.create_connection(("127.0.0.1", served), timeout=60) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{served}\r\n\r\n".encode())
        assert b" 401 " in connection.makefile("rb").readline()


def test_nothing_but_loopback_is_listened_on(served: int) -> None:
    table = Path("/proc/net/tcp").read_text().splitlines()
    ours = [line.split()[1] for line in table if line.split()[1].endswith(f":{served:04X}")]
    listening = {address.partition(":")[0] for address in ours}
    assert listening == {"0100007F"}


def test_the_sdks_own_client_gets_in_with_the_token(served: int) -> None:
    async def run() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            streamable_http_client(f"http://127.0.0.1:{served}/mcp", http_client=http) as (
                incoming,
                outgoing,
            ),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            talk = Talk(session)
            made = await talk.ask("remember", text="Over HTTP it is the same memory.")
            assert made.data["trust"] == "agent"
            found = await talk.ask("recall", query="same memory")
            assert found.data["hits"][0]["id"] == made.data["id"]

    anyio.run(run)


def test_a_token_that_could_be_guessed_is_refused() -> None:
    async def nobody(*_: object) -> None:
        raise AssertionError

    for token in ("", "short", "has a space in the middle", "ü" * 20):
        with pytest.raises(ConfigError):
            Guard(nobody, port=1, token=token)


def test_a_token_that_is_made_is_shown_once_and_opens(folder: Folder) -> None:
    with subprocess.Popen(
        [sys.executable, *SERVER, "--http"],
        cwd=folder.project,
        env=folder.environment,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as server:
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline().decode().rpartition(":")[2].partition("/")[0])
            shown = server.stderr.readline().decode()
            assert shown.startswith("Authorization: Bearer ")
            token = shown.split()[-1]
            assert token.startswith("rcm_")  # and never with a hyphen, as an option does
            assert len(token) == len("rcm_") + 43  # 256 bits
            assert status_of(port, "POST", Asked(authorization=f"Bearer {token}")) not in REFUSED
            assert status_of(port, "POST", Asked()) == 401
        finally:
            server.terminate()
            rest = server.stderr.read().decode()
    assert token not in rest
    assert f"claude mcp add --transport http recollect http://127.0.0.1:{port}/mcp" in rest


def test_no_server_listens_with_a_token_that_could_be_guessed(
    monkeypatch: pytest.MonkeyPatch, folder: Folder
) -> None:
    monkeypatch.setenv("RECOLLECT_MCP_TOKEN", "guess")
    with listen(0) as taken, pytest.raises(ConfigError):
        serve(http=True, port=taken.getsockname()[1], folder=str(folder.project))


def test_a_port_that_is_taken_is_told(monkeypatch: pytest.MonkeyPatch, folder: Folder) -> None:
    monkeypatch.setenv("RECOLLECT_MCP_TOKEN", TOKEN)
    with listen(0) as taken, pytest.raises(Unavailable):
        serve(http=True, port=taken.getsockname()[1], folder=str(folder.project))


def test_without_the_guard_they_get_through(folder: Folder) -> None:
    """The control: what the matrix calls refused is refused by the guard and by nothing else."""
    at = places(start=folder.project, home=folder.home, environment={})
    bare = build(Mounts(at, scope=Scoping(trust="agent"))).streamable_http_app(
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    with listen(0) as listening:
        config = uvicorn.Config(bare, log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            port = listening.getsockname()[1]
            through = {name: status_of(port, "POST", asked) for name, asked in BAD.items()}
        finally:
            server.should_exit = True
            thread.join(timeout=60)
    assert not thread.is_alive()
    assert [name for name, status in through.items() if status in REFUSED] == []
