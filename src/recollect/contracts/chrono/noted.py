"""What tells that events were cut off a log, or lines were added to it.

Responsible for the file that names the last event a store saw, and for what a memory moved aside.
Leaves every line of the ledger itself to ``verify``. Invariants: a note is replaced only by that of
a later event of the same ledger; what a crash leaves is never taken for tampering.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from recollect.errors import IntegrityError, RecollectError
from recollect.ledger.line import BadLine, parse
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.store.disk.disk import replace_file
from recollect.store.disk.layout import LEDGER, NOTED, TORN_SUFFIX
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam

_NOTE: Final = re.compile(rb"([1-9][0-9]{0,15}):([0-9a-f]{64})\n")
_NOTE_MAX_BYTES: Final = 100
_TORN_MAX_BYTES: Final = 1 << 32


def note(seam: Seam, memory: Memory, folder: Path) -> None:
    """Notes the last event of a memory, unless what is noted is not in it."""
    with suppress(RecollectError, OSError):  # damaged, or on a disk that cannot be written
        head = handle_of(memory).space.existing_head()
        known = _noted(folder)
        if not head.seq or (known is not None and not _is_in(memory, *known)):
            return
        if known is None or known[0] < head.seq:
            replace_file(seam, folder / NOTED, [f"{head.seq}:{head.hash}\n".encode()])


def is_cut(memory: Memory, folder: Path) -> bool:
    """True if the event that was noted is not in the ledger, or the note cannot be read."""
    known = _noted(folder)
    return known is not None and not _is_in(memory, *known)


def was_added_to(folder: Path) -> bool:
    """True if whole lines were moved aside that are not events: no crash leaves such lines."""
    return any(map(_is_foreign, folder.glob(f"{LEDGER}.*{TORN_SUFFIX}")))


def _is_foreign(path: Path) -> bool:
    *lines, _ = read_regular(path, _TORN_MAX_BYTES).split(b"\n")
    try:
        for line in lines:
            parse(line)
    except BadLine:
        return True
    return False


def _noted(folder: Path) -> tuple[int, str] | None:
    """The event that was noted; ``IntegrityError`` if there is something else in the file."""
    path = folder / NOTED
    if not os.path.lexists(path):
        return None
    # A link would choose the file that is replaced.
    found = None if path.is_symlink() else _NOTE.fullmatch(read_regular(path, _NOTE_MAX_BYTES))
    if found is None:
        raise IntegrityError(f"{path} names no event", hint="delete it")
    return int(found[1]), found[2].decode()


def _is_in(memory: Memory, seq: int, hash: str) -> bool:
    raw = handle_of(memory).space.line(seq)
    return raw is not None and parse(raw).hash == hash
