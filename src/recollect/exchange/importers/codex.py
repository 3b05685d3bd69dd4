"""Rollouts of Codex, as items.

Responsible for the files of a folder of sessions. Leaves the lines to ``exchange.talks.codex``.
Invariant: a message has the id that capturing the session gives it, so that it is stored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.exchange.importers.sessions import items
from recollect.exchange.items import Found, Source
from recollect.exchange.talks.codex import Codex


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    is_new = b'"session_meta"' in head or b'"response_item"' in head
    return name.endswith(".jsonl") and (is_new or b'"input_text"' in head)


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """What was said in some sessions."""
    return items(sources, Codex)
