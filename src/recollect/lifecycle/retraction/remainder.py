"""What holds if a closure is left out: the history of some records, folded again without it.

Responsible for what is left of each event. What the event then makes of a record is the fold's to
say: its rules are in ``index.fold.versions``. Leaves finding the closure to ``closure`` and the
events that lead there to ``plan``. Invariants: a key has one active holder; a record that was cut
has neither more trust than it has now nor more than it had at its cut.

What is left of an event:

- a record that is gone has no events, and nothing was superseded by it; if that is how an undo took
  a forgetting back, the record is back, or superseded by who holds its key;
- after its cut a record keeps what happened to it (it was superseded, forgotten, brought back,
  lowered), and not what was said of it (revisions, tags, a review of other words: what was held at
  its cut is held);
- a record that comes to hold supersedes who holds its key.

The index keeps versions, not events, so what an event said is read from the version that it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.index.fold import versions
from recollect.index.fold.versions import LIVE
from recollect.index.rows import VersionRow
from recollect.lifecycle.retraction.closure import GONE
from recollect.model.rules import lowest

Cuts = Mapping[str, int]


class Remainder:
    """Some records as they are without a closure."""

    def __init__(self, cuts: Cuts) -> None:
        self._cuts = cuts
        self.rows: dict[str, VersionRow] = {}  # without those that are gone
        self._holders: dict[tuple[str, str | None], str] = {}
        self._at_cut: dict[str, VersionRow] = {}
        self.let_in: dict[str, int] = {}  # record → the review that did, if it still counts

    def fold(self, history: Iterable[VersionRow]) -> None:
        """Folds every version of these records."""
        for row in sorted(history, key=lambda row: row.seq):
            if self._cuts.get(row.id) == GONE:
                continue
            before = self.rows.get(row.id)
            after = row if before is None else self._next(before, row)
            self.rows[row.id] = after
            if after.status == "active" and (before is None or before.status != "active"):
                self._take_key(after)

    def _next(self, old: VersionRow, row: VersionRow) -> VersionRow:
        """The record after the event of a version."""
        if row.seq >= self._cuts.get(row.id, row.seq + 1):
            self._at_cut.setdefault(row.id, old)
            old = old._replace(trust=lowest([self._at_cut[row.id].trust, row.trust]))
        if row.what == "reviewed":
            return self._reviewed(old, row)
        if row.what == "vouched":  # after the cut for words that are taken back
            return old if row.id in self._at_cut else versions.vouched(old) or old
        if row.what in ("revised", "tagged", "reinforced"):
            return self._said(old, row)
        return self._became(old, row, row.what)

    def _said(self, old: VersionRow, row: VersionRow) -> VersionRow:
        """The record after something was said of it."""
        if row.id in self._at_cut:
            return versions.revised(old, old.trust)
        said = row._replace(status=old.status, reason=old.reason, superseded_by=old.superseded_by)
        sets_trust = row.what not in ("tagged", "reinforced")
        return versions.revised(said, row.trust if sets_trust else old.trust)

    def _became(self, old: VersionRow, row: VersionRow, what: str) -> VersionRow:
        """The record after something happened to it: an event, or a status that a person chose."""
        if what == "superseded":
            return self._superseded(old, row)
        if what == "forgotten":
            return versions.forgotten(old, versions.sources_of(row))
        if what == "archived":
            return versions.archived(old, versions.why_of(row)) or old
        return versions.restored(old)

    def _reviewed(self, old: VersionRow, row: VersionRow) -> VersionRow:
        verdict, at_cut = versions.verdict_of(row), self._at_cut.get(row.id)
        if verdict == "settled":
            return self._settled(old, row)
        if verdict == "reopened":  # an approval was taken back
            self.let_in[row.id] = 0
            return versions.reopened(old, row.trust)
        if at_cut is not None and (verdict == "rejected" or at_cut.status == "held"):
            return old  # a review of other words
        if verdict == "rejected":
            after, let_in = versions.rejected(old), 0
        else:
            trust = row.trust if at_cut is None else old.trust
            after, let_in = versions.approved(old, trust), row.seq
        if after is None:
            return old
        self.let_in[row.id] = let_in
        return after

    def _settled(self, old: VersionRow, row: VersionRow) -> VersionRow:
        """The record after a person chose between what two ledgers made of it.

        Before its cut the whole choice counts; after it what became of the record, not its words.
        """
        lives = row.status in LIVE
        is_superseded = row.reason == "superseded"
        if row.id not in self._at_cut:
            self.let_in[row.id] = row.seq if lives else 0
            return self._said(old, row) if is_superseded and self._is_void(row) else row
        if lives and old.status in LIVE:
            return old
        return self._became(old, row, "superseded" if is_superseded else row.status)

    def _superseded(self, old: VersionRow, row: VersionRow) -> VersionRow:
        if not self._is_void(row):
            return versions.superseded(old, row.superseded_by or "")
        if old.status in LIVE or old.reason == "superseded":
            return old
        back = versions.restored(old)  # it had been forgotten, and an undo took that back
        holder = self._holder(back)
        if back.status == "held" or holder is None:
            return back
        return versions.superseded(back, holder.id)

    def _is_void(self, row: VersionRow) -> bool:
        """True if what superseded a record is gone, or took the key by a review of other words."""
        by = row.superseded_by or ""
        cut = self._cuts.get(by, row.seq + 1)
        return cut == GONE or (row.seq >= cut and self.rows[by].status == "held")

    def _take_key(self, row: VersionRow) -> None:
        holder = self._holder(row)
        if holder is not None:
            self.rows[holder.id] = versions.superseded(holder, row.id)
        if row.key is not None:
            self._holders[row.key, row.user] = row.id

    def _holder(self, row: VersionRow) -> VersionRow | None:
        """The other record that holds the key of this one."""
        other = self.rows.get(self._holders.get((row.key or "", row.user), row.id))
        is_other = other is not None and other.id != row.id and other.status == "active"
        return other if is_other else None
