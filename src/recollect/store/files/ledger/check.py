"""Whether the index of a space in files matches its events.

Responsible for reading one consistent state of the files. Leaves the comparison to
``store.compare`` and repairs to ``store.files.catch_up``. Invariant: the check changes nothing and
takes no lock.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from recollect.errors import RecollectError
from recollect.ledger.cipher import Ciphers
from recollect.store.compare import difference_of
from recollect.store.files.ledger.segments import OpenedLedger
from recollect.store.fold_ledger import ErasedSince
from recollect.store.port import Progress
from recollect.store.sqlite import SqliteDb, is_busy, open_index

_TRIES: Final = 3  # how often an erasure may happen between reading index and ledger


def difference(
    index: Path,
    ledger: Path,
    space: str,
    progress: Progress | None = None,
    ciphers: Ciphers | None = None,
) -> str | None:
    """How an index differs from a fresh fold of its ledger, in a sentence; None if it is equal."""
    for _ in range(_TRIES):
        try:
            with closing(_copied(index)) as copy, closing(OpenedLedger(ledger)) as opened:
                found, size = opened.pieces(), opened.size_bytes
                return difference_of(copy, space, found, size, progress, ciphers)
        except ErasedSince:
            continue  # an erasure happened after the copy; try again
        except (OSError, RecollectError):
            raise
        except Exception as error:
            if is_busy(error):
                raise
            return f"the index cannot be read ({error}); rebuild it"
    return None  # constant erasures: the process that erases checks the index


def _copied(index: Path) -> SqliteDb:
    """A copy of the index in one state."""
    with closing(open_index(index)) as db:
        db.run("begin_read")
        return db.copy()
