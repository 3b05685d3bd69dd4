"""How long a read for another caller may take.

Responsible for carrying the limit from who serves a call to the reads in it. Leaves stopping a read
to ``store.sqlite``. Invariant: only questions have a limit; an index that is folded meanwhile is
folded to its end, or no later call would ever find it ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import monotonic

from recollect.index.reads import Reads
from recollect.store.sqlite import SqliteDb

_ends: ContextVar[float | None] = ContextVar("recollect_read_ends", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The reads of this thread in this block end after so many seconds."""
    token = _ends.set(monotonic() + seconds)
    try:
        yield
    finally:
        _ends.reset(token)


def limited(reads: Reads) -> AbstractContextManager[None]:
    """Ends these reads when the call that they are for must end."""
    at = _ends.get()
    if at is None or not isinstance(reads.db, SqliteDb):
        return nullcontext()
    return reads.db.ending(at)
