"""What the policy of a space leaves unsigned, and signing it when it is due.

Responsible for reading the policy and for what it leaves. Leaves when to look to
``memory.handle.due`` and signing to ``store.checkpoints.checkpoints``. Invariant: what counts as
signed is known by its signature.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from recollect.config import keys_folder
from recollect.errors import NotInstalled
from recollect.index.rows import unpack_object
from recollect.model.instants import to_microseconds
from recollect.model.policy import CHECKPOINTS, TYPE, Signing, signing_from
from recollect.store.checkpoints import checkpoints
from recollect.store.checkpoints.key_ring import KeyRing
from recollect.store.port import Space
from recollect.store.seam import Seam


class Left(NamedTuple):
    """What a policy leaves before the next checkpoint; nothing of one of them: it is due."""

    policy: Signing
    unsigned: int  # events after the last checkpoint
    events: float
    seconds: float

    @property
    def is_due(self) -> bool:
        """True if a checkpoint is to be signed."""
        return self.unsigned > 0 and (self.events <= 0 or self.seconds <= 0)


def sign_if_due(space: Space, ring: KeyRing, seam: Seam) -> Left | None:
    """Signs what the policy of a space asks for, if it can be signed here; says what is left."""
    if not ring.private() or not space.checkpoints().keeps:
        return None
    signed = checkpoints.last_known(space, ring)
    left = left_of(space, 0 if signed is None else signed.checkpoint.size, seam.now())
    if left is None or not left.is_due:
        return left
    size = checkpoints.make(space, ring).size
    return left_of(space, size, seam.now())


def left_of(space: Space, signed: int, now: str) -> Left | None:
    """What the policy leaves after a checkpoint of so many events; None without a policy."""
    with space.reading() as reads:
        row, position = reads.document(TYPE, CHECKPOINTS), reads.position()
        if row is None or position is None:
            return None
        oldest = reads.command_of(signed + 1) or reads.command_at(signed + 1)
    try:
        policy = signing_from(unpack_object(row.data))
    except msgspec.ValidationError:  # written by a later release
        return None
    unsigned = max(position.seq - signed, 0)
    age_us = 0
    if unsigned and oldest is not None:
        age_us = to_microseconds(now) - to_microseconds(oldest.at)
    seconds = policy.seconds_left(age_us / 1_000_000)
    return Left(policy, unsigned, policy.events_left(unsigned), seconds)


def signed_size(space: Space, ring: KeyRing) -> int:
    """The size of the last checkpoint: signed by a known key, if one is known here."""
    try:
        if ring.public():
            signed = checkpoints.last_known(space, ring)
            return 0 if signed is None else signed.checkpoint.size
    except NotInstalled:
        pass  # then what its name says must do
    return max(space.checkpoints().sizes(), default=0)


def ring_for(space: Space, seam: Seam) -> KeyRing:
    """The keys for a space whose first event is written."""
    return checkpoints.ring_of(space, keys_folder(), seam)
