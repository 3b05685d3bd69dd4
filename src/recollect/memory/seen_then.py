"""Many records as one handle sees them, read at once.

Responsible for what two positions are compared by. Leaves the comparison to the interfaces.
Invariants: one reader for all of them, because opening one for each takes longer than reading; a
record is there if ``get`` would return it.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.errors import NotFound
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.index.values import record_of
from recollect.memory.handle.handle import Handle, handle_of
from recollect.memory.memory import Memory
from recollect.model.values import Record


def records(memory: Memory, ids: Iterable[str]) -> dict[str, Record]:
    """Those of these records that the memory shows, by id."""
    handle = handle_of(memory)
    with handle.reading() as reads:
        rows = {id: _shown(handle, reads, id) for id in ids}
    return {id: record_of(row) for id, row in rows.items() if row is not None}


def _shown(handle: Handle, reads: Reads, id: str) -> VersionRow | None:
    try:
        row = handle.find(reads, id)
    except NotFound:
        return None
    is_shown = handle.why_hidden(row) in (None, "waiting")
    return row if is_shown and isinstance(row, VersionRow) else None
