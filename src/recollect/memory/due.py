"""Checkpoints that the policy of a space asks for, signed by the write that makes one due.

Responsible for when to look, and for never failing a write. Leaves what is due to
``memory.unsigned``, loaded only if this person has keys and the space a policy. Invariants:
a write was acknowledged before anything here happens; without keys, it costs a comparison more.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from recollect.config import keys_folder
from recollect.index.statements import NOW
from recollect.model.policy import CHECKPOINTS, TYPE
from recollect.store.port import Space
from recollect.store.seam import Seam

if TYPE_CHECKING:
    from recollect.store.key_ring import KeyRing

# How soon a policy, a key or a checkpoint of another process is noticed.
_LOOK_EVENTS: Final = 256
_LOOK_S: Final = 5.0


class Due:
    """When a space is signed next; one for all handles of a memory."""

    def __init__(self, space: Space, seam: Seam) -> None:
        self._space = space
        self._seam = seam
        self._ring: KeyRing | None = None
        self._look_at = 0.0
        self._look_by = 0.0
        self._turn = threading.Lock()

    def after(self, last: int) -> None:
        """An event was written and acknowledged: signs a checkpoint if one is due."""
        if last >= NOW or (last < self._look_at and monotonic() < self._look_by):
            return  # on a branch nothing of the memory changes
        if self._turn.acquire(blocking=False):  # another thread is looking already
            try:
                self._look_at, self._look_by = last + _LOOK_EVENTS, monotonic() + _LOOK_S
                with suppress(Exception):  # `verify` and `doctor` say what is wrong
                    self._look(last)
            finally:
                self._turn.release()

    def _look(self, last: int) -> None:
        if not has_keys() or not self._has_policy():
            return
        from recollect.memory import unsigned

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
