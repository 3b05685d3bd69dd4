"""In how many processes a ledger is checked.

Responsible for that choice alone. Leaves the processes to ``store.checkpoints.walk_shared``, which
is loaded only for a long ledger. Invariant: the answer is the same either way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from typing import Final

from recollect.ledger.verify import Walk, Walked, in_turn

# About 100,000 events; for fewer, starting a process takes as long as it saves.
_SHARED_MIN_BYTES: Final = 1 << 26
_PROCESSES_MAX_COUNT: Final = 4


def walk_for(size_bytes: int) -> Walk:
    """How to check a ledger of about this length."""
    count = min(_processors(), _PROCESSES_MAX_COUNT)
    if size_bytes < _SHARED_MIN_BYTES or count < 2 or not _can_start():
        return in_turn

    def together(pieces: Iterable[bytes], wanted: Collection[int], hashes: bool) -> Walked:
        from recollect.store.checkpoints.walk_shared import shared

        return shared(pieces, wanted, count - 1, hashes=hashes)

    return together


def _processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _can_start() -> bool:
    """True if ``sys.executable`` is Python: in a frozen program it is that program."""
    name = os.path.basename(sys.executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
