"""Branches in the index: their rows, and the questions about them.

Responsible for the columns of ``branches`` and for finding a branch and what is on it. Leaves what
a branch does to ``lifecycle.branches.branches``. Invariant: every read is bound to a position; a
branch that was closed after it is open there.
"""

# No postponed annotations here: a NamedTuple would compile each string when it is loaded.
from typing import Final, NamedTuple

from recollect.index.proposals import ProposalReads, ProposalRow, waiting
from recollect.index.rows import Cell
from recollect.index.statements import STILL
from recollect.model.events import Ending, Origin


class BranchRow(NamedTuple):
    """One branch; what follows ``until`` is said by the event that closed it."""

    id: str
    seq: int
    at: str
    origin: Origin
    name: str
    parent: str | None
    reason: str | None
    user: str | None
    session: str | None
    agent: str | None
    until: int
    how: Ending | None
    closed_by: Origin | None
    closed_at: str | None
    note: str | None
    record: str | None


_UNTIL: Final = BranchRow._fields.index("until")


class BranchReads(ProposalReads):
    """Reads of branches at one position."""

    def branch(self, id: str) -> BranchRow | None:
        """A branch by its id; one that was closed after this position is open here."""
        db = self._tables.settle(branch_touched(id))
        row = db.one("get_branch", {"id": id, "at": self.at})
        return None if row is None else self._open_here(BranchRow._make(row))

    def branches_named(self, name: str) -> list[BranchRow]:
        """Every branch that has or had this name, the newest first."""
        self._tables.flush()
        rows = self._tables.db.rows("branches_named", {"name": name, "at": self.at})
        return [self._open_here(BranchRow._make(row)) for row in rows]

    def list_branches(
        self, user: str | None, before: int, closed: bool, limit: int
    ) -> list[BranchRow]:
        """Branches, the newest first; the closed ones only if asked for."""
        self._tables.flush()
        params: dict[str, Cell] = {
            "at": self.at,
            "user": user,
            "before": before,
            "closed": int(closed),
            "limit": limit,
        }
        rows = self._tables.db.rows("list_branches", params)
        return [self._open_here(BranchRow._make(row)) for row in rows]

    def proposals_on(self, branch: str) -> list[ProposalRow]:
        """Every proposal that was made on a branch, waiting or settled, in order."""
        self._tables.flush()
        rows = self._tables.db.rows("proposals_on", {"branch": branch, "at": self.at})
        found = map(ProposalRow._make, rows)
        return [row if row.until <= self.at else waiting(row) for row in found]

    def _open_here(self, row: BranchRow) -> BranchRow:
        """A row without what an event after this position says of it."""
        if row.until <= self.at:
            return row
        return BranchRow._make((*row[:_UNTIL], STILL, None, None, None, None, None))


def branch_touched(id: str) -> str:
    """The key of a branch among the names that writes touch; ids never contain a blank."""
    return f"branch {id}"
