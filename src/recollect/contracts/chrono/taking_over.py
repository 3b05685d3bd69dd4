"""Taking over what the original left: its log and its JSON.

Responsible for moving an original log aside and for storing its records. Leaves reading it to
``originals``. Invariants: a damaged log is not touched; a log is moved before the first record is
stored and never changed, and a taking over that was interrupted goes on at the next opening;
a record that the memory has already stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from recollect.contracts.chrono.originals import Original, is_original, read_original, records_in
from recollect.contracts.chrono.reads import Shown
from recollect.contracts.chrono.records import ChronoRecord, acts_for, fields_of, new
from recollect.errors import Conflict, IntegrityError, NotFound
from recollect.lifecycle.commands import Act, Archive, Forget
from recollect.memory import Memory
from recollect.memory.handle import handle_of
from recollect.model.limits import FORGET_AT_ONCE_MAX_COUNT
from recollect.store.disk import alone, sync_folder
from recollect.store.layout import BACKUP, LEDGER, ORIGINAL, ORIGINAL_SNAPSHOT, SNAPSHOT
from recollect.store.seam import Seam

NOTE: Final = ("chrono", "original")  # the document that says what was taken over
_AT_ONCE: Final = 500

Dated = tuple[ChronoRecord, str | None]


def move_aside(seam: Seam, folder: Path) -> None:
    """Moves an original log and its snapshot away from the names that a memory uses."""
    if not is_original(folder / LEDGER):
        return
    with alone(seam, folder):
        if not is_original(folder / LEDGER):  # another process did it meanwhile
            return
        _require_one(folder)
        is_there = (folder / SNAPSHOT).exists()
        # A process may have been stopped after it moved the snapshot.
        snapshot = folder / (SNAPSHOT if is_there else ORIGINAL_SNAPSHOT)
        _require_whole(read_original(folder / LEDGER, snapshot), folder / LEDGER)
        if is_there:
            seam.replace(snapshot, folder / ORIGINAL_SNAPSHOT)
            sync_folder(seam, folder)
        seam.replace(folder / LEDGER, folder / ORIGINAL)
        sync_folder(seam, folder)


def _require_one(folder: Path) -> None:
    """Refuses a folder where an earlier original is in the way of this one."""
    for aside, name, what in (
        (ORIGINAL, LEDGER, "logs"),
        (ORIGINAL_SNAPSHOT, SNAPSHOT, "snapshots"),
    ):
        if (folder / aside).exists() and (folder / name).exists():
            raise Conflict(
                f"{folder} has two original {what}",
                hint=f"move {ORIGINAL} and {ORIGINAL_SNAPSHOT} elsewhere, or {LEDGER} and "
                f"{SNAPSHOT}",
            )


def _require_whole(found: Original, path: Path) -> None:
    """Refuses a log whose chain is broken; a last line that a crash cut off is left out."""
    if not found.is_sound and not found.is_torn:
        raise IntegrityError(
            f"{path} is damaged at line {found.state.chain.broken_at}: its chain is broken there",
            hint=f"move it elsewhere; `recollect import` takes over what is before the damage,"
            f" or put a copy from {path.parent / BACKUP} in its place",
        )
    if found.state.troubles:
        raise IntegrityError(
            f"{found.state.troubles[0].where} cannot be read: {found.state.troubles[0].why}",
            hint="the log was compacted, so its records are there: bring back a backup of it",
        )


def take_over(memory: Memory, folder: Path) -> None:
    """Stores what an original log led to, unless that was done."""
    if not (folder / ORIGINAL).is_file():
        return
    try:
        memory.documents.get(*NOTE)
        return
    except NotFound:
        pass
    found = read_original(folder / ORIGINAL, folder / ORIGINAL_SNAPSHOT)
    chain = found.state.chain
    count = len(add_missing(memory, records_in(found.state)))
    memory.documents.set(
        *NOTE,
        {
            "lines": chain.lines,
            "dialect": chain.dialect,
            "seq": found.state.seq,
            "records": count,
            "torn": found.is_torn,
        },
    )


def add_missing(memory: Memory, records: Iterable[Dated]) -> list[str]:
    """Stores the records whose ids are free, many in one command; returns their ids."""
    shown, handle = Shown(handle_of(memory)), handle_of(memory)
    added: list[str] = []
    waiting: list[Act] = []
    for record, said_at in records:
        if shown.row(record.id) is not None:
            continue
        first = new(handle, record.id, fields_of(record), said_at)
        made = [first, *acts_for(handle, None, record)[1:]]
        if len(waiting) >= _AT_ONCE or _leave([*waiting, *made]) > FORGET_AT_ONCE_MAX_COUNT:
            memory.submit(*waiting)
            waiting = []
        waiting += made
        added.append(record.id)
    memory.submit(*waiting)
    return added


def _leave(acts: Sequence[Act]) -> int:
    """How many records these acts take out of default reads."""
    return sum(isinstance(act, Forget | Archive) for act in acts)
