"""The server over stdio says what the SDK's own server says, request by request."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from recollect.assistants.mounts import Mounts
from recollect.assistants.place import Scoping
from recollect.config import places
from recollect.interfaces.mcp.messages import written
from recollect.interfaces.mcp.protocol import HANDSHAKE_VERSIONS, Conversation
from recollect.interfaces.mcp.server import build
from recollect.interfaces.mcp.stdio import Connection, Engine
from tests.mcp.talking import Folder

Request = dict[str, Any]
Asked = Callable[[str, Iterable[Request]], list[Any]]

CLIENT = {"name": "test", "version": "0"}
START = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
KEY = "io.modelcontextprotocol/"
META = {
    f"{KEY}protocolVersion": "2026-07-28",
    f"{KEY}clientInfo": CLIENT,
    f"{KEY}clientCapabilities": {},
}
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
ODD: tuple[Any, ...] = (None, True, 0, 1.5, "", "x", [], ["x"], {}, {"a": "b"}, {"a": 1})


def request(id: int | str, method: str, params: Mapping[str, Any] | None = None) -> Request:
    asked: Request = {"jsonrpc": "2.0", "id": id, "method": method}
    return asked if params is None else {**asked, "params": dict(params)}


def mounts(folder: Folder) -> Mounts:
    at = places(start=folder.project, home=folder.home, environment={})
    return Mounts(at, scope=Scoping(trust="agent"))


def of_the_sdk(folder: Folder, tools: str, asked: Iterable[Request]) -> list[bytes]:
    """The lines that the SDK's server answers with, one for each request."""
    lines: list[bytes] = []

    async def run() -> None:
        server = build(mounts(folder), tools)
        there, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, back = anyio.create_memory_object_stream[SessionMessage](0)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group, there, back:
                start = server.create_initialization_options()
                group.start_soon(server.run, incoming, outgoing, start)
                for one in asked:
                    message = types.jsonrpc_message_adapter.validate_python(one, by_name=False)
                    await there.send(SessionMessage(message))
                    answer = (await back.receive()).message
                    told = answer.model_dump_json(by_alias=True, exclude_unset=True)
                    lines.append(told.encode() + b"\n")
                there.close()

    anyio.run(run)
    return lines


def of_stdio(folder: Folder, tools: str, asked: Iterable[Request]) -> list[bytes]:
    """The lines that the server over stdio answers with, in the order of the requests."""
    requests = list(asked)
    reading, writing = os.pipe()
    engine = Engine(lambda: mounts(folder), tools)
    given = b"".join(json.dumps(one).encode() + b"\n" for one in requests)
    lines: list[bytes] = []

    def drain() -> None:
        with os.fdopen(reading, "rb") as answers:
            lines.extend(answers)

    reader = threading.Thread(target=drain)
    reader.start()
    with os.fdopen(writing, "wb") as outgoing:
        Connection(Conversation(tools), engine, outgoing).run(io.BytesIO(given))
    reader.join(timeout=60)
    engine.close()
    by_id = {json.loads(line)["id"]: line for line in lines}
    assert len(lines) == len(requests)
    return [by_id[one["id"]] for one in requests]


def compared(folder: Folder, tools: str, asked: list[Request]) -> list[Any]:
    theirs = [json.loads(line) for line in of_the_sdk(folder, tools, asked)]
    ours = [json.loads(line) for line in of_stdio(folder, tools, asked)]
    differing = [
        (one["method"], one.get("params"), sdk, own)
        for one, sdk, own in zip(asked, theirs, ours, strict=True)
        if own != sdk
    ]
    assert differing == []
    return ours


def numbered(asked: Iterable[tuple[str, Mapping[str, Any] | None]]) -> list[Request]:
    return [request(number, method, params) for number, (method, params) in enumerate(asked)]


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "recall", "arguments": {"query": "anything"}}),
    ("tools/call", {"name": "recall", "arguments": {"query": 7}}),
    ("tools/call", {"name": "recall", "arguments": None}),
    ("tools/call", {"name": "recall"}),
    ("tools/call", {"name": "recall", "arguments": {"query": "é ☃ 😀 \u202e"}}),
    ("tools/call", {"name": "forget", "arguments": {"id": "nothing"}}),
    ("tools/call", {"name": "nothing"}),
    ("tools/call", {}),
    ("resources/read", {"uri": "recollect://status"}),
    ("resources/read", {"uri": "recollect://record/none"}),
    ("resources/read", {"uri": "x"}),
    ("prompts/get", {"name": "distill"}),
    ("prompts/get", {"name": "distill", "arguments": {"other": "1"}}),
    ("prompts/get", {"name": "distill", "arguments": {"mount": "me"}}),
    ("prompts/get", {"name": "nothing"}),
]
ODD_CALLS = [
    *(("tools/call", {"name": name}) for name in ODD),
    *(("tools/call", {"name": "recall", "arguments": given}) for given in ODD),
    *(("resources/read", {"uri": uri}) for uri in ODD),
    *(("prompts/get", {"name": name}) for name in ODD),
    *(("prompts/get", {"name": "distill", "arguments": given}) for given in ODD),
    *((method, {"cursor": cursor}) for method in LISTS for cursor in ODD),
]


@pytest.mark.parametrize("tools", ["daily", "all"])
def test_after_a_handshake_every_request_has_the_sdks_answer(folder: Folder, tools: str) -> None:
    asked = numbered(
        [
            *((method, None) for method in (*LISTS, "ping", "tools/call", "nothing/like/it")),
            *(("initialize", {**START, "capabilities": odd}) for odd in ODD if odd != {"a": "b"}),
            *(("initialize", {**START, "clientInfo": odd}) for odd in ODD),
            *(("initialize", {**START, "protocolVersion": odd}) for odd in ODD),
            *(("initialize", {**START, "protocolVersion": old}) for old in HANDSHAKE_VERSIONS),
            ("initialize", None),
            ("initialize", START),
            ("ping", None),
            ("ping", {"_meta": {"progressToken": 7}}),
            *((method, {"_meta": odd}) for method in ("ping", *LISTS) for odd in ODD),
            *((method, params) for method in LISTS for params in (None, {}, {"cursor": "x"})),
            *CALLS,
            *ODD_CALLS,
            *(("ping", {"_meta": META}), ("tools/list", {"_meta": META})),
            *((method, {}) for method in ("server/discover", "resources/unsubscribed", "")),
            ("logging/setLevel", {"level": "debug"}),
            ("resources/subscribe", {"uri": "x"}),
        ]
    )
    answers = compared(folder, tools, asked)
    assert {answer["error"]["code"] for answer in answers if "error" in answer} == {
        *(-32602, -32601, -32600, -32002),
    }


@pytest.mark.parametrize("tools", ["daily", "all"])
def test_with_envelopes_every_request_has_the_sdks_answer(folder: Folder, tools: str) -> None:
    def meta(**changed: Any) -> dict[str, Any]:
        told = META | {KEY + name: value for name, value in changed.items()}
        return {"_meta": {name: value for name, value in told.items() if value is not ...}}

    asked = numbered(
        [
            ("server/discover", meta()),
            *((method, meta()) for method in LISTS),
            *(("tools/list", meta(protocolVersion=odd)) for odd in (*ODD, "2025-06-18", "2030")),
            *(("tools/list", meta(clientCapabilities=odd)) for odd in (*ODD, ...)),
            *(("tools/list", meta(clientInfo=odd)) for odd in (*ODD, ...)),
            *(("tools/list", {"_meta": odd}) for odd in ODD),
            ("tools/list", None),
            ("initialize", START),
            ("initialize", None),
            *((method, {**params, **meta()}) for method, params in (*CALLS, *ODD_CALLS)),
            *((method, meta()) for method in ("ping", "nothing/like/it", "logging/setLevel")),
            ("resources/subscribe", {"uri": "x", **meta()}),
        ]
    )
    answers = compared(folder, tools, asked)
    assert {answer["error"]["code"] for answer in answers if "error" in answer} == {
        *(-32602, -32601, -32022, -32002),
    }


def test_control_another_answer_is_noticed(folder: Folder) -> None:
    asked = numbered([("initialize", START), ("tools/list", None)])
    sdk = of_the_sdk(folder, "all", asked)
    assert of_stdio(folder, "all", asked) == sdk
    assert of_stdio(folder, "daily", asked) != sdk


@pytest.mark.parametrize("tools", ["daily", "all"])
def test_what_clients_ask_first_is_the_same_byte_by_byte(folder: Folder, tools: str) -> None:
    asked = numbered([("initialize", START), *((method, {}) for method in LISTS), ("ping", None)])
    assert of_stdio(folder, tools, asked) == of_the_sdk(folder, tools, asked)


def test_an_answer_is_one_line() -> None:
    line = written(1, result={"text": "a\nb\r\u2028"})
    assert line.count(b"\n") == 1
    assert json.loads(line)["result"]["text"] == "a\nb\r\u2028"
