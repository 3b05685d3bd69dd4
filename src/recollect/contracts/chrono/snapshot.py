"""The two files beside a log: ``snapshot.json``, and the note of the last event that a store saw.

Responsible for their bytes and for checking them: the snapshot has the records at one position, and
the note tells that events were cut off or lines were added. Leaves when they are written to
``store`` and every line of the ledger itself to ``verify``. Invariants: the same position gives the
same bytes; a snapshot that the memory could not write again is not overwritten; nothing is ever
read from a snapshot but the event that it names; a note is replaced only by that of a later event
of the same ledger; what a crash leaves is never taken for tampering.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from recollect.contracts.chrono.reads import Shown
from recollect.errors import Conflict, IntegrityError, RecollectError
from recollect.ledger.line import BadLine, parse
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.store.disk.disk import replace_file
from recollect.store.disk.layout import LEDGER, NOTED, TORN_SUFFIX
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam

_SNAPSHOT_MAX_BYTES: Final = 1 << 32
_NOTE: Final = re.compile(rb"([1-9][0-9]{0,15}):([0-9a-f]{64})\n")
_NOTE_MAX_BYTES: Final = 100
_TORN_MAX_BYTES: Final = 1 << 32


def render(memory: Memory, seq: int, last_hash: str) -> bytes:
    """The snapshot at a position, whose event has this hash."""
    then = handle_of(memory.at(seq))
    content = {
        "seq": seq,
        "last_hash": last_hash,
        "ts": f"{then.now()[:19]}Z",
        "records": [record.to_dict() for record in Shown(then).all(status=None)],
    }
    return json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n"


class Snapshot:
    """A snapshot as it was found."""

    def __init__(self, path: Path) -> None:
        """Read a snapshot; ``IntegrityError`` if it does not name an event."""
        try:
            self._raw = read_regular(path, _SNAPSHOT_MAX_BYTES)
            content = json.loads(self._raw)
            self.seq, self.last_hash = content["seq"], content["last_hash"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise IntegrityError(
                f"{path} is not a snapshot: {error}", hint="delete it; compact() writes it again"
            ) from error
        if type(self.seq) is not int or not isinstance(self.last_hash, str) or self.seq < 1:
            raise IntegrityError(f"{path} names no event", hint="delete it")

    @property
    def anchor(self) -> str:
        """The event that the snapshot is of, as ``verify`` takes it."""
        return f"{self.seq}:{self.last_hash}"

    def is_of(self, memory: Memory) -> bool:
        """True if it has exactly the records that the memory had there."""
        return self._raw == render(memory, self.seq, self.last_hash)


def require_known(path: Path, memory: Memory, seq: int) -> None:
    """Refuses to overwrite a file unless the memory, now at ``seq``, can write it again.

    A snapshot may be the last copy of its records: its ledger was lost, is an older one, or is not
    in the same place. A link is not looked at, because only the link is replaced.
    """
    if path.is_symlink() or not path.exists():
        return
    try:
        kept = Snapshot(path)
        is_known = kept.seq <= seq and kept.is_of(memory)
    except IntegrityError:
        is_known = False
    if not is_known:
        raise Conflict(
            f"{path} was not made from this memory, or was changed: it may be the last copy of its "
            "records",
            hint="move it elsewhere, or put the ledger back that it was made from",
        )


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
