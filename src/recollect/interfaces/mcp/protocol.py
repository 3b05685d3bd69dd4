"""One conversation with a client in the Model Context Protocol, without the input and output.

Responsible for the two forms of the protocol, with a handshake and with an envelope in each
request, and for which requests are answered at once. Leaves the lists to ``lists``, calls to
``calls`` and lines to ``stdio``. Invariants: a request has one result or one refusal; only the
standard library is loaded; the answers are those that the SDK's server gives over HTTP, and a
test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from recollect import __version__
from recollect.interfaces.mcp import lists
from recollect.interfaces.mcp.lists import Result
from recollect.interfaces.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Refused,
)

NO_RESOURCE: Final = -32002
UNSUPPORTED_VERSION: Final = -32022

# Versions that begin with `initialize`, and the ones without it, where each request names its own.
HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSIONS: Final = ("2026-07-28",)

_KEY: Final = "io.modelcontextprotocol/"
_VERSION_KEY: Final = f"{_KEY}protocolVersion"
_CAPABILITIES_KEY: Final = f"{_KEY}clientCapabilities"
_CLIENT_KEY: Final = f"{_KEY}clientInfo"
_SERVER: Final = {"name": lists.NAME, "version": __version__}


class Call(NamedTuple):
    """A request whose answer needs a memory."""

    method: str
    params: Mapping[str, Any]
    client: str | None  # the name that the client gave itself


class Conversation:
    """What one client has said so far, and what its next request means.

    The first request decides which form of the protocol is spoken.
    """

    def __init__(self, tools: str) -> None:
        self._lists: dict[str, Callable[[], Result]] = {
            "tools/list": lambda: lists.tools(tools),
            "resources/list": lambda: lists.RESOURCES,
            "resources/templates/list": lambda: lists.TEMPLATES,
            "prompts/list": lambda: lists.PROMPTS,
        }
        self._has_envelopes: bool | None = None
        self._client: str | None = None
        self._is_open = False

    def notice(self, method: str) -> None:
        """Takes note of a notification."""
        if method == "notifications/initialized":
            self._is_open = True

    def answer(self, method: str, params: Mapping[str, Any]) -> Result | Call:
        """The result of a request, or the call that makes it; raises Refused."""
        if self._has_envelopes is None:
            self._has_envelopes = method != "initialize" and _has_envelope(params)
        if self._has_envelopes:
            return self._in_envelope(method, params)
        return self._after_handshake(method, params)

    def whole(self, method: str, result: Result) -> Result:
        """A result with what every result has in the form of the protocol that is spoken."""
        if not self._has_envelopes:
            return result
        fresh = {} if method in ("tools/call", "prompts/get") else _NOT_CACHED
        return {
            **fresh,
            **result,
            "resultType": "complete",
            "_meta": {f"{_KEY}serverInfo": _SERVER},
        }

    def _after_handshake(self, method: str, params: Mapping[str, Any]) -> Result | Call:
        if method == "initialize":
            return self._initialize(params)
        if _has_envelope(params):
            raise Refused(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; requests carrying the "
                f"{ENVELOPE_VERSIONS[-1]} envelope are not accepted on it",
            )
        if method == "ping":
            _check("ping", params)
            return {}
        self._check_served(method)
        if not self._is_open:
            raise _invalid()
        return self._served(method, params, self._client)

    def _initialize(self, params: Mapping[str, Any]) -> Result:
        version, client = params.get("protocolVersion"), _name_of(params.get("clientInfo"))
        is_whole = isinstance(version, str) and isinstance(params.get("capabilities"), dict)
        if not is_whole or client is None:
            raise _invalid()
        self._client, self._is_open = client, True
        return {
            "capabilities": lists.CAPABILITIES,
            "instructions": lists.ABOUT,
            "protocolVersion": version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "serverInfo": _SERVER,
        }

    def _in_envelope(self, method: str, params: Mapping[str, Any]) -> Result | Call:
        if method == "initialize":
            raise _unsupported(
                f"connection is serving the {ENVELOPE_VERSIONS[-1]} protocol; the initialize "
                "handshake is not accepted",
                params.get("protocolVersion"),
            )
        meta = _envelope(params)
        if method == "server/discover":
            _check(method, params)
            _client_in(meta)
            return {
                "capabilities": lists.CAPABILITIES,
                "instructions": lists.ABOUT,
                "supportedVersions": list(ENVELOPE_VERSIONS),
            }
        self._check_served(method)
        return self._served(method, params, _client_in(meta))

    def _check_served(self, method: str) -> None:
        if method not in self._lists and method not in _CALLS:
            raise Refused(METHOD_NOT_FOUND, "Method not found", method)

    def _served(self, method: str, params: Mapping[str, Any], client: str | None) -> Result | Call:
        _check(method, params)
        told = self._lists.get(method)
        return Call(method, params, client) if told is None else told()


_NOT_CACHED: Final = {"cacheScope": "private", "ttlMs": 0}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_object(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _are_texts(value: object) -> bool:
    return value is None or (
        isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    )


_CALLS: Final[Mapping[str, Mapping[str, Callable[[object], bool]]]] = {
    "tools/call": {"name": _is_text, "arguments": _is_object},
    "resources/read": {"uri": _is_text},
    "prompts/get": {"name": _is_text, "arguments": _are_texts},
}
_LISTING: Final[Mapping[str, Callable[[object], bool]]] = {
    "cursor": lambda value: value is None or isinstance(value, str)
}


def _check(method: str, params: Mapping[str, Any]) -> None:
    """Raises Refused for parameters of another type than the protocol's."""
    fields = _CALLS.get(method, _LISTING if method.endswith("/list") else {})
    if not _is_object(params.get("_meta")):
        raise _invalid()
    if not all(fits(params.get(name)) for name, fits in fields.items()):
        raise _invalid()


def _invalid() -> Refused:
    return Refused(INVALID_PARAMS, "Invalid request parameters", "")


def _name_of(client: object) -> str | None:
    """The name in what a client says of itself, if that is whole."""
    if not isinstance(client, dict) or not _is_text(client.get("version")):
        return None
    name = client.get("name")
    return name if isinstance(name, str) else None


def _has_envelope(params: Mapping[str, Any]) -> bool:
    meta = params.get("_meta")
    return isinstance(meta, dict) and _VERSION_KEY in meta


def _envelope(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """What comes with each request where there is no handshake."""
    meta, needed = params.get("_meta"), (_VERSION_KEY, _CAPABILITIES_KEY)
    if not isinstance(meta, dict):
        raise Refused(
            INVALID_PARAMS,
            "params._meta must be an object carrying the required "
            f"{_VERSION_KEY!r} and {_CAPABILITIES_KEY!r} envelope keys",
        )
    if missing := [key for key in needed if key not in meta]:
        raise Refused(
            INVALID_PARAMS,
            f"params._meta is missing the required envelope key(s): {', '.join(missing)}",
        )
    version = meta[_VERSION_KEY]
    if not isinstance(version, str):
        raise Refused(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version not in ENVELOPE_VERSIONS:
        raise _unsupported("Unsupported protocol version", version)
    return meta


def _client_in(meta: Mapping[str, Any]) -> str | None:
    """The name of the client in an envelope, which may leave it out."""
    client = meta.get(_CLIENT_KEY)
    name = _name_of(client)
    if not isinstance(meta[_CAPABILITIES_KEY], dict) or (client is not None and name is None):
        raise _invalid()
    return name


def _unsupported(message: str, asked: object) -> Refused:
    requested = {"requested": asked} if isinstance(asked, str) else {}
    data = {"supported": list(ENVELOPE_VERSIONS), **requested}
    return Refused(UNSUPPORTED_VERSION, message, data)
