"""Repairing the files of a space: leftovers of a stopped process, a damaged end.

Responsible for what is cut and where it is kept. Leaves locking to ``store.files.space``, which
calls these under the lock. Invariant: no act here changes a header of a ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recollect.errors import Conflict
from recollect.ledger.scan import Damage, Scanner
from recollect.store.files import segments
from recollect.store.files.active import ActiveFile
from recollect.store.layout import LEDGER, SEALED
from recollect.store.seam import Seam


def torn_name(folder: Path, seq: int) -> Path:
    """Where what stood after event ``seq`` is kept."""
    for number in range(1, 10_000):
        path = folder / f"{LEDGER}.{seq}-{number}.torn"
        if not path.exists():
            return path
    raise Conflict(f"there are too many torn copies in {folder}", hint="look at them, then delete")


def remove_leftovers(seam: Seam, folder: Path) -> None:
    """Half-made files of a process that was stopped; the lock says that nobody needs them."""
    half_made = [*folder.glob("index.db.new*"), folder / f"{LEDGER}.new"]
    for path in (*half_made, *(folder / SEALED).glob("*.new")):
        if path.exists():
            seam.unlink(path)


def salvage(seam: Seam, active: ActiveFile, aside: Callable[[], Path]) -> bool:
    """Cuts a damaged ledger after its last whole append; true if something was kept aside."""
    scanner = Scanner()
    try:
        for piece in segments.pieces(active):
            for _ in scanner.feed(piece):
                pass
        segments.torn_in(active, scanner)
    except Damage:
        last, sealed = scanner.head.seq, segments.segments(active)
        if any(segment.last > last for segment in sealed):
            segments.reopen_after(seam, active, last, aside)
        else:  # where a segment ends, nothing of the active file can be used
            found = None if sealed and sealed[-1].last == last else active.end_of(last)
            active.cut(0 if found is None else found[1], aside())
        return True
    return segments.set_strays_aside(seam, active, aside)
