"""Conversations of ChatGPT and Claude, from the archives that both services send.

Responsible for what was said, by whom and when. Leaves storing to ``memory.exchange.imports``.
Invariants: each message is one episode in the session of its conversation; in a conversation that
was edited only the branch that is shown last is read; what is left out is counted.

``conversations.json``, or ``conversations-000.json`` and so on, is one array. ChatGPT: ``id``,
``title``, ``current_node`` and ``mapping``, a tree of nodes with ``parent`` and ``message``.
Claude: ``uuid``, ``name`` and ``chat_messages``, each with ``sender``, ``text`` and ``created_at``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.given import Given
from recollect.exchange.injected import spoken
from recollect.exchange.items import (
    EpisodeItem,
    Found,
    LeftOut,
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
_FILE: Final = re.compile(r"conversations(?:-\d{1,6})?\.json")
_HIDDEN: Final = "is_visually_hidden_from_conversation"
_ROLES: Final[Mapping[object, Role]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_KIND: Final = re.compile(r"[a-z_]{1,40}")
_SAID: Final = ("text", "multimodal_text")
_NONE: Final = "a conversation without messages"


def conversations(
    sources: Sequence[Source],
) -> Iterator[tuple[str, Mapping[str, object]] | Trouble]:
    """The conversations of an archive, each with where it stands."""
    chosen = [one for one in sources if _FILE.fullmatch(one.name.rpartition("/")[2])]
    for source in chosen or [one for one in sources if one.name.endswith(".json")]:
        number = 0
        try:
            for key, element in elements(source.chunks()):
                number += 1
                where = f"{source.name}, conversation {number}"
                if isinstance(element, Mapping):
                    yield where, element
                elif key is None:
                    yield Trouble(where=where, why=_NONE)
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
            yield Trouble(where=where, why=_NONE)
            continue
        yield from Given(where, given).altered("id", "conversation_id", "title")
        session = given.get("id") or given.get("conversation_id") or given.get("title")
        nodes = list(_shown(mapping, given.get("current_node")))
        hidden = sum(_message(node) is not None for node in mapping.values())
        hidden -= sum(_message(node) is not None for node in nodes)
        if hidden > 0:
            yield LeftOut(what="messages of branches that are not shown", count=hidden)
        last = moment_of(given.get("create_time"))
        for node in nodes:
            message = _message(node)
            if message is not None:
                yield from Given(where, message).altered(moment="create_time")
                last = moment_of(message.get("create_time")) or last  # of the one before it
                about = name_of(session), last, _titled(given.get("title"))
                yield from _of_chatgpt(where, message, *about)


def _message(node: object) -> Mapping[str, object] | None:
    message = node.get("message") if isinstance(node, Mapping) else None
    return message if isinstance(message, Mapping) else None


def _shown(mapping: Mapping[str, object], last: object) -> Iterator[Mapping[str, object]]:
    """The nodes from the first to the one that is shown last; all of them if none is named."""
    if not isinstance(last, str) or last not in mapping:
        yield from (node for node in mapping.values() if isinstance(node, Mapping))
        return
    branch: dict[str, Mapping[str, object]] = {}
    while isinstance(last, str) and last not in branch:
        node = mapping.get(last)
        if not isinstance(node, Mapping):
            break
        branch[last] = node
        last = node.get("parent")
    yield from reversed(branch.values())


def _of_chatgpt(
    where: str,
    message: Mapping[str, object],
    session: str | None,
    said_at: str | None,
    metadata: dict[str, Json],
) -> Iterator[Found]:
    why = _unsaid(message)
    if why is not None:
        yield LeftOut(what=why)
        return
    parts = list(_parts_of(message))
    others = sum(not isinstance(part, str) for part in parts)
    if others:
        yield LeftOut(what="images and files", count=others)
    text, author = _joined(parts), message["author"]
    if text and isinstance(author, Mapping):
        yield EpisodeItem(
            id=named(CHATGPT, message.get("id") or text),
            text=text,
            where=where,
            role=_ROLES[author.get("role")],
            said_at=said_at,
            session=session,
            metadata=metadata,
        )
    elif not others:
        yield LeftOut(what="messages without a text")


def _unsaid(message: Mapping[str, object]) -> str | None:
    """What a message is that nobody said to anybody; None if somebody did."""
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, Mapping) else None
    if role == "system":
        return "messages of the system"
    if not isinstance(role, str) or role not in _ROLES or not isinstance(content, Mapping):
        return "messages without an author or a content"
    metadata = message.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get(_HIDDEN) is True:
        return "messages that ChatGPT does not show"
    kind = content.get("content_type")
    if kind not in _SAID:
        is_name = isinstance(kind, str) and _KIND.fullmatch(kind)
        return f"messages of the type {kind if is_name else 'unknown'}"
    return None


def _parts_of(message: Mapping[str, object]) -> Iterator[object]:
    """The parts of a message; what was spoken as its words."""
    content = message.get("content")
    for part in listed(content.get("parts")) if isinstance(content, Mapping) else ():
        if isinstance(part, Mapping) and part.get("content_type") == "audio_transcription":
            yield part.get("text")
        elif part is not None:
            yield part


def read_claude(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said to Claude and by it."""
    for found in conversations(sources):
        if isinstance(found, Trouble):
            yield found
            continue
        where, given = found
        messages = given.get("chat_messages")
        if not isinstance(messages, list):
            yield Trouble(where=where, why=_NONE)
            continue
        yield from Given(where, given).altered("uuid", "name")
        session = name_of(given.get("uuid")) or name_of(given.get("name"))
        last = moment_of(given.get("created_at"))
        for message in messages:
            if isinstance(message, Mapping):
                yield from Given(where, message).altered(moment="created_at")
                last = moment_of(message.get("created_at")) or last  # of the one before it
                yield from _of_claude(where, message, session, last, _titled(given.get("name")))


def _of_claude(
    where: str,
    message: Mapping[str, object],
    session: str | None,
    said_at: str | None,
    metadata: dict[str, Json],
) -> Iterator[Found]:
    sender = message.get("sender")
    role = _ROLES.get(sender) if isinstance(sender, str) else None
    blocks = [one for one in listed(message.get("content")) if isinstance(one, Mapping)]
    text = _joined([one.get("text") for one in blocks if one.get("type") == "text"])
    text = text or _joined([message.get("text")])
    files = [*listed(message.get("attachments")), *listed(message.get("files"))]
    if files:
        yield LeftOut(what="images and files", count=len(files))
    if role is None or not text:
        yield LeftOut(what="messages without an author or a text")
        return
    yield EpisodeItem(
        id=named(CLAUDE, message.get("uuid") or text),
        text=text,
        where=where,
        role=role,
        said_at=said_at,
        session=session,
        metadata=metadata,
    )


def _joined(parts: object) -> str:
    texts = [spoken(part) for part in listed(parts) if isinstance(part, str)]
    return "\n".join(text for text in texts if text)


def _titled(title: object) -> dict[str, Json]:
    name = name_of(title)
    return {} if name is None else {"title": name}
