"""Checkpoints of a memory, for its calls.

Responsible for finding the keys. Leaves them to ``store.key_ring``, and signing and comparing to
``store.checkpointing``. Invariant: only calls that need it load this module.
"""

from __future__ import annotations

from pathlib import Path

from recollect.config import keys_folder
from recollect.errors import NotInstalled
from recollect.ledger.line import BadLine
from recollect.memory.handle import Handle
from recollect.model.values import Checkpoint, Verification
from recollect.store import checkpointing
from recollect.store.key_ring import KeyRing
from recollect.store.port import Space
from recollect.store.seam import Seam


def checkpoint(handle: Handle) -> Checkpoint:
    """Signs a checkpoint."""
    return checkpointing.make(handle.space, ring_of(handle))


def checkpoint_if_possible(handle: Handle) -> Checkpoint | None:
    """Signs a checkpoint if there is a key and what it needs is installed."""
    ring = ring_of(handle)
    try:
        return checkpointing.make(handle.space, ring) if ring.private() else None
    except NotInstalled:
        return None


class Signed:
    """The checkpoints that a ledger is compared with."""

    def __init__(self, ring: KeyRing, found: list[checkpointing.Known]) -> None:
        self._ring = ring
        self._found = found
        self._comparison = checkpointing.Comparison(found)
        self.take = self._comparison.take

    @classmethod
    def of(cls, space: Space, seam: Seam, folder: Path, note: bytes | None) -> Signed | None:
        """Those that are known for a space; None if there are none."""
        try:
            ring = checkpointing.ring_of(space, folder, seam)
        except BadLine:
            return None  # the check of the lines says what is wrong with the first
        found = checkpointing.known(space, ring, note)
        return cls(ring, found) if found else None

    def result(self, check: Verification) -> Verification:
        """What the ledger is, compared with them; the newest is then known here."""
        compared = self._comparison.result(check)
        if compared.ok:
            checkpointing.remember(self._ring, self._found)
        return compared


def ring_of(handle: Handle) -> KeyRing:
    """The keys for a memory's ledger."""
    handle.space.head()  # writes the first event if there is none, or repairs what a crash left
    return checkpointing.ring_of(handle.space, keys_folder(), handle.seam)
