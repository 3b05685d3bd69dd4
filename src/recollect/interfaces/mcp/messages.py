"""Messages of JSON-RPC 2.0, one on each line.

Responsible for what counts as a message, and for writing an answer. Leaves what it means to
``protocol``. Invariants: a line of any content is a message, an answer that nobody waits for, or
refused; what is read can be stored and written again; only the standard library is loaded.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

Id = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

_NO_MESSAGE: Final = "this is not a message of JSON-RPC 2.0"
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Refused(Exception):
    """A message that is answered with an error."""

    def __init__(self, code: int, message: str, data: object = None, *, id: Id | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id

    def to_dict(self) -> dict[str, object]:
        """The error as the protocol writes it."""
        told: dict[str, object] = {"code": self.code, "message": self.message}
        return told if self.data is None else {**told, "data": self.data}


class Message(NamedTuple):
    """A request, or a notification, which has no id and is never answered."""

    id: Id | None
    method: str
    params: dict[str, Any]


def read(line: bytes) -> Message | None:
    """A line as a message; None for an answer. Raises Refused for anything else."""
    told = _parsed(line)
    if "method" not in told and ("result" in told or "error" in told):
        return None
    method, params = told.get("method"), told.get("params")
    if "id" not in told:
        id = None
    elif _is_id(told["id"]):
        id = told["id"]
    else:
        raise Refused(INVALID_REQUEST, "`id` must be a string or an integer")
    if told.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise Refused(INVALID_REQUEST, _NO_MESSAGE, id=id)
    if params is not None and not isinstance(params, dict):
        raise Refused(INVALID_REQUEST, "`params` must be an object", id=id)
    return Message(id, method, params or {})


def written(id: Id | None, **answer: object) -> bytes:
    """An answer as a line."""
    told = {"jsonrpc": "2.0", "id": id, **answer}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line.decode(), parse_constant=_refuse)
        if _SURROGATE.search(line):  # perhaps half a character, which cannot be stored
            json.dumps(told, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Refused(PARSE_ERROR, "the line is not JSON in UTF-8") from error
    if isinstance(told, list):
        raise Refused(INVALID_REQUEST, "batches are not supported; send one message on each line")
    if not isinstance(told, dict):
        raise Refused(INVALID_REQUEST, _NO_MESSAGE)
    return told


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
