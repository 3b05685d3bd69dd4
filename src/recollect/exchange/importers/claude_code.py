"""Transcripts of Claude Code, as items.

Responsible for the files of a folder of sessions. Leaves the lines to
``exchange.talks.claude_code``. Invariant: a message has the id that capturing the session gives
it, so that it is stored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.exchange.importers.sessions import items
from recollect.exchange.items import Found, Source
from recollect.exchange.talks.claude_code import ClaudeCode


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    return name.endswith(".jsonl") and b'"sessionId"' in head and b'"uuid"' in head


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said in some sessions."""
    return items(sources, ClaudeCode)
