"""``snapshot.json``: the records at one position of the ledger, in one file.

Responsible for its bytes and for checking them. Leaves when it is written to ``store``. Invariants:
the same position gives the same bytes; a snapshot that the memory could not write again is not
overwritten; nothing is ever read from a snapshot but the event that it
names, so that it can be compared with the ledger.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from recollect.contracts.chrono.reads import Shown
from recollect.errors import Conflict, IntegrityError
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.store.disk.regular_files import read_regular

_SNAPSHOT_MAX_BYTES: Final = 1 << 32


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
