"""The SDK's own client gets in through a real process, with a person's approval by plain HTTP."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from html import unescape
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from recollect import Store
from recollect.serving.oauth.desk import READ_MIN_S
from tests.http.test_process import Service, running
from tests.mcp.talking import Talk

BACK = "https://assistant.example/callback"
FORM = {"Sec-Fetch-Site": "same-origin"}
NAME = "https://memory.example"
OPTIONS = ("--ui", "--oauth", "--hostname", "memory.example")


@pytest.fixture
def where(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("service") / "w")


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with Store.open(where, embedder="none") as store:
        store.space("main").remember("Tea is at four.")
        yield store


@pytest.fixture
def service(where: str, store: Store) -> Iterator[Service]:
    with running(where, *OPTIONS) as service:
        yield service


class Kept(TokenStorage):
    """What a client keeps between its runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Proxy(httpx2.AsyncHTTPTransport):
    """What stands before a service with a name: it is asked under that name over https."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._to = httpx2.URL(service.url)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url.copy_with(scheme="http", host=self._to.host, port=self._to.port)
        passed = httpx2.Request(
            request.method, url, headers=request.headers, stream=request.stream,
            extensions=request.extensions,
        )  # fmt: skip
        return await super().handle_async_request(passed)


class Person:
    """Opens the address that the client shows, logs in and approves."""

    def __init__(self, service: Service, token: str) -> None:
        self._service = service
        self._token = token
        self.asked = 0
        self._answer = ""

    async def open(self, address: str) -> None:
        self.asked += 1
        proxy = Proxy(self._service)
        async with httpx2.AsyncClient(base_url=NAME, headers=FORM, transport=proxy) as browser:
            page = await browser.get(address, headers={"Sec-Fetch-Site": "cross-site"})
            place = page.headers["refresh"].partition("url=")[2]
            login = await browser.get(place)
            back = _hidden((await browser.get(login.headers["location"])).text)
            entered = await browser.post("/ui/-/login", data={**back, "token": self._token})
            asked = await browser.get(entered.headers["location"])
            assert "assistant.example" in asked.text
            chosen = {
                **_hidden(asked.text), "space": "main", "verb-write": "on", "asked": "on",
                "trust": "agent", "ends": "30",
            }  # fmt: skip
            await anyio.sleep(READ_MIN_S)  # as a person who reads it
            done = await browser.post("/ui/-/assistants/approve", data=chosen)
            led = await browser.get(done.headers["location"])
            self._answer = led.headers["refresh"].partition("url=")[2]

    async def told(self) -> AuthorizationCodeResult:
        found = {name: each[0] for name, each in parse_qs(urlsplit(self._answer).query).items()}
        return AuthorizationCodeResult(**found)


def _hidden(page: str) -> dict[str, str]:
    found = re.findall('<input type="hidden" name="([^"]*)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in found}


def client(kept: Kept, person: Person) -> OAuthClientProvider:
    about = OAuthClientMetadata(client_name="Planner", redirect_uris=[AnyUrl(BACK)])
    return OAuthClientProvider(
        server_url=f"{NAME}/mcp", client_metadata=about, storage=kept,
        redirect_handler=person.open, callback_handler=person.told,
    )  # fmt: skip


def in_talk(
    work: Callable[[Talk], Awaitable[None]], service: Service, kept: Kept, person: Person
) -> None:
    async def run() -> None:
        with anyio.fail_after(60):
            async with (
                httpx2.AsyncClient(
                    auth=client(kept, person), timeout=60, transport=Proxy(service)
                ) as http,
                streamable_http_client(f"{NAME}/mcp", http_client=http) as (incoming, outgoing),
                ClientSession(incoming, outgoing) as session,
            ):
                await session.initialize()
                await work(Talk(session))

    anyio.run(run)


def test_the_sdks_client_gets_in_and_is_refused_after_revocation(
    service: Service, store: Store
) -> None:
    person = Person(service, person_of(store))
    kept = Kept()

    async def work(talk: Talk) -> None:
        made = await talk.ask("remember", text="Alice sits in 12A.")
        assert made.data["trust"] == "agent"
        assert (await talk.ask("recall", query="Alice")).data["hits"]

    in_talk(work, service, kept, person)
    assert kept.tokens is not None
    assert kept.tokens.access_token.startswith("rct_")
    assert kept.tokens.scope == "read write"
    in_talk(work, service, kept, person)  # again, with what it kept
    assert person.asked == 1

    made = next(each for each in store.tokens.list() if each.label.startswith("assistant"))
    assert made.label == "assistant at assistant.example: Planner"
    store.tokens.revoke(made.id)
    refused = httpx2.post(
        f"{service.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers={"Authorization": f"Bearer {kept.tokens.access_token}"},
    )  # fmt: skip
    assert refused.status_code == 401
    in_talk(work, service, kept, person)  # it asks the person once more
    assert person.asked == 2


def person_of(store: Store) -> str:
    """The token of a person who may let assistants in."""
    verbs = ("read", "write", "admin")
    return store.tokens.create("alice", space=None, verbs=verbs, trust="person").token


def test_another_name_than_this_machines_is_https(service: Service) -> None:
    host = {"Host": "memory.example"}
    told = httpx2.get(f"{service.url}/.well-known/oauth-authorization-server", headers=host).json()
    assert told["issuer"] == "https://memory.example"
    assert told["token_endpoint"] == "https://memory.example/token"
