"""Which files in the folder of a space a memory has made.

Responsible for telling them from files that only lie there. Leaves removing them to
``store.files.erased_bodies``, ``store.files.drop`` and ``store.files.copies.leftovers``. Invariant:
a file counts as a memory's own by a name that only a memory gives, or by what it says; all others
stay, and who removes files names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from recollect.ledger.erasure import lines_of
from recollect.ledger.line import claimed, seq_of
from recollect.mirror.page import SUFFIX
from recollect.store.disk.layout import (
    FRONTIER,
    IGNORE,
    INDEX,
    LEDGER,
    NEW_SUFFIX,
    NOTE_SUFFIX,
    NOTED,
    ORIGINAL,
    ORIGINAL_SNAPSHOT,
    OURS,
    PAGES_STATE,
    SEGMENT_SUFFIX,
    TORN_SUFFIX,
    half_made,
    half_made_apart,
)
from recollect.store.disk.regular_files import read_regular
from recollect.store.pages.page_notes import Notes, file_digest, is_file, read_notes

_SNAPSHOT_MAX_BYTES: Final = 1 << 32
_SNAPSHOT_START: Final = b'{\n  "seq": '
_IGNORED: Final = f"{PAGES_STATE}\n".encode()
_SQLITE_FILES: Final = ("", "-wal", "-shm", "-journal")
_NEW: Final = f"(?:{re.escape(NEW_SUFFIX)})?"
_SEGMENT: Final = re.compile(rf"[0-9]{{10,16}}-[0-9]{{10,16}}{re.escape(SEGMENT_SUFFIX)}{_NEW}")
_NOTE: Final = re.compile(rf"(?:[0-9]{{1,16}}{re.escape(NOTE_SUFFIX)}|{re.escape(FRONTIER)}){_NEW}")
_BESIDE: Final = (ORIGINAL, ORIGINAL_SNAPSHOT, NOTED, half_made(Path(NOTED)).name)
_TORN: Final = re.compile(rf"{re.escape(LEDGER)}\.[0-9]+-[0-9]+{re.escape(TORN_SUFFIX)}")


def is_index(path: Path) -> bool:
    """True for an index, finished or not, and the files that SQLite adds."""
    names = (INDEX, half_made(Path(INDEX)).name)
    return path.name in {f"{name}{end}" for name in names for end in _SQLITE_FILES}


def is_torn(path: Path) -> bool:
    """True for bytes that were cut off a ledger, and for what its API of S0 keeps beside it."""
    return bool(_TORN.fullmatch(path.name)) or path.name in _BESIDE


def is_segment(path: Path) -> bool:
    """True for a segment, finished or not."""
    return bool(_SEGMENT.fullmatch(path.name))


def is_checkpoint(path: Path) -> bool:
    """True for a note of a checkpoint, finished or not, and for where the next one continues."""
    return bool(_NOTE.fullmatch(path.name))


def page_in(folder: Path) -> Callable[[Path], bool]:
    """What tells whether a file in a folder of pages was rendered there, by the notes about it."""
    notes = read_notes(folder) or Notes()

    def is_own(path: Path) -> bool:
        if path.name == IGNORE:
            return is_file(path) and read_regular(path, len(_IGNORED) + 1) == _IGNORED
        is_half = path.name.endswith(half_made_apart(Path(SUFFIX), OURS).name[1:])
        return is_half or _is_rendered(path, notes)

    return is_own


def _is_rendered(path: Path, notes: Notes) -> bool:
    """True if a file is as a rendering left it; one that a person changed is not."""
    noted = notes.pages.get(path.name)
    with suppress(OSError):
        return bool(noted and file_digest(path.parent, path.name, notes)[0] in noted.digests)
    return False


def is_page_note(path: Path) -> bool:
    """True for the notes about pages."""
    return path.name in (PAGES_STATE, half_made(Path(PAGES_STATE)).name)


class _Snapshot(msgspec.Struct):
    seq: int
    last_hash: str
    records: list[msgspec.Raw]


def is_snapshot(path: Path, pieces: Iterable[bytes]) -> bool:
    """True for a snapshot of the ledger with these bytes; an unfinished one ends anywhere."""
    with suppress(OSError, ValueError):
        data = read_regular(path, _SNAPSHOT_MAX_BYTES)
        if not data or path.name.endswith(NEW_SUFFIX):
            return data.startswith(_SNAPSHOT_START[: len(data)])
        found = msgspec.json.decode(data, type=_Snapshot)
        lines = (raw for raw in lines_of(pieces) if seq_of(raw) == found.seq)
        claim = claimed(next(lines, b""))
        return claim is not None and claim.head.hash == found.last_hash
    return False
