"""Conversations of ChatGPT and Claude, from the archives that both services send.

Responsible for what was said, by whom and when. Leaves storing to ``memory.importing``. Invariants:
each message is one episode in the session of its conversation; in a conversation that was edited
only the branch that is shown last is read; what a program noted for itself is left out.

``conversations.json`` is one array. ChatGPT: ``id``, ``title``, ``current_node`` and ``mapping``, a
tree of nodes with ``parent`` and ``message``. Claude: ``uuid``, ``name`` and ``chat_messages``,
each with ``sender``, ``text`` and ``created_at``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.injected import spoken
from recollect.exchange.items import (
    EpisodeItem,
    Found,
    Source,
    Trouble,
    listed,
    moment_of,
    name_of,
    named,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.model.events import Role
from recollect.model.validate import Json

CHATGPT: Final = "chatgpt"
CLAUDE: Final = "claude"
_FILE: Final = "conversations.json"
_NODES_MAX_COUNT: Final = 100_000
_ROLES: Final[Mapping[object, Role]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_SAID: Final = ("text", "multimodal_text")


def conversations(
    sources: Sequence[Source],
) -> Iterator[tuple[str, Mapping[str, object]] | Trouble]:
    """The conversations of an archive, each with where it stands."""
    chosen = [one for one in sources if one.name.rpartition("/")[2] == _FILE]
    for source in chosen or [one for one in sources if one.name.endswith(".json")]:
        number = 0
        try:
            for _, element in elements(source.chunks()):
                number += 1
                if isinstance(element, Mapping):
                    yield f"{source.name}, conversation {number}", element
        except BrokenJsonError as error:
            yield Trouble(where=source.name, why=str(error))


def read_chatgpt(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said to ChatGPT and by it."""
    for found in conversations(sources):
        if isinstance(found, Trouble):
            yield found
            continue
        where, given = found
        mapping = given.get("mapping")
        if not isinstance(mapping, Mapping):
            yield Trouble(where=where, why="a conversation without messages")
            continue
        id = given.get("id") or given.get("conversation_id") or given.get("title")
        for node in _shown(mapping, given.get("current_node")):
            message = node.get("message")
            if isinstance(message, Mapping):
                yield from _of_chatgpt(where, str(id), given, message)


def _shown(mapping: Mapping[str, object], last: object) -> Iterator[Mapping[str, object]]:
    """The nodes from the first to the one that is shown last; all of them if none is named."""
    if not isinstance(last, str) or last not in mapping:
        yield from (node for node in mapping.values() if isinstance(node, Mapping))
        return
    branch: dict[str, Mapping[str, object]] = {}
    while isinstance(last, str) and last not in branch and len(branch) < _NODES_MAX_COUNT:
        node = mapping.get(last)
        if not isinstance(node, Mapping):
            break
        branch[last] = node
        last = node.get("parent")
    yield from reversed(branch.values())


def _of_chatgpt(
    where: str, session: str, given: Mapping[str, object], message: Mapping[str, object]
) -> Iterator[Found]:
    author, content = message.get("author"), message.get("content")
    role = _ROLES.get(author.get("role")) if isinstance(author, Mapping) else None
    if role is None or not isinstance(content, Mapping) or content.get("content_type") not in _SAID:
        return
    text = _joined(content.get("parts"))
    if text:
        yield EpisodeItem(
            id=named(CHATGPT, message.get("id") or text),
            text=text,
            where=where,
            role=role,
            said_at=moment_of(message.get("create_time")) or moment_of(given.get("create_time")),
            session=name_of(session),
            metadata=_titled(given.get("title")),
        )


def read_claude(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said to Claude and by it."""
    for found in conversations(sources):
        if isinstance(found, Trouble):
            yield found
            continue
        where, given = found
        messages = given.get("chat_messages")
        if not isinstance(messages, list):
            yield Trouble(where=where, why="a conversation without messages")
            continue
        session = name_of(given.get("uuid")) or name_of(given.get("name"))
        for message in messages:
            if isinstance(message, Mapping):
                yield from _of_claude(where, session, given, message)


def _of_claude(
    where: str, session: str | None, given: Mapping[str, object], message: Mapping[str, object]
) -> Iterator[Found]:
    role = _ROLES.get(message.get("sender"))
    blocks = [one for one in listed(message.get("content")) if isinstance(one, Mapping)]
    text = _joined([one.get("text") for one in blocks if one.get("type") == "text"])
    text = text or _joined([message.get("text")])
    if role is not None and text:
        yield EpisodeItem(
            id=named(CLAUDE, message.get("uuid") or text),
            text=text,
            where=where,
            role=role,
            said_at=moment_of(message.get("created_at")) or moment_of(given.get("created_at")),
            session=session,
            metadata=_titled(given.get("name")),
        )


def _joined(parts: object) -> str:
    texts = [spoken(part) for part in listed(parts) if isinstance(part, str)]
    return "\n".join(text for text in texts if text)


def _titled(title: object) -> dict[str, Json]:
    name = name_of(title)
    return {} if name is None else {"title": name}
