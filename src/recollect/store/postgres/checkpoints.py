"""Checkpoints of a ledger on PostgreSQL, in a table of its database.

Responsible for the same contract as the files. Leaves what a note says to ``recollect.proof``.
Invariant: no note is kept for a space that was dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from recollect.errors import NotFound
from recollect.store.postgres.pool import Pool

_FRONTIER: Final = 0  # the size under which the frontier is kept; no note is of no events


class PostgresCheckpoints:
    """The notes of one space."""

    keeps = True

    def __init__(self, pool: Pool, place: Callable[[], int]) -> None:
        self._pool = pool
        self._place = place

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        found = self._pool.ask("checkpoint_sizes", {"space": self._place()})
        return [cast(int, size) for (size,) in found]

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        found = self._get(size) if size > 0 else None
        if found is None:
            raise NotFound(f"no checkpoint was signed at {size} events")
        return found

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        if size <= 0:
            raise ValueError(f"a checkpoint of {size} events")
        if not self._keep(size, note):
            raise NotFound("the space was dropped", hint="open it again")

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last."""
        return self._get(_FRONTIER)

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self._keep(_FRONTIER, data)

    def _get(self, size: int) -> bytes | None:
        found = self._pool.ask("get_checkpoint", {"space": self._place(), "size": size})
        return bytes(cast(bytes, found[0][0])) if found else None

    def _keep(self, size: int, note: bytes) -> bool:
        asked = {"space": self._place(), "size": size, "note": note}
        return bool(self._pool.ask("keep_checkpoint", asked))
