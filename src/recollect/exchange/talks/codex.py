"""Rollouts of Codex.

Responsible for what was said in a line: who, when, which words. Leaves redaction and storing to
``assistants.capture``. Invariant: a message that Codex gave an id and a turn keeps its name here
in a copy of the talk; another one is named after the session and its place in it.

A line is ``{"timestamp", "type": "response_item", "payload"}``; in older files the payload alone.
The first line names the session. A payload is a message with ``role`` and ``content``, a call of a
tool, or its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from recollect.exchange.talks.transcript import (
    Entry,
    Message,
    Speaker,
    Transcript,
    digest,
    inside,
    objects,
)

_ROLES: Final[Mapping[object, Speaker]] = {"user": "user", "assistant": "assistant"}
_KINDS: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_TEXTS: Final = ("input_text", "output_text", "text")
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
# Messages that the program writes in a person's name, where nothing else tells it.
_NOTICES: Final = (
    "<user_instructions>",
    "<environment_context>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "<user_shell_command>",
)


def recognizes(entry: Entry) -> bool:
    """True for a line of a rollout."""
    if entry.get("type") in _KINDS and isinstance(entry.get("payload"), Mapping):
        return True
    is_old = entry.get("type") == "message" and any(
        block.get("type") in _TEXTS[:2] for block in objects(entry.get("content"))
    )
    return is_old or _is_old_head(entry)


class Codex(Transcript):
    """A session of Codex."""

    agent = "codex"
    before_id = "codex-"

    def __init__(self, *, tool_results: bool = False, strip: bool = True) -> None:
        super().__init__(tool_results=tool_results, strip=strip)
        self._tools: dict[str, str] = {}
        self._session: str | None = None
        self._is_helper = False  # a talk between the assistant and its helpers
        self._number = 0

    def said(self, entry: Entry) -> Iterator[Message]:
        """The message of a line, or the result of a tool."""
        self._read_head(entry)
        payload = inside(entry, "payload") if entry.get("type") == "response_item" else entry
        kind = payload.get("type")
        if self._is_helper or (payload is entry and kind not in ("message", *_CALLS, *_OUTPUTS)):
            return
        at = entry.get("timestamp")
        if kind in _CALLS:
            self._tools[str(payload.get("call_id"))] = _name_of(payload)
        elif kind in _OUTPUTS:
            yield self.message(
                self._id(payload, str(payload.get("call_id")), at), self.result_part, "tool",
                self._output(payload), at=at, session=self._session,
            )  # fmt: skip
        elif kind == "message":
            role = payload.get("role")
            blocks = objects(payload.get("content"))
            text = self.joined(one.get("text") for one in blocks if one.get("type") in _TEXTS)
            speaker = _ROLES.get(role) if isinstance(role, str) else None
            if text and speaker and not _is_notice(payload, text):
                id = self._id(payload, text, at)
                yield self.message(id, "", speaker, text, at=at, session=self._session)

    def _read_head(self, entry: Entry) -> None:
        if self._session is not None:  # a copy of the talk before has its head too
            return
        head = entry if _is_old_head(entry) else inside(entry, "payload")
        if head is entry or entry.get("type") == "session_meta":
            id, source = head.get("id"), head.get("source")
            self._session = id if isinstance(id, str) and id else None
            self._is_helper = isinstance(source, Mapping) and "subagent" in source

    def _id(self, payload: Entry, told: str, at: object) -> str:
        self._number += 1
        id = payload.get("id")
        turn = inside(payload, "internal_chat_message_metadata_passthrough").get("turn_id")
        if isinstance(id, str) and isinstance(turn, str):
            return digest(turn, id, told)
        if self._session is None:
            return digest(at, told)
        return f"{digest(self._session)}-{self._number}"

    def _output(self, payload: Entry) -> str:
        tool = self._tools.get(str(payload.get("call_id")), "unknown")
        output = payload.get("output")
        told = output if isinstance(output, Mapping) else {}
        failed = told.get("success") is False
        return self.result(tool, told.get("content", output), failed=failed)


def _is_old_head(entry: Entry) -> bool:
    return "instructions" in entry and "type" not in entry and isinstance(entry.get("id"), str)


def _name_of(call: Entry) -> str:
    """The name of a tool, with that of its server."""
    parts = [call.get("namespace"), call.get("name")]
    return "__".join(part for part in parts if isinstance(part, str)) or "shell"


def _is_notice(payload: Entry, text: str) -> bool:
    """True for what the program wrote in a person's name."""
    told = inside(payload, "internal_chat_message_metadata_passthrough")
    items = objects(told.get("content_item_metadata"))
    sources = [inside(item, "provenance").get("type") for item in items]
    if payload.get("role") == "user" and any(sources):
        return "user" not in sources
    return text.startswith(_NOTICES)
