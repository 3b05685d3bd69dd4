"""Checkpoints of a memory, for its calls.

Responsible for finding the keys. Leaves them to ``store.checkpoints.key_ring``, and signing and
comparing to ``store.checkpoints.checkpoints``. Invariant: only calls that need it load this
module.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from recollect.errors import IntegrityError, NotInstalled
from recollect.ledger.line import BadLine
from recollect.memory.handle.handle import Handle
from recollect.memory.handle.unsigned import left_of, ring_for, signed_size
from recollect.model.counts import counted
from recollect.model.values import Checkpoint, Finding, Verification
from recollect.store.checkpoints import checkpoints
from recollect.store.checkpoints.key_ring import KeyRing
from recollect.store.port import Space
from recollect.store.seam import Seam


def checkpoint(handle: Handle) -> Checkpoint:
    """Signs a checkpoint, and asks the witnesses of the ledger to cosign it."""
    ring = ring_of(handle)
    if not ring.witnesses():
        return checkpoints.make(handle.space, ring)
    from recollect.store.witnesses import requests  # loaded only if there are any

    before = checkpoints.end_of_last(handle.space, ring)
    made = checkpoints.make(handle.space, ring)
    return requests.cosigned(handle.space, ring, made, before, handle.seam)


def checkpoint_if_possible(handle: Handle) -> Checkpoint | None:
    """Signs a checkpoint if there is a key, what it needs is installed and it can be kept."""
    if not handle.space.checkpoints().keeps:
        return None
    ring = ring_of(handle)
    try:
        return checkpoints.make(handle.space, ring) if ring.private() else None
    except NotInstalled:
        return None


def overdue(space: Space, seam: Seam) -> Finding | None:
    """What is said if the policy asks for a checkpoint that was not signed."""
    now = seam.now()
    if left_of(space, 0, now) is None:
        return None
    ring = ring_for(space, seam)
    left = left_of(space, signed_size(space, ring), now)
    if left is None or not left.is_due:
        return None
    return Finding(
        level="note",
        what="checkpoints",
        detail=f"overdue by the policy of this memory: {counted(left.unsigned, 'event')} "
        "not signed yet",
        fix="run `recollect proof checkpoint`"
        if ring.private()
        else "run `recollect proof checkpoint` where the key is, or create one here: "
        "`recollect proof key create`",
    )


def contradicted(handle: Handle) -> Finding | None:
    """What ``doctor`` says of a sound ledger that is not the one that was signed here."""
    try:
        require_last(handle)
    except IntegrityError as error:
        last = ring_for(handle.space, handle.seam).last_path
        return Finding(
            level="problem",
            what="checkpoints",
            detail=f"{error.message}. It was replaced with an older copy, such as a backup, or "
            "rewritten. Reading and writing work; nothing is signed, exported or backed up",
            fix="1. Find the ledger that was here before, or a newer backup, and put it back. "
            f"2. If there is none, go on with this one: move {last} away, and run "
            "`recollect admin doctor` again. Witnesses, and others who have a later checkpoint, "
            "will see that events are missing.",
        )
    return None


def require_last(handle: Handle) -> None:
    """Refuses a ledger that is smaller than the last checkpoint known here, or contradicts it."""
    try:
        if handle.space.existing_head().seq == 0:
            return
        handle.space.head()  # an index that lags is made good first
        ring = ring_for(handle.space, handle.seam)
    except BadLine:
        return  # the call itself says what is wrong
    checkpoints.require_last(handle.space, ring)


class Signed:
    """The checkpoints that a ledger is compared with."""

    def __init__(
        self, ring: KeyRing, found: list[checkpoints.Known], problems: Sequence[str] = ()
    ) -> None:
        self._ring = ring
        self._found = found
        self._problems = problems
        self._comparison = checkpoints.Comparison(found)
        self.take = self._comparison.take

    @classmethod
    def of(cls, space: Space, seam: Seam, folder: Path, note: bytes | None) -> Signed | None:
        """Those that are known for a space; None if there are none."""
        try:
            ring = checkpoints.ring_of(space, folder, seam)
        except BadLine:
            return None  # the check of the lines says what is wrong with the first
        found, problems = checkpoints.known(space, ring, note), list[str]()
        if ring.witnesses():
            from recollect.store.witnesses import requests  # loaded only if there are any

            seen, problems = requests.seen(space, ring, seam)
            found += seen
        return cls(ring, found, problems) if found or problems else None

    def result(self, check: Verification) -> Verification:
        """What the ledger is, compared with them; the newest is then known here."""
        compared = self._comparison.result(check)
        if compared.ok:
            checkpoints.remember(self._ring, self._found)
        if compared.ok and self._problems:
            told = [*([compared.problem] if compared.problem else []), *self._problems]
            return structs.replace(compared, problem="; ".join(told))
        return compared


def ring_of(handle: Handle) -> KeyRing:
    """The keys for a memory's ledger."""
    handle.space.head()  # writes the first event if there is none, or repairs what a crash left
    return ring_for(handle.space, handle.seam)
