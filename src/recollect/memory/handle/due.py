"""What a write makes due, done after it is acknowledged: checkpoints, and cheap vectors.

Responsible for when to look, and for never failing a write. Leaves which checkpoint is due to
``memory.handle.unsigned``, loaded only if this person has keys and the space a policy, and vectors
to ``finding.vectors``. Invariants: a write was acknowledged before anything here happens; a few
writes cost a comparison more; vectors cost no more than a fixed amount for each event.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from recollect.compose import Embedders
from recollect.config import keys_folder
from recollect.index.statements import NOW
from recollect.model.policy import CHECKPOINTS, TYPE
from recollect.store.checkpoints import seen_heads
from recollect.store.port import Space
from recollect.store.seam import Seam

if TYPE_CHECKING:
    from recollect.store.checkpoints.key_ring import KeyRing

# How soon a policy, a key or a checkpoint of another process is noticed.
_LOOK_EVENTS: Final = 256
_LOOK_S: Final = 5.0
# A process that writes less leaves vectors to the next recall, which makes as many in 20 ms.
_ENCODE_EVENTS: Final = 256
_PIECES_PER_EVENT: Final = 4  # of texts; so what lacks vectors from before gets fewer


class Due:
    """When a space is signed and its texts are encoded next; one for all handles of a memory."""

    def __init__(self, space: Space, seam: Seam, embedders: Embedders | None = None) -> None:
        self._space = space
        self._seam = seam
        self._embedders = embedders
        self._events = 0  # written since vectors were made
        self._ring: KeyRing | None = None
        self._look_at = 0.0
        self._look_by = 0.0
        self._turn = threading.Lock()
        self._is_compared = False

    def after(self, last: int, events: int = 1) -> None:
        """So many events were written and acknowledged, up to the last: does what is due."""
        if last >= NOW:
            return  # on a branch nothing of the memory changes
        self._events += events  # of two threads one may be lost, which only delays vectors
        is_early = last < self._look_at and monotonic() < self._look_by
        if is_early and self._events < _ENCODE_EVENTS:
            return
        if self._turn.acquire(blocking=False):  # another thread is looking already
            try:
                if self._events >= _ENCODE_EVENTS:
                    count, self._events = self._events, 0
                    with suppress(Exception):  # recall says what is missing
                        self._encode(_PIECES_PER_EVENT * count)
                if is_early:
                    return
                self._look_at, self._look_by = last + _LOOK_EVENTS, monotonic() + _LOOK_S
                with suppress(Exception):  # `verify` and `doctor` say what is wrong
                    self._look(last)
            finally:
                self._turn.release()

    def compare(self) -> None:
        """Refuses a ledger that was rewritten since it was signed here; looked at once."""
        if self._is_compared:
            return
        if has_keys():
            seen_heads.require(self._space, keys_folder())
        self._is_compared = True

    def _encode(self, pieces: int) -> None:
        """Makes vectors that cost next to nothing; those of other embedders are left to `embed`."""
        embedder = self._embedders.static() if self._embedders else None
        if embedder is None:
            return
        from recollect.finding.vectors import Leg, catch_up

        vectors = self._space.vectors(embedder.name, embedder.dimensions)
        if vectors.keeps:
            catch_up(self._space, Leg(embedder, vectors), pieces)

    def _look(self, last: int) -> None:
        if not has_keys() or not self._has_policy():
            return
        from recollect.memory.handle import unsigned

        if self._ring is None:
            self._ring = unsigned.ring_for(self._space, self._seam)
        left = unsigned.sign_if_due(self._space, self._ring, self._seam)
        if left is not None:
            self._look_at = last + min(left.events, _LOOK_EVENTS)
            self._look_by = monotonic() + min(left.seconds, _LOOK_S)

    def _has_policy(self) -> bool:
        with self._space.reading() as reads:
            return reads.document(TYPE, CHECKPOINTS) is not None


def has_keys() -> bool:
    """True if this person may have keys."""
    try:
        return keys_folder().is_dir()
    except PermissionError:  # the home folder of another account: its keys are not ours to use
        return False
