"""What the layers above a memory read of it without its API.

Responsible for handing out the rows that a handle sees, and its clock. Leaves asking again after
the index was healed to the caller (``memory.healing``). Invariant: nothing is written here.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for annotations alone
    from recollect.index.reads import Reads
    from recollect.memory.handle import Handle


def reading(handle: Handle) -> AbstractContextManager[Reads]:
    """The rows of a handle's memory at its position, of every user."""
    return handle._space.reading(handle._at)


def now_of(handle: Handle) -> str:
    """The present, or the instant of the past position that a handle shows."""
    return handle._now()
