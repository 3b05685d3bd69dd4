"""MCP on the port of the service: ``/mcp`` and ``/v1/spaces/{space}/mcp``.

Responsible for which memory such a request means, and for telling clients what to bring
(RFC 9728). Leaves the protocol to the application that ``__main__`` hands in, and tokens to
``gate`` and ``entries``. Invariants: a request without a valid token reaches no protocol; a memory
that the token does not open gives the same 404 as everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.interfaces.http import requests, routes
from recollect.interfaces.http.entries import Entries, Entry
from recollect.interfaces.http.limits.gate import Headers
from recollect.interfaces.http.problems import Refused, refusal
from recollect.memory import Memory
from recollect.serving.guard import Message, Receive, Scope, Send
from recollect.serving.oauth.addresses import base

BODY_MAX_BYTES: Final = 4_194_304
_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_PATH: Final = re.compile("/mcp|/v1/spaces/([A-Za-z0-9_.~-]+)/mcp")
_MAIN: Final = "main"
_CALL: Final = "tools/call"
_ADDED: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


# Which rate counts a call of a tool; one that is not listed counts as a write.
RECALLS: Final = ("recall", "context", "search")
READS: Final = (
    "events", "get_schema", "history", "list", "list_memories", "read_memory", "review_list",
)  # fmt: skip


class _Params(msgspec.Struct, frozen=True):
    """What a message says of a tool."""

    name: str = ""


class _Message(msgspec.Struct, frozen=True):
    """One message of the protocol, as far as the rules of the service concern it."""

    method: str = ""
    params: _Params = _Params()


_PARSED: Final = msgspec.json.Decoder(_Message | list[_Message])


class McpQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of the address."""

    tools: Literal["daily", "all"] = "daily"


def check(body: bytes, take: Callable[[str], None], *, is_strict: bool) -> None:
    """Refuses what the rules of the service refuse over its other doors.

    Each message counts for its class, as the call does that does the same. No tool names the
    version that it changes, so with ``--strict`` those that need one are refused.
    """
    try:
        parsed = _PARSED.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:  # others may read it in another way
        raise Refused(400, "malformed", "the body is not a message of MCP") from error
    for message in parsed if isinstance(parsed, list) else [parsed]:
        take(rate_class(message.method, message.params.name))
        if is_strict and message.method == _CALL and message.params.name in routes.STRICT:
            raise Refused(
                428, "precondition_required",
                "this service is strict, and no tool names the version that it changes",
                hint=f"propose it, or use {message.params.name} over HTTP with If-Match",
            )  # fmt: skip


def rate_class(method: str, tool: str) -> str:
    """What a message counts as, as the same calls do over HTTP."""
    if method != _CALL or tool in READS:
        return "read"
    return "recall" if tool in RECALLS else "write"


class Speaks(Protocol):
    """An application that speaks MCP for callers who were let in."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Holds what requests need, from before the first until after the last."""
        ...

    async def answer(
        self,
        memory: Memory,
        settings: Settings,
        tools: str,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answers one request for a caller who may use this memory."""
        ...


class Asked(NamedTuple):
    """Which memory and which set of tools a request names."""

    space: str | None
    tools: str


class Caller(NamedTuple):
    """A memory for the holder of one token, until ``entry`` is given back."""

    entry: Entry
    memory: Memory


def asked(method: str, path: str, query: bytes) -> Asked | None:
    """What a request asks for, if it is one of MCP."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    if method != "POST":  # nothing is ever sent unasked, so there is no stream and no session
        raise Refused(405, "method_not_allowed", "use POST", headers={"Allow": "POST"})
    tools = requests.parameters(query, McpQuery).tools
    return Asked(None if found[1] is None else routes.named(found[1]), tools)


def enter(entries: Entries, token: str, asked: Asked, headers: Headers) -> Caller:
    """Opens the memory that a request means; without a name it is the token's, or ``main``."""
    entry = entries.take(token)
    try:
        held = entry.store.token()
        space = asked.space or (held.space if held is not None else None) or _MAIN
        memory = requests.memory(entry.memory, space, headers)
        memory.scope.trust  # noqa: B018 - refused here, where it is a 404, not inside the protocol
    except (Refused, RecollectError) as error:
        entries.give_back(entry)
        raise refusal(error) from error
    return Caller(entry, memory)


def document(
    path: str, scope: Scope, root: str = "", *, has_oauth: bool = False
) -> dict[str, object] | None:
    """What a client must bring for a resource of this service (RFC 9728)."""
    resource = path.removeprefix(_WELL_KNOWN)
    if resource == path or not (resource == "" or _PATH.fullmatch(resource)):
        return None
    service = base(scope, root)
    told: dict[str, object] = {
        "resource": service + resource,
        "resource_name": "Recollect",
        "bearer_methods_supported": ["header"],
    }
    return {**told, "authorization_servers": [service]} if has_oauth else told


def challenge(path: str, scope: Scope, root: str = "") -> str:
    """The header that sends a client without a valid token to ``document``."""
    resource = path if _PATH.fullmatch(path) else ""
    return f'Bearer resource_metadata="{base(scope, root)}{_WELL_KNOWN}{resource}"'


def given_again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and then what really comes."""
    read = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return read.pop() if read else await receive()

    return next_message


class Sending:
    """Passes an answer on, with the headers that every answer of the service has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        """Sends one part."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            message = {**message, "headers": [*message["headers"], *_ADDED]}
        await self._send(message)
