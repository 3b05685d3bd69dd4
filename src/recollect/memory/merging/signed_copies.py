"""How much of another copy of a ledger a key known here has signed.

Responsible for finding the checkpoints beside that copy and for comparing them with its events.
Leaves keys to ``store.checkpoints.key_ring``. Invariant: a note that no known key signed counts for
nothing, and one that a known key signed and the events contradict stops everything.
"""

from __future__ import annotations

from contextlib import suppress

from recollect.errors import IntegrityError, NotInstalled
from recollect.ledger.tree import Roots
from recollect.memory.handle.due import has_keys
from recollect.store.port import Copyable
from recollect.store.seam import Seam


class Signatures:
    """The roots that known keys signed; give it all hashes in order."""

    def __init__(self, signed: dict[int, bytes]) -> None:
        self._signed = signed
        self._roots = Roots(signed)
        self.take = self._roots.take
        self.through = 0

    @classmethod
    def of(cls, space: Copyable, seam: Seam) -> Signatures:
        """Those beside a ledger."""
        if not has_keys():
            return cls({})
        try:
            return cls(_signed(space, seam))
        except NotInstalled:
            return cls({})

    def check(self) -> None:
        """Compares them with the events; what the largest covers was signed."""
        for size, root in self._signed.items():
            reached = self._roots.at.get(size)
            if reached is None or reached.root != root:
                raise IntegrityError(
                    f"the other ledger is not the one that a checkpoint of {size:,} signed",
                    hint="merge from a copy that `recollect admin verify` finds sound",
                )
        self.through = max(self._signed, default=0)


def _signed(space: Copyable, seam: Seam) -> dict[int, bytes]:
    from recollect.memory.handle.unsigned import ring_for
    from recollect.proof.notes import BadNote
    from recollect.store.checkpoints.checkpoints import Reader

    reader = Reader(ring_for(space, seam))  # type: ignore[arg-type]
    beside, found = space.checkpoints(), dict[int, bytes]()
    for size in beside.sizes() if reader.keys else ():
        with suppress(BadNote):
            known = reader.read(beside.note(size), "beside").checkpoint
            found[known.size] = known.root
    return found
