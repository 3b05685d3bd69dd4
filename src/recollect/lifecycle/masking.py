"""What holds if a part of the past is left out.

Responsible for the state that records would have without the events of a closure. Leaves finding
the closure to ``lifecycle.closing`` and the events that lead there to ``lifecycle.retracting``.
Invariants: a key has one active holder; a record that was cut has neither more trust than it has
now nor more than it had at its cut.

The rules are those of ``index.fold``, applied to versions instead of events:

- a record that is gone has no events, and nothing was superseded by it; if that is how an undo took
  a forgetting back, the record is back, or superseded by who holds its key;
- after its cut a record keeps what happened to it (it was superseded, forgotten, brought back,
  lowered), and not what was said of it (revisions, tags, a review of other words: what was held at
  its cut is held);
- a record that comes to hold supersedes who holds its key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.index.rows import VersionRow, is_held
from recollect.lifecycle.closing import GONE
from recollect.lifecycle.filing import LIVE
from recollect.model.events import Status
from recollect.model.reasons import Reason
from recollect.model.rules import lowest

Cuts = Mapping[str, int]


class Masked:
    """The records of some keys as they would be, replayed from their versions."""

    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts
        self.rows: dict[str, VersionRow] = {}
        self._holders: dict[tuple[str, str | None], str] = {}
        self._at_cut: dict[str, VersionRow] = {}
        self.let_in: dict[str, int] = {}  # record → the review that did, if it still counts

    def replay(self, versions: Iterable[VersionRow]) -> dict[str, VersionRow]:
        """What each record would be; one that is gone is not in the answer."""
        for row in sorted(versions, key=lambda row: row.seq):
            if self._cuts.get(row.id) == GONE:
                continue
            before = self.rows.get(row.id)
            after = row if before is None else self._next(before, row)
            self.rows[row.id] = after
            if after.status == "active" and (before is None or before.status != "active"):
                self._takes_key(after)
        return self.rows

    def _next(self, old: VersionRow, row: VersionRow) -> VersionRow:
        """The state after a version's event."""
        if row.seq >= self._cuts.get(row.id, row.seq + 1):
            self._at_cut.setdefault(row.id, old)
            old = old._replace(trust=lowest([self._at_cut[row.id].trust, row.trust]))
        if row.what == "superseded":
            return self._superseded(old, row)
        if row.what == "forgotten":
            return old._replace(status="forgotten", reason=_forgotten(old, row))
        if row.what == "archived":
            return old._replace(status="archived", reason=row.reason)
        if row.what == "restored":
            return _restored(old)
        if row.what == "reviewed":
            return self._reviewed(old, row)
        if row.what == "vouched":
            return self._vouched(old, row)
        if row.id in self._at_cut:
            return _held(old)
        return _held(
            row._replace(status=old.status, reason=old.reason, superseded_by=old.superseded_by)
        )

    def _reviewed(self, old: VersionRow, row: VersionRow) -> VersionRow:
        at_cut = self._at_cut.get(row.id)
        if row.status == "held":  # an approval was taken back
            self.let_in[row.id] = 0
            trust = lowest([old.trust, row.trust])
            return old._replace(status="held", trust=trust, reason=None, superseded_by=None)
        if at_cut is not None and (row.status == "archived" or at_cut.status == "held"):
            return old  # a review of other words
        if row.status == "archived":
            self.let_in[row.id] = 0
            return old._replace(status="archived", reason="rejected")
        self.let_in[row.id] = row.seq
        status: Status = "active" if old.status == "held" else old.status
        return old._replace(status=status, trust=row.trust if at_cut is None else old.trust)

    def _vouched(self, old: VersionRow, row: VersionRow) -> VersionRow:
        """The state after a person vouched for words that are not taken back."""
        if row.id in self._at_cut or is_held(old):
            return old
        return old._replace(trust=row.trust)

    def _superseded(self, old: VersionRow, row: VersionRow) -> VersionRow:
        by = row.superseded_by or ""
        cut = self._cuts.get(by, row.seq + 1)
        if cut == GONE or (row.seq >= cut and self.rows[by].status == "held"):
            return self._not_superseded(old)  # the second took a key by a review of other words
        return _superseded(old, by)

    def _not_superseded(self, old: VersionRow) -> VersionRow:
        """The state after a record was superseded by something that is left out.

        If it had been forgotten, an undo took that back: now it is as if it never had been.
        """
        if old.status in LIVE or old.reason == "superseded":
            return old
        back = _restored(old)
        holder = self._holder(back)
        return back if back.status == "held" or holder is None else _superseded(back, holder.id)

    def _takes_key(self, row: VersionRow) -> None:
        holder = self._holder(row)
        if holder is not None:
            self.rows[holder.id] = _superseded(holder, row.id)
        if row.key is not None:
            self._holders[row.key, row.user] = row.id

    def _holder(self, row: VersionRow) -> VersionRow | None:
        """The other record that holds the key of this one."""
        other = self.rows.get(self._holders.get((row.key or "", row.user), row.id))
        is_other = other is not None and other.id != row.id and other.status == "active"
        return other if is_other else None


def _superseded(old: VersionRow, by: str) -> VersionRow:
    return old._replace(status="archived", reason="superseded", superseded_by=by)


def _restored(old: VersionRow) -> VersionRow:
    status: Status = "held" if is_held(old) else "active"
    return old._replace(status=status, reason=None, superseded_by=None)


def _forgotten(old: VersionRow, row: VersionRow) -> Reason | None:
    """The reason of a record that was forgotten by the event of a version."""
    if old.status == "held" or old.reason == "rejected":
        return "was_held"
    return "sources_kept" if row.reason == "sources_kept" else None


def _held(row: VersionRow) -> VersionRow:
    """A record that is not trusted any more is held."""
    is_fallen = row.trust == "unverified" and row.status in ("active", "inbox")
    return row._replace(status="held") if is_fallen else row
