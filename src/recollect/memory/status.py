"""``memory.status``: how much there is, without counting it each time.

Responsible for keeping the last count of each space that is open. Leaves counting to
``index.tallies``. Invariant: only numbers are kept, and only of the ledger itself, not of a branch.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from recollect.errors import NotFound
from recollect.index.statements import NOW
from recollect.index.tallies import Tally, tally
from recollect.memory.handle.handle import Handle
from recollect.memory.handle.on_branch import BranchSpace
from recollect.model.values import SpaceStatus
from recollect.store.port import Space

_KEPT: Final[WeakKeyDictionary[Space, Tally]] = WeakKeyDictionary()


def status(handle: Handle) -> SpaceStatus:
    """How much there is; ``Memory.status`` documents it."""
    space = handle.space
    is_kept = handle.position == NOW and not isinstance(space, BranchSpace)
    with handle.reading() as reads:
        found = tally(reads, _KEPT.get(space) if is_kept else None)
        position = reads.position()
    if position is None or found is None:
        raise NotFound(f"the memory {space.name!r} is empty")
    if is_kept:
        _KEPT[space] = found
    counts, command = found.counts, found.command
    return SpaceStatus(
        space=space.name,
        where=space.where,
        seq=command.seq,
        head=position.hash if handle.position == NOW else "",
        at=command.at,
        records=counts.get("active", 0) + counts.get("inbox", 0),
        waiting=counts.get("held", 0),
        replaced=counts.get("superseded", 0),
        archived=counts.get("archived", 0),
        forgotten=counts.get("forgotten", 0),
        episodes=counts["episodes"],
        hidden=counts["shadowed"],
        links=counts["links"],
        active_hours=command.active_us / 3_600_000_000,
    )
