"""The checkpoints of a ledger in memory.

Responsible for keeping them. Leaves what they say to ``recollect.proof``. Invariant: none.
"""

from __future__ import annotations

from recollect.errors import NotFound


class MemoryCheckpoints:
    """Notes in a dictionary."""

    keeps = True

    def __init__(self) -> None:
        self._notes: dict[int, bytes] = {}
        self._frontier: bytes | None = None

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        return sorted(self._notes)

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        if size not in self._notes:
            raise NotFound(f"no checkpoint was signed at {size} events")
        return self._notes[size]

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        self._notes[size] = note

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last."""
        return self._frontier

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self._frontier = data
