"""Chats of Gemini CLI.

Responsible for what was said in a line: who, when, which words. Leaves redaction and storing to
``assistants.capture``. Invariants: a message keeps its id, also if a line repeats it; what the
program sets as a whole (``$set``) is not read, because it holds the messages again, or a summary of
them in a person's name.

The first line has ``sessionId`` and ``projectHash``. A message has ``id``, ``timestamp``, ``type``,
``content``: a text, or parts with a text, and ``toolCalls``. It is written again when its tools
have run. ``displayContent`` is what the person typed, where the program added to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from recollect.exchange.talks.transcript import (
    Entry,
    Message,
    Speaker,
    Transcript,
    inside,
    objects,
)

_ROLES: Final[Mapping[object, Speaker]] = {"user": "user", "gemini": "assistant"}
# Messages that the program writes in a person's name.
_NOTICES: Final = ("<session_context>", "<state_snapshot>")


def recognizes(entry: Entry) -> bool:
    """True for a line of a chat."""
    return isinstance(entry.get("projectHash"), str) or entry.get("type") == "gemini"


class GeminiCli(Transcript):
    """A session of Gemini CLI."""

    agent = "gemini-cli"
    before_id = "gemini-"

    def __init__(self, *, tool_results: bool = False, strip: bool = True) -> None:
        super().__init__(tool_results=tool_results, strip=strip)
        self._session: object = None
        self._is_helper = False  # a talk between the assistant and its helpers
        self._done: set[str] = set()

    def said(self, entry: Entry) -> Iterator[Message]:
        """The message of a line, and the results of tools in it."""
        if "projectHash" in entry:
            self._session = entry.get("sessionId")
            self._is_helper = entry.get("kind") == "subagent"
        id, type, at = entry.get("id"), entry.get("type"), entry.get("timestamp")
        role = _ROLES.get(type) if isinstance(type, str) else None
        if self._is_helper or role is None or not isinstance(id, str):
            return
        text = self.joined(_texts(entry.get("displayContent") or entry.get("content")))
        if text and not (role == "user" and text.startswith(_NOTICES)):
            yield from self._once(self.message(id, "", role, text, at=at, session=self._session))
        for number, call in enumerate(objects(entry.get("toolCalls"))):
            if call.get("status") in ("success", "error"):
                part, output = f"{self.result_part}{number}", self._output(call)
                yield from self._once(
                    self.message(id, part, "tool", output, at=at, session=self._session)
                )

    def _once(self, message: Message) -> Iterator[Message]:
        if message.id not in self._done:
            self._done.add(message.id)
            yield message

    def _output(self, call: Entry) -> str:
        outputs = [
            inside(part, "functionResponse", "response").get("output")
            for part in objects(call.get("result"))
        ]
        output = "\n".join(one for one in outputs if isinstance(one, str))
        return self.result(str(call.get("name")), output, failed=call.get("status") == "error")


def _texts(content: object) -> list[object]:
    if isinstance(content, str):
        return [content]
    return [one.get("text") for one in objects(content) if not one.get("thought")]
