"""What a call does to the memories, and its answer as the protocol writes it.

Responsible for the calls of tools, the reading of resources and the prompt, over stdio and over
HTTP alike. Leaves what a tool does to ``tools`` and the messages around an answer to ``protocol``
and ``server``. Invariant: every failure becomes an answer with a code, and none quotes what it was
not told to.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from recollect.assistants.mounts import Mounts
from recollect.errors import NotFound, RecollectError
from recollect.interfaces.mcp import resources
from recollect.interfaces.mcp.entities import ENTITIES
from recollect.interfaces.mcp.events import EVENTS
from recollect.interfaces.mcp.lists import DISTILL, Result
from recollect.interfaces.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, Refused
from recollect.interfaces.mcp.protocol import NO_RESOURCE, Call
from recollect.interfaces.mcp.reviewing import REVIEWING
from recollect.interfaces.mcp.tools import DAILY, EXPLAINING, MORE, Tool
from recollect.model.visible import shown

TOOLS: Final = {"daily": DAILY, "all": (*EXPLAINING, *MORE, *REVIEWING, *ENTITIES, EVENTS)}
Offered = Mapping[str, Tool]
Opened = Callable[[], Mounts]  # it may fail as the call itself may

# A pattern is compiled when a question first has such words. The last one shows what is newest.
_FIRST_QUESTIONS: Final = (
    "Who is the one that knows Anna's port or Ben's?",
    "Please show which of them it was before, or in May.",
    "What did I ask you over time in our last session?",
    "",
)
_NEWEST_MAX_CHARS: Final = 200


def offered(tools: str) -> Offered:
    """The tools of a set by their names."""
    return {tool.name: tool for tool in TOOLS[tools]}


def listed(tool: Tool) -> Result:
    """A tool as it is listed; hints that equal the protocol's default are left out."""
    hints = {
        "destructiveHint": None if tool.reads or tool.destroys else False,
        "idempotentHint": tool.repeatable or None,
        "readOnlyHint": tool.reads or None,
    }
    return {
        "annotations": {name: value for name, value in hints.items() if value is not None},
        "description": tool.about,
        "inputSchema": dict(sorted(tool.input_schema.items())),
        "name": tool.name,
        "outputSchema": dict(sorted(tool.output_schema.items())),
    }


def answer(mounts: Opened, tools: Offered, call: Call) -> Result:
    """The result of a call; raises Refused."""
    params = call.params
    if call.method == "tools/call":
        return use(mounts, tools, params["name"], params.get("arguments"))
    if call.method == "resources/read":
        return read(mounts, params["uri"])
    return prompt(mounts, params["name"], params.get("arguments"))


def use(mounts: Opened, tools: Offered, name: str, given: Mapping[str, object] | None) -> Result:
    """Calls a tool. A tool that fails has an answer, too, which a model can read."""
    tool = tools.get(name)
    if tool is None:
        raise Refused(INVALID_PARAMS, f"unknown tool {name!r}")
    try:
        made = tool.call(mounts(), given)
        return {
            "content": [_text(shown(made.short()))],
            "isError": False,
            "structuredContent": _visible(msgspec.to_builtins(made)),
        }
    except RecollectError as error:
        return _failed(error.to_dict())
    except Exception as error:  # noqa: BLE001 - the caller gets an answer and the server keeps running
        return _failed(_unexpected(error))


def read(mounts: Opened, uri: str) -> Result:
    """Reads a resource."""
    text = _or_refused(lambda: resources.read(mounts(), uri))
    return {"contents": [{"mimeType": "application/json", "text": text, "uri": uri}]}


def prompt(mounts: Opened, name: str, given: Mapping[str, str] | None) -> Result:
    """Writes the prompt."""
    if name != DISTILL:
        raise Refused(INVALID_PARAMS, f"unknown prompt {name!r}")
    text = _or_refused(lambda: resources.distill(mounts(), given or {}))
    return {"messages": [{"content": _text(text), "role": "user"}]}


def _or_refused(work: Callable[[], str]) -> str:
    """For calls that the protocol can only answer with an error."""
    try:
        return work()
    except NotFound as error:
        raise Refused(NO_RESOURCE, str(error), error.to_dict()) from error
    except RecollectError as error:
        raise Refused(INVALID_PARAMS, str(error), error.to_dict()) from error
    except Exception as error:
        told = _unexpected(error)
        raise Refused(INTERNAL_ERROR, str(told["message"]), told) from error


def _text(text: str) -> Result:
    return {"text": text, "type": "text"}


def _visible(value: Any) -> Any:
    """The same without invisible characters, also in names: those of a service may be anything."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {name: _visible(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(each) for each in value]
    return value


def _failed(error: Mapping[str, str | None]) -> Result:
    """An error that a model can read and act on."""
    hint = f" ({error['hint']})" if error["hint"] else ""
    return {
        "content": [_text(shown(f"{error['code']}: {error['message']}{hint}"))],
        "isError": True,
        "structuredContent": _visible({"error": error}),
    }


def _unexpected(error: Exception) -> dict[str, str | None]:
    """An internal error; its text may hold anything, so only its class is named."""
    return {
        "code": "unexpected",
        "message": f"internal error: {type(error).__name__}",
        "hint": "run `recollect admin doctor` to check the files, and please report this",
    }


class Answers:
    """The answers to one client's calls: the mounts are opened for the first and then kept."""

    def __init__(self, opening: Opened, tools: str) -> None:
        self._opening = opening
        self._offered = offered(tools)
        self._lock = threading.Lock()
        self._mounts: Mounts | None = None

    def to(self, call: Call) -> Result:
        """The result of a call; raises Refused."""
        return answer(lambda: self._opened(call.client), self._offered, call)

    def prepare(self) -> None:
        """Does what the first question would wait for. It only reads."""
        try:
            mounts = self._opened(None)
        except RecollectError as error:  # each call will be told
            sys.stderr.write(f"{error}\n")
            return
        with suppress(Exception):  # the client's own question will say so
            newest = [one.text for _, memory in mounts.readers() for one in memory.list(limit=1)]
            for question in (*_FIRST_QUESTIONS, *(text[:_NEWEST_MAX_CHARS] for text in newest)):
                given = {"name": "recall", "arguments": {"query": question}}
                self.to(Call("tools/call", given, None))

    def close(self) -> None:
        """Closes what was opened."""
        with self._lock:
            if self._mounts is not None:
                self._mounts.close()

    def _opened(self, client: str | None) -> Mounts:
        """The mounts, under the name that the client gave itself."""
        with self._lock:
            self._mounts = self._mounts or self._opening()
            return self._mounts if client is None else self._mounts.of_agent(client)
