"""Every door of the service obeys its rates, ``--strict`` and the size of a body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import pytest

from recollect import Store
from recollect.interfaces.http import mcp_port, routes
from recollect.interfaces.http.limits.rates import Rates
from recollect.interfaces.http.work import Rules
from recollect.interfaces.mcp.calls import TOOLS
from recollect.interfaces.mcp.over_http import OverHttp
from recollect.interfaces.mcp.tools import Tool
from tests.http.serving import Client, Said, served

pytestmark = pytest.mark.ci

MCP: Final = "/v1/spaces/main/mcp?tools=all"
JSON: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ONCE: Final = dict.fromkeys(("read", "recall", "write", "admin"), 0.1)  # one in ten seconds
EVERY: Final = ("read", "write", "erase", "create", "drop", "review", "admin")
GIVEN: Final[dict[str, Any]] = {
    "recall": {"query": "tea"}, "remember": {"text": "Tea."}, "context": {"query": "tea"},
    "revise": {"id": "r-tea", "text": "Coffee."}, "forget": {"id": "r-tea"},
    "history": {"id": "r-tea"}, "observe": {"text": "Tea."}, "search": {"query": "tea"},
}  # fmt: skip


@contextmanager
def opened() -> Iterator[Store]:
    with Store.open(":memory:", embedder="none") as store:
        store.space("main", create=True).remember("Tea is at four.", id="r-tea")
        yield store


@pytest.fixture
def store() -> Iterator[Store]:
    with opened() as store:
        yield store


@pytest.fixture(scope="module")
def once() -> Iterator[tuple[Store, int]]:
    """A service that lets each token do one thing of each class."""
    with opened() as store, served(store, mcp=OverHttp(), rules=Rules(Rates(ONCE))) as port:
        yield store, port


def caller(store: Store, port: int) -> Client:
    """Somebody whose buckets are full, and who may do everything."""
    return Client(port, store.tokens.create("x", space=None, verbs=EVERY, trust="person").token)


def call_tool(client: Client, tool: str, path: str = MCP) -> Said:
    params = {"name": tool, "arguments": GIVEN.get(tool, {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return client.ask("POST", path, body, JSON)


def ask_route(client: Client, route: routes.Route) -> Said:
    """Whatever it answers: it has counted."""
    path = route.path.replace("{space}", "gone" if route.verb == "drop" else "main")
    path = re.sub(r"\{[a-z]+\}", "99", path)
    body: dict[str, Any] | None = None if route.method in ("GET", "DELETE") else {}
    return client.ask(route.method, path, body)


ROUTES: Final = routes.TABLE


@pytest.mark.parametrize("route", ROUTES, ids=lambda each: each.name)
def test_every_route_counts(once: tuple[Store, int], route: routes.Route) -> None:
    client = caller(*once)
    first, second = ask_route(client, route), ask_route(client, route)
    assert (first.status != 429, second.status) == (True, 429), first
    assert int(second.headers["retry-after"]) >= 1


EVERY_TOOL: Final = [*TOOLS["all"]]


@pytest.mark.parametrize("path", ["/mcp?tools=all", MCP])
@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda each: each.name)
def test_every_tool_counts(once: tuple[Store, int], tool: Tool, path: str) -> None:
    client = caller(*once)
    assert call_tool(client, tool.name, path).status == 200
    assert call_tool(client, tool.name, path).status == 429


def test_a_tool_counts_as_what_it_does() -> None:
    for tool in EVERY_TOOL:
        found = mcp_port.rate_class("tools/call", tool.name)
        assert (found != "write") == tool.reads, tool.name
    assert mcp_port.rate_class("tools/call", "unheard of") == "write"
    assert mcp_port.rate_class("tools/list", "") == "read"


def test_the_same_buckets_over_both_doors(store: Store) -> None:
    """The attack: forty recalls and forty writes where REST stops at ten."""
    rates = Rates({"recall": 1, "write": 1})
    with served(store, mcp=OverHttp(), rules=Rules(rates)) as port:
        client = caller(store, port)
        recalls = [call_tool(client, "recall").status for _ in range(40)]
        assert recalls.count(200) <= 15
        assert client.ask("POST", "/v1/spaces/main/recall", {"query": "tea"}).status == 429
        writes = [call_tool(client, "remember").status for _ in range(40)]
        assert writes.count(200) <= 15


def test_several_messages_in_one_body_count_each_and_none_hides(store: Store) -> None:
    """The second form: a batch, a name given twice, numbers that only one parser reads."""
    with served(store, mcp=OverHttp(), rules=Rules(Rates({"write": 0.1}), is_strict=True)) as port:
        client = caller(store, port)
        one = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": "remember", "arguments": {"text": "Tea."}}}  # fmt: skip
        assert client.ask("POST", MCP, [one, one], JSON).status == 429
        hidden = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"revise",' \
                 b'"arguments":{"id":"r-tea","text":"X"},"_meta":{"a":NaN}}}'  # fmt: skip
        assert caller(store, port).ask("POST", MCP, hidden, JSON).status == 400
        twice = hidden.replace(b'"_meta":{"a":NaN}', b'"name":"history"')
        caller(store, port).ask("POST", MCP, twice, JSON)
        last = hidden.replace(b'{"name":"revise",', b'{"name":"history","name":"revise",')
        last = last.replace(b',"_meta":{"a":NaN}', b"")
        assert caller(store, port).ask("POST", MCP, last, JSON).status == 428
        assert store.space("main").get("r-tea").text == "Tea is at four."


@pytest.mark.parametrize("tool", sorted({*routes.STRICT} & {each.name for each in EVERY_TOOL}))
def test_a_strict_service_refuses_what_names_no_version(store: Store, tool: str) -> None:
    with served(store, mcp=OverHttp(), rules=Rules(Rates(), is_strict=True)) as port:
        refused = call_tool(caller(store, port), tool)
        assert (refused.status, refused.json["code"]) == (428, "precondition_required")
        assert store.space("main").get("r-tea").text == "Tea is at four."
        assert call_tool(caller(store, port), "remember").status == 200
    with served(store, mcp=OverHttp()) as port:  # the control
        assert call_tool(caller(store, port), tool).status == 200


def test_a_body_that_is_too_long_is_refused_at_every_door(store: Store) -> None:
    with served(store, mcp=OverHttp()) as port:
        client = caller(store, port)
        for route in ROUTES:
            if route.takes is not None and route.name != "push_ledger":
                assert long_body(client, route.method, ask_path(route)) == 413, route.name
        assert long_body(client, "POST", MCP) == 413


def ask_path(route: routes.Route) -> str:
    return route.path.replace("{space}", "main").replace("{", "").replace("}", "")


def long_body(client: Client, method: str, path: str) -> int:
    """What a body is answered that only announces its length."""
    headers = {**JSON, "Content-Length": str(1 << 30)}
    return client.ask(method, path, b"{}", headers).status


def test_control_without_rates_nothing_is_counted(store: Store) -> None:
    with served(store, mcp=OverHttp()) as port:
        client = caller(store, port)
        assert [call_tool(client, "recall").status for _ in range(5)] == [200] * 5
        assert msgspec.json.decode(call_tool(client, "history").raw)["id"] == 1


@pytest.fixture
def late(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A service whose reads are always late."""
    for module in ("work", "app"):
        monkeypatch.setattr(f"recollect.interfaces.http.{module}.READ_MAX_S", -1.0)
    with served(store, mcp=OverHttp()) as port:
        yield caller(store, port)


def test_reads_end_in_time_at_every_door(late: Client) -> None:
    asked = late.ask("POST", "/v1/spaces/main/recall", {"query": "tea"})
    assert (asked.status, asked.json["code"]) == (422, "limit_exceeded")
    for path in ("records", "records/r-tea", "diff", "overview", "graph"):
        assert late.ask("GET", f"/v1/spaces/main/{path}").status == 422, path
    assert "too long" in call_tool(late, "recall").raw.decode()


def test_what_reads_a_whole_ledger_or_writes_takes_its_time(late: Client) -> None:
    for path in ("verify", "digest", "ledger", "export?format=json"):
        assert late.ask("GET", f"/v1/spaces/main/{path}").status == 200, path
    assert late.ask("POST", "/v1/spaces/main/records", {"text": "Tea again."}).status == 201
