"""Which processes have an index of a space, and which of them have dropped what was erased.

Responsible for the rows that say so, and for the sentences of a report. Leaves dropping to
``store.indexed.follower``. Invariants: a process that has a space awake has a row there, and one
whose row counts no more looks before it answers; a row's epoch is never ahead of what its
process has dropped; a read that is warm needs no trip of its own for its row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final, cast

from psycopg.pq import TransactionStatus

from recollect.index.rows import Row
from recollect.store.postgres.pool import Pool
from recollect.store.seam import REAL

LEASE_S: Final = 3600  # so long a row counts
_RENEWED_S: Final = LEASE_S / 2
_ID_BYTES: Final = 16
_NAME_MAX_CHARS: Final = 80
_NAMED_MAX_COUNT: Final = 20
_NOTHING: Final = {
    "process": None, "called": None, "dropped": None, "lease_s": None, "alone": None
}  # fmt: skip


class Process:
    """This process, as the server and people know it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.id = REAL.random(_ID_BYTES).hex()
        self.name = f"{os.getpid()} on {os.uname().nodename}"[:_NAME_MAX_CHARS]
        self.has_rows = self.is_over = False

    def end(self) -> None:
        """Removes every row of this process; it writes no other."""
        self.is_over = True
        if self.has_rows:
            with self.asking() as asked:
                self.pool.ask("let_go", {**asked, "space": None})

    @contextmanager
    def asking(self) -> Iterator[dict[str, object]]:
        """What a statement about rows is given; inside a transaction its commit is waited for."""
        with self.pool.connection() as connection:
            is_alone = connection.info.transaction_status == TransactionStatus.IDLE
            yield {"process": self.id, "alone": is_alone}


class Holding:
    """The row of this process for one space."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._noted: int | None = None  # the epoch of the row
        self._renew_at = 0.0

    def ask(
        self, name: str, params: Mapping[str, object], dropped: int | None, *, at: int
    ) -> tuple[Row, int | None]:
        """Runs a statement that can also note this process; the present epoch if it did.

        ``at`` is the column that has it.
        """
        pool = self._process.pool
        if dropped is None or self._process.is_over:
            return pool.ask(name, {**params, **_NOTHING})[0], None
        with self._process.asking() as asked:
            more = {"called": self._process.name, "dropped": dropped, "lease_s": LEASE_S}
            row = pool.ask(name, {**params, **asked, **more})[0]
        present = cast("int | None", row[at])
        if present is not None:
            self._noted, self._renew_at = dropped, monotonic() + _RENEWED_S
            self._process.has_rows = True
        return row, present

    def is_noted(self, dropped: int) -> bool:
        """True if the row says this."""
        return self._noted == dropped or self._process.is_over

    def is_due(self, dropped: int) -> bool:
        """True if the row must be written again."""
        return not self.is_noted(dropped) or monotonic() > self._renew_at

    def let_go(self, space: int) -> None:
        """Removes the row."""
        if self._noted is not None and not self._process.is_over:
            with self._process.asking() as asked:
                self._process.pool.ask("let_go", {**asked, "space": space})
            self._noted = None

    def others(self, space: int) -> tuple[str, ...]:
        """What the other processes have of what was erased, for people."""
        asked = {"process": self._process.id, "space": space}
        return told(self._process.pool.ask("holders", asked))


def told(rows: Sequence[Row]) -> tuple[str, ...]:
    """Sentences about processes, each with whether it has what was erased and is over its time."""
    behind = [(_safe(str(name)), bool(is_over)) for name, is_behind, is_over in rows if is_behind]
    done, more = len(rows) - len(behind), len(behind) - _NAMED_MAX_COUNT
    who = f"{done:,} other process{'es' if done > 1 else ''}"
    lines = [f"indexes of {who}: dropped"] if done else []
    lines += [(_OVER if is_over else _AWAKE) % name for name, is_over in behind[:_NAMED_MAX_COUNT]]
    return (*lines, *([f"NOT cleaned: indexes of {more:,} more processes"] if more > 0 else []))


def _safe(name: str) -> str:
    """One line without control characters: it goes into certificates and to terminals."""
    return "".join(one if one.isprintable() else "?" for one in name[:_NAME_MAX_CHARS])


_AWAKE: Final = (
    "NOT cleaned: the index of process %s; the next call there drops it before it answers"
)
_OVER: Final = (
    "NOT known: whether process %s has ended; it has made no call for an hour. If it has not, its "
    "next call drops the index before it answers"
)
NOBODY: Final = "other processes: none has an index of this memory"
