"""What a space holds, for the answer of a drop.

Responsible for the counts, on every engine. Leaves dropping to the engines. Invariant: a space that
is damaged can still be dropped.
"""

from __future__ import annotations

from typing import Final

from recollect.errors import IntegrityError, NotFound
from recollect.model.values import Drop
from recollect.store.port import Readable

_NO_RECORDS: Final = ("episodes", "shadowed", "links")


def drop_of(space: Readable, size_bytes: int, places: tuple[str, ...]) -> Drop:
    """What dropping a space would remove; nothing is removed yet."""
    try:
        with space.reading() as reads:
            counts, position = reads.counts(), reads.position()
    except IntegrityError:
        counts, position = {}, None
    is_read = position is not None
    records = sum(count for name, count in counts.items() if name not in _NO_RECORDS)
    return Drop(
        space=space.name,
        records=records if is_read else None,
        episodes=counts.get("episodes"),
        events=None if position is None else position.seq,
        size_bytes=size_bytes,
        places=places,
    )


def was_dropped(name: str, where: str) -> NotFound:
    """The error for a handle whose space was dropped."""
    return NotFound(
        f"the space {name!r} in {where} was dropped while it was open",
        hint="open it again; `recollect admin dropped` lists what was dropped",
    )
