"""Taking over what the original left: its log and its JSON.

Responsible for moving an original log aside. Leaves reading it to ``originals``, and storing its
records to ``memory.exchange.imports``. Invariants: a damaged log is not touched; a log is moved
before the first record is stored and never changed, and a taking over that was interrupted goes on
at the next opening; a record that the memory has already stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

from recollect.contracts.chrono.originals import Original, is_original, read_original
from recollect.errors import Conflict, IntegrityError, InvalidInput, NotFound
from recollect.exchange.importers.chrono import FORMAT, items_of
from recollect.exchange.items import Altered, Found, RecordItem
from recollect.memory import Memory
from recollect.memory.exchange.imports import Importing
from recollect.memory.handle.handle import handle_of
from recollect.model.validate import Json
from recollect.model.values import Imported
from recollect.store.disk.disk import alone, sync_folder
from recollect.store.disk.layout import BACKUP, LEDGER, ORIGINAL, ORIGINAL_SNAPSHOT, SNAPSHOT
from recollect.store.seam import Seam

_CHANGED_MAX_COUNT: Final = 500
NOTE: Final = ("chrono", "original")  # the document that says what was taken over


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
    troubles = [one for one in found.state.troubles if not isinstance(one, Altered)]
    if troubles:
        raise IntegrityError(
            f"{troubles[0].where} cannot be read: {troubles[0].why}",
            hint="the log was compacted, so its records are there: bring back a backup of it",
        )


def take_over(memory: Memory, folder: Path) -> None:
    """Stores what an original log led to, unless that was done."""
    if not (folder / ORIGINAL).is_file():
        return
    try:
        memory.settings.documents.get(*NOTE)
        return
    except NotFound:
        pass
    found = read_original(folder / ORIGINAL, folder / ORIGINAL_SNAPSHOT)
    chain = found.state.chain
    items = [*found.state.troubles, *items_of(found.state)]
    done = take(memory, FORMAT, [one for one in items if isinstance(one, RecordItem)])
    changed = [f"{one.where}: {one.why}" for one in items if isinstance(one, Altered)]
    if done.problems:
        raise InvalidInput(
            f"{folder / ORIGINAL} holds what a memory cannot: {done.problems[0].why}",
            hint="the rest was taken over; move the file elsewhere to open the store without it",
        )
    memory.settings.documents.set(
        *NOTE,
        {
            "lines": chain.lines,
            "dialect": chain.dialect,
            "seq": found.state.seq,
            "records": done.records + done.known,
            "torn": found.is_torn,
            **({"changed": cast("list[Json]", changed[:_CHANGED_MAX_COUNT])} if changed else {}),
        },
    )


def take(memory: Memory, format: str, found: Iterable[Found]) -> Imported:
    """Stores what was found as an import does, so that both know what the other has stored."""
    importing = Importing(handle_of(memory), format)
    importing.take(found)
    return importing.report(format)
