"""Whether the index of a space in files is what its events come to.

Responsible for looking at one state of the files. Leaves the comparison to ``store.compare`` and
mending to ``store.files.healing``. Invariant: looking changes nothing and takes no lock.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from recollect.errors import RecollectError
from recollect.store.compare import difference_of
from recollect.store.files.segments import OpenedLedger
from recollect.store.fold_ledger import ErasedSince
from recollect.store.port import Progress
from recollect.store.sqlite import SqliteDb, is_busy, open_index

_TRIES: Final = 3  # how often something may be erased between the look at index and ledger


def difference(
    index: Path, ledger: Path, space: str, progress: Progress | None = None
) -> str | None:
    """How an index differs from a fresh fold of its ledger, in a sentence; None if it does not."""
    for _ in range(_TRIES):
        try:
            with closing(_copied(index)) as copy, closing(OpenedLedger(ledger)) as opened:
                return difference_of(copy, space, opened.pieces(), opened.size_bytes, progress)
        except ErasedSince:
            continue  # the copy is older than an erasure; the next one is not
        except (OSError, RecollectError):
            raise
        except Exception as error:
            if is_busy(error):
                raise
            return f"the index cannot be read ({error}); rebuild it"
    return None  # if it is erased all the time, the eraser folds it


def _copied(index: Path) -> SqliteDb:
    """The pages of one state of the index."""
    with closing(open_index(index)) as db:
        db.run("begin_read")
        return db.copy()
