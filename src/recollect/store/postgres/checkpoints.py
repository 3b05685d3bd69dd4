"""Checkpoints of a ledger on PostgreSQL: not kept there yet.

Responsible for saying so. Invariant: nothing is taken for a checkpoint.
"""

from __future__ import annotations

from recollect.errors import Unsupported


class NoCheckpoints:
    """No notes; asking for one says what to do instead."""

    keeps = False

    def sizes(self) -> list[int]:
        """None."""
        return []

    def note(self, size: int) -> bytes:
        """Refused."""
        raise _unsupported()

    def keep(self, size: int, note: bytes) -> None:
        """Refused."""
        raise _unsupported()

    def frontier(self) -> bytes | None:
        """None."""
        return None

    def keep_frontier(self, data: bytes) -> None:
        """Refused."""
        raise _unsupported()


def _unsupported() -> Unsupported:
    return Unsupported(
        "checkpoints of a memory on PostgreSQL are not supported yet",
        hint="pull it into a folder, and sign there",
    )
