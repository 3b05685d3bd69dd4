"""Transcripts of Codex: JSON lines, one for each message or event of a session.

Responsible for extracting what was said. Leaves storing to ``memory.exchange.imports``.
Invariant: a message has the same id whenever its file is read; the program's own context, a model's
reasoning and the output of tools are left out.

A line is ``{"timestamp", "type": "response_item", "payload": {"type": "message", "role",
"content"}}``; in older files the payload alone. The first line names the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.given import Given
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
    objects_of,
)
from recollect.model.events import Role

FORMAT: Final = "codex"
_ROLES: Final[Mapping[object, Role]] = {"user": "user", "assistant": "assistant"}
_TEXTS: Final = ("input_text", "output_text", "text")
# Messages that the program writes in a person's name.
_NOTICES: Final = ("<user_instructions>", "<environment_context>", "# AGENTS.md instructions")


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    is_new = b'"session_meta"' in head or b'"response_item"' in head
    return name.endswith(".jsonl") and (is_new or b'"input_text"' in head)


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said in some sessions."""
    for source in sources:
        if not source.name.endswith(".jsonl"):
            continue
        session = name_of(source.name.rpartition("/")[2].removesuffix(".jsonl"))
        number = 0
        for found in objects_of(source):
            if isinstance(found, Trouble):
                yield found
                continue
            where, line = found
            session = _session(line) or session
            text, role = _said(line)
            if text and role:
                number += 1
                yield from Given(where, line).altered(moment="timestamp")
                yield EpisodeItem(
                    id=named(FORMAT, session, number),
                    text=text,
                    where=where,
                    role=role,
                    said_at=moment_of(line.get("timestamp")),
                    session=session,
                    agent="codex",
                )


def _session(line: Mapping[str, object]) -> str | None:
    payload = line.get("payload")
    if line.get("type") == "session_meta" and isinstance(payload, Mapping):
        return name_of(payload.get("id"))
    return name_of(line.get("id")) if "instructions" in line and "type" not in line else None


def _said(line: Mapping[str, object]) -> tuple[str, Role | None]:
    payload = line.get("payload") if line.get("type") == "response_item" else line
    if not isinstance(payload, Mapping) or payload.get("type") != "message":
        return "", None
    blocks = [one for one in listed(payload.get("content")) if isinstance(one, Mapping)]
    texts = [one.get("text") for one in blocks if one.get("type") in _TEXTS]
    text = spoken("\n".join(one for one in texts if isinstance(one, str)))
    role = payload.get("role")
    is_notice = text.startswith(_NOTICES)
    return ("", None) if is_notice or not isinstance(role, str) else (text, _ROLES.get(role))
