"""The archive of conversations that Claude sends.

Responsible for recognizing it. Leaves reading it to ``exchange.importers.conversations``.
"""

from __future__ import annotations

from recollect.exchange.importers.conversations import read_claude as read

__all__ = ["read", "recognizes"]


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    return b'"chat_messages"' in head and b'"sender"' in head
