"""Talks of opencode.

Responsible for what was said in a message: who, when, which words. Leaves its database to
``assistants.opencode_store``, which gives a message and its parts as one line. Invariant: a message
is named after its role, its words and the millisecond in which it was made, which a fork of the
talk keeps though it gives everything another id.

A part has ``type``: text, reasoning, file, tool and others. A text that the program added is
``synthetic`` or ``ignored``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
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
_ADDED: Final = ("synthetic", "ignored")
_LAST_MILLISECOND: Final = 253_402_300_799_999


class OpenCode(Transcript):
    """What was said in sessions of opencode."""

    agent = "opencode"
    before_id = "opencode-"

    def said(self, entry: Entry) -> Iterator[Message]:
        """The message of a line, and the results of tools in it."""
        message, session = inside(entry, "message"), entry.get("session")
        time, role = inside(message, "time"), message.get("role")
        speaker = _ROLES.get(role) if isinstance(role, str) else None
        is_growing = speaker == "assistant" and time.get("completed") is None
        if speaker is None or message.get("summary") is True or is_growing:
            return
        parts, at = objects(entry.get("parts")), _instant(time.get("created"))
        text = self.joined(
            part.get("text")
            for part in parts
            if part.get("type") == "text" and not any(part.get(mark) for mark in _ADDED)
        )
        for number, part in enumerate(parts):
            state = inside(part, "state")
            if part.get("type") == "tool" and state.get("status") in ("completed", "error"):
                failed = state.get("status") == "error"
                output = state.get("error" if failed else "output")
                told = self.result(str(part.get("tool")), output, failed=failed)
                id = digest("tool", time.get("created"), part.get("callID"), number)
                yield self.message(id, self.result_part, "tool", told, at=at, session=session)
        if text:
            id = digest(speaker, time.get("created"), text)
            yield self.message(id, "", speaker, text, at=at, session=session)


def _instant(milliseconds: object) -> object:
    """An instant as the other programs write it; something else stays as it is."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return milliseconds
    if not 0 <= milliseconds <= _LAST_MILLISECOND:
        return str(milliseconds)
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
