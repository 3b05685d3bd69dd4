"""What was derived from something: the closure that a retraction takes back.

Responsible for finding it, at any distance, and from which event on each record rests on it; and
for what was derived directly, which a review shows. Leaves what then holds to ``remainder``.
Invariants: a record is *gone* if its first words, or a link, derive it from the closure; else it is
*cut* at the event from which its present words do, and what it said before stays; what was derived
from a record before its cut is not in the closure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from recollect.errors import LimitExceeded
from recollect.index.rows import EpisodeRow, LinkRow, VersionRow
from recollect.lifecycle.records.links import DERIVED
from recollect.lifecycle.view import View
from recollect.model.limits import RETRACT_AT_ONCE_MAX_COUNT

GONE: Final = 0  # the cut of a record of which nothing stays


class Closure:
    """What was derived from a root: the cut of each record."""

    def __init__(self, view: View, root: EpisodeRow | VersionRow) -> None:
        self._view = view
        self._root = root
        self._named: dict[str, dict[int, int]] = {}  # record → its words' event → named since
        self.cuts: dict[str, int] = {}
        self._waiting: deque[tuple[str, str | None, int, int]] = deque()

    def found(self) -> dict[str, int]:
        """The cut of every record that was derived from the root, at any distance."""
        if isinstance(self._root, EpisodeRow):
            self._waiting.append((self._root.id, self._root.user, self._root.seq, GONE))
        else:
            self._take(self._root.id, GONE)
        while self._waiting:
            id, user, born, cut = self._waiting.popleft()
            for record in self._derived(id, user, born, cut):
                self._judge(record, linked=False)
            for link in self._view.links(id):
                if link.seq > cut and derives(link, id):
                    self._judge(link.source, linked=True)
        return self.cuts

    def _take(self, id: str, cut: int) -> None:
        """Takes a record in. A token for one user does not see what follows from another's."""
        self.cuts[id] = cut
        for first in self._view.versions(id)[:1]:
            self._waiting.append((id, first.user, first.seq, cut))
        if len(self.cuts) > RETRACT_AT_ONCE_MAX_COUNT:
            raise LimitExceeded(
                f"more than {RETRACT_AT_ONCE_MAX_COUNT:,} records are derived from {self._root.id}",
                hint="retract some of the records that rest on it first",
            )

    def _derived(self, id: str, user: str | None, born: int, cut: int) -> list[str]:
        """The records whose words name something as evidence since it said what is taken back."""
        found: list[str] = []
        for record, words, named in self._view.named_by(id):
            if record == id or named <= max(born, cut):
                continue
            row = self._view.version(record)
            if row is not None and row.user not in (None, user):
                continue  # for them a name from elsewhere
            known = self._named.setdefault(record, {})
            known[words] = min(named, known.get(words, named))
            found.append(record)
        return found

    def _judge(self, id: str, *, linked: bool) -> None:
        """Takes a record in, or cuts it earlier than before."""
        row = self._view.version(id)
        cut = GONE if linked or row is None else self._cut(row)
        if cut is not None and cut < self.cuts.get(id, cut + 1):
            self._take(id, cut)

    def _cut(self, row: VersionRow) -> int | None:
        """From which event on a record's present words rest on the closure; None if they do not."""
        named = self._named.get(row.id, {})
        cut = named.get(row.text_seq)
        if cut is None:
            return None
        for before in reversed(self._view.versions(row.id)):
            if before.seq >= cut:
                continue
            earlier = named.get(before.text_seq, cut)
            if earlier >= cut:
                return cut
            cut = earlier
        return GONE


def resting_on(view: View, target: VersionRow) -> list[VersionRow]:
    """The records whose present words, or a link, derive them directly from a record."""
    born = view.versions(target.id)[0].seq
    found = {link.source for link in view.links(target.id) if derives(link, target.id)}
    rows = {id: view.version(id) for id in found}
    for id, words, since in view.named_by(target.id):
        row = view.version(id)
        if since > born and row is not None and row.text_seq == words:
            rows[id] = row
    return [row for id, row in sorted(rows.items()) if row is not None and id != target.id]


def derives(link: LinkRow, id: str) -> bool:
    """True if a link says that its source was derived from something."""
    return link.target == id and link.kind == DERIVED and link.trust != "unverified"
