"""MCP on the port of the service: the SDK's own client against a real process."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import msgspec
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from recollect import Memory as Local
from recollect import Store
from recollect.client import Memory
from recollect.interfaces.mcp.over_http import OverHttp
from recollect.interfaces.mcp.tools import DAILY
from tests.http.serving import Client, Said, served
from tests.http.test_process import Service, running
from tests.mcp.talking import Talk

pytestmark = pytest.mark.ci

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("service") / "w")


@pytest.fixture(scope="module")
def store(where: str) -> Iterator[Store]:
    with Store.open(where, embedder="none") as store:
        store.space("main").remember("The first one.")
        store.space("other").remember("A secret of others.")
        yield store


@pytest.fixture(scope="module")
def service(where: str, store: Store) -> Iterator[Service]:
    with running(where) as service:
        yield service


@asynccontextmanager
async def talking(url: str, token: str, **headers: str) -> AsyncIterator[Talk]:
    """A session of the SDK's client."""
    sent = {"Authorization": f"Bearer {token}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    with anyio.fail_after(60):
        async with (
            httpx2.AsyncClient(headers=sent, timeout=60) as http,
            streamable_http_client(url, http_client=http) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            yield Talk(session)


def in_talk(work: Callable[[Talk], Awaitable[None]], url: str, token: str, **headers: str) -> None:
    async def run() -> None:
        async with talking(url, token, **headers) as talk:
            await work(talk)

    try:
        anyio.run(run)
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def raw(
    service: Service,
    token: str | None,
    path: str = "/mcp",
    method: str = "POST",
    body: object = LIST,
    **headers: str,
) -> Said:
    client = Client(int(service.url.rpartition(":")[2]), token)
    sent = JSON | {name.replace("_", "-"): value for name, value in headers.items()}
    return client.ask(method, path, body, sent)


def test_every_daily_tool_works(service: Service, store: Store) -> None:
    token = store.tokens.create("t", space="main", trust="agent").token

    async def work(talk: Talk) -> None:
        listed = await talk.session.list_tools()
        assert [tool.name for tool in listed.tools] == [tool.name for tool in DAILY]
        made = await talk.ask("remember", text="Alice sits in 12A.", key="alice.seat")
        assert (made.data["trust"], made.data["memory"]) == ("agent", "personal")
        seat = made.data["id"]
        found = await talk.ask("recall", query="where does Alice sit")
        assert found.data["hits"][0]["id"] == seat
        await talk.ask("revise", id=seat, text="Alice sits in 14C.")
        life = await talk.ask("history", id="alice.seat")
        assert "Alice sits in 12A." in life.text
        assert "Alice sits in 14C." in life.text
        await talk.ask("forget", id=seat)
        assert (await talk.ask("recall", query="Alice", k=1)).data.get("hits", []) == []
        status = await talk.session.read_resource("recollect://status")
        assert isinstance(status.contents[0], types.TextResourceContents)
        assert '"personal"' in status.contents[0].text

    in_talk(work, f"{service.url}/mcp", token)
    with Memory.open(service.url, token=token) as memory:
        assert "Alice sits in 14C." not in {one.text for one in memory.list()}


def test_a_persons_token_writes_as_an_agent_here_too(service: Service, store: Store) -> None:
    person = store.tokens.create("p", space="main", trust="person").token
    less = store.tokens.create("l", space="main", trust="unverified").token

    async def agents(talk: Talk) -> None:
        assert (await talk.ask("remember", text="By a model.")).data["trust"] == "agent"

    async def nobodys(talk: Talk) -> None:
        assert (await talk.ask("remember", text="Of a page.")).data["trust"] == "unverified"

    in_talk(agents, f"{service.url}/mcp", person)
    in_talk(nobodys, f"{service.url}/mcp", less)
    in_talk(nobodys, f"{service.url}/mcp", person, Recollect_Trust="unverified")


def test_the_path_names_the_space_and_the_set_of_tools(service: Service, store: Store) -> None:
    token = store.tokens.create("t", space=None, trust="agent").token

    async def work(talk: Talk) -> None:
        found = await talk.ask("list")
        assert [one["text"] for one in found.data["records"]] == ["A secret of others."]
        assert "propose" in {tool.name for tool in (await talk.session.list_tools()).tools}

    in_talk(work, f"{service.url}/v1/spaces/other/mcp?tools=all", token)
    assert raw(service, token, "/mcp?tools=none").status == 422
    assert raw(service, token, "/mcp?tool=all").status == 400


def test_another_users_memory_is_not_shown(service: Service, store: Store) -> None:
    store.space("main").scoped(user="bob").remember("Bob likes tea.", key="tea")
    alice = store.tokens.create("a", space="main", trust="agent", user="alice").token

    async def work(talk: Talk) -> None:
        assert "Bob" not in (await talk.ask("recall", query="tea")).text
        refused = await talk.call("history", id="tea")
        assert refused.error["code"] == "not_found"

    in_talk(work, f"{service.url}/mcp", alice)


def test_a_protocol_with_rights_of_its_own_would_be_noticed(store: Store) -> None:
    """The control: the same question, asked of a memory that did not come with the request."""

    class Leaking(OverHttp):
        async def answer(self, memory: Local, *rest: Any) -> None:
            await super().answer(store.space("main"), *rest)

    store.space("main").scoped(user="bob").remember("Bob likes tea.", key="tea")
    alice = store.tokens.create("a", space="main", trust="agent", user="alice").token

    async def work(talk: Talk) -> None:
        assert "Bob" in (await talk.ask("recall", query="tea")).text

    with served(store, mcp=Leaking()) as port:
        in_talk(work, f"http://127.0.0.1:{port}/mcp", alice)


def test_who_may_not_come_in_reaches_no_protocol(service: Service, store: Store) -> None:
    token = store.tokens.create("t", space="main", trust="agent").token
    made_up = "rct_" + "A" * 43
    for wrong in (None, "wrong", made_up):
        said = raw(service, wrong)
        assert (said.status, said.json["code"]) == (401, "unauthorized")
        assert said.headers["www-authenticate"] == (
            f'Bearer resource_metadata="{service.url}/.well-known/oauth-protected-resource/mcp"'
        )
    others = [raw(service, token, f"/v1/spaces/{name}/mcp") for name in ("other", "none")]
    assert others[0].status == 404
    assert others[0].same == others[1].same
    assert raw(service, token, Origin="https://evil.example").status == 403
    assert raw(service, token, Host="evil.example").status == 421
    assert raw(service, token, "/v1/spaces/a%2Fb/mcp").status == 400
    assert raw(service, token, "/mcp/").status == 404  # never a redirect, which drops the token
    with pytest.raises(MCPError, match="error response"):
        in_talk(_nothing, f"{service.url}/mcp", made_up)


async def _nothing(talk: Talk) -> None:
    raise AssertionError


def test_a_token_that_is_revoked_in_the_middle_ends_it(service: Service, store: Store) -> None:
    made = store.tokens.create("t", space="main", trust="agent")

    async def work(talk: Talk) -> None:
        await talk.ask("remember", text="Before.")
        store.tokens.revoke(made.id)
        await talk.ask("remember", text="After.")

    with pytest.raises(MCPError, match="error response"):
        in_talk(work, f"{service.url}/mcp", made.token)
    texts = {one.text for one in store.space("main").list()}
    assert texts & {"Before.", "After."} == {"Before."}


def test_a_client_is_told_what_to_bring(service: Service) -> None:
    client = Client(int(service.url.rpartition(":")[2]), None)
    base = "/.well-known/oauth-protected-resource"
    for resource in ("", "/mcp", "/v1/spaces/main/mcp"):
        said = client.get(base + resource)
        assert said.status == 200
        assert said.json["resource"] == service.url + resource
        assert said.json["bearer_methods_supported"] == ["header"]
    assert client.get(f"{base}/v1/spaces/main").status == 401
    assert client.get("/v1/spaces").headers["www-authenticate"] == (
        f'Bearer resource_metadata="{service.url}{base}"'
    )


def test_a_malformed_message_is_answered(service: Service, store: Store) -> None:
    token = store.tokens.create("t", space="main", trust="agent").token
    for body in (b"", b"{", b"[]", b'{"jsonrpc":"2.0","id":1}', b'{"id":1,"id":2}', b"\xff"):
        assert raw(service, token, body=body).status == 400, body
    unknown = raw(service, token, body=LIST | {"method": "unknown"})
    assert unknown.json["error"]["code"] == -32601
    long = raw(service, token, body=msgspec.json.encode(LIST) + b" " * 5_000_000)
    assert long.status == 413
    assert raw(service, token).headers["cache-control"] == "no-store"


def test_there_is_no_stream_that_holds_a_connection(service: Service, store: Store) -> None:
    """The protocol allows 405 here; nothing is sent unasked, so nobody needs to wait for it."""
    token = store.tokens.create("t", space="main", trust="agent").token
    for method in ("GET", "DELETE", "HEAD", "PUT"):
        said = raw(service, token, method=method, body=None)
        assert (said.status, said.headers["allow"]) == (405, "POST"), method
    assert raw(service, None, method="GET", body=None).status == 401


def test_sigterm_ends_with_0_while_a_client_is_connected(where: str, store: Store) -> None:
    with running(where) as service:
        ends_with_0(service, store.tokens.create("t", space="main", trust="agent").token)


def ends_with_0(service: Service, token: str) -> None:
    port = int(service.url.rpartition(":")[2])

    async def work(talk: Talk) -> None:
        await talk.ask("remember", text="Before the end.")
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(
                f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}"
                "\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
            service.process.send_signal(signal.SIGTERM)
            code = await anyio.to_thread.run_sync(service.process.wait, 30)
            assert code == 0

    in_talk(work, f"{service.url}/mcp", token)
    assert service.process.stderr is not None
    assert "Traceback" not in service.process.stderr.read()


def test_it_can_be_left_out(where: str, store: Store) -> None:
    token = store.tokens.create("t", space="main", trust="agent").token
    with running(where, "--no-mcp") as service:
        assert "/mcp" not in service.said
        assert raw(service, token).status == 404
        assert raw(service, None).headers["www-authenticate"] == "Bearer"
        client = Client(int(service.url.rpartition(":")[2]), token)
        assert client.get("/.well-known/oauth-protected-resource").status == 404


def test_without_the_extra_the_service_says_so_once_and_works(where: str, store: Store) -> None:
    token = store.tokens.create("t", space="main", trust="agent").token
    hidden = "import sys; sys.modules['mcp'] = None\n"
    start = hidden + "from recollect.__main__ import main\nsys.exit(main())"
    words = [sys.executable, "-c", start, "--store", where, "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = ""
            while "Try:" not in said:
                said += process.stderr.readline()
            assert said.count("pip install 'recollect[mcp]'") == 1
            found = re.search("http://127[^ \n]+", said)
            assert found
            with Memory.open(found[0], token=token) as memory:
                assert memory.list()[-1].text == "The first one."
        finally:
            process.terminate()
            assert process.wait(60) == 0
