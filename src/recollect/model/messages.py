"""What was said, as programs hand it over: a text, or messages of several vendors.

Responsible for finding messages, their texts and their roles. Leaves storing them to ``lifecycle``.
Invariant: nothing is guessed; anything but a message is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from recollect.errors import InvalidInput
from recollect.model import validate
from recollect.model.events import ROLES, Role
from recollect.model.validate import Json

Message = Mapping[str, object]
Content = str | Message | Sequence[Message]

# Roles of OpenAI, Gemini, LangChain and others.
_OTHER_ROLES: Final[Mapping[str, Role]] = {
    "developer": "system",
    "function": "tool",
    "model": "assistant",
    "ai": "assistant",
    "human": "user",
}


def messages_of(content: Content, role: str) -> list[Message]:
    """A text as one message; messages as they are."""
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    if isinstance(content, Mapping):
        return [content]
    given = list(content) if isinstance(content, Iterable) else []
    messages = [message for message in given if isinstance(message, Mapping)]
    if not messages or len(messages) != len(given):
        raise InvalidInput("content must be a text or messages with 'role' and 'content'")
    return messages


def with_text(content: Content, role: str, id: str | None) -> list[tuple[Message, str]]:
    """The messages that say something, each with its text; ``id`` can name only one."""
    messages = messages_of(content, role)
    if id is not None and len(messages) > 1:
        raise InvalidInput("one id cannot name several messages", hint="give each message an 'id'")
    found = [(message, text_of(message.get("content"))) for message in messages]
    found = [(message, text) for message, text in found if text.strip()]
    if not found:
        raise InvalidInput("what was observed contains no text")
    return found


def text_of(content: object) -> str:
    """The text of a message: given as such, or in parts of which some may be no text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def role_of(value: object) -> Role:
    """A role; those of other vendors become the nearest one."""
    word = value.lower() if isinstance(value, str) else ""
    found = word if word in ROLES else _OTHER_ROLES.get(word)
    if found is None:
        raise InvalidInput(
            f"role must be one of {', '.join(ROLES)}, not {validate.shown(value)}",
            hint=f"also understood: {', '.join(_OTHER_ROLES)}",
        )
    return cast(Role, validate.plain(found, "role"))


def with_role(
    metadata: Mapping[str, Json] | None, given: object, role: Role
) -> Mapping[str, Json] | None:
    """Metadata that keeps the role as it was given, if it was another word."""
    if given == role:
        return metadata
    return {"role": validate.plain(cast(str, given), "role"), **(metadata or {})}
