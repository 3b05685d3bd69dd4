"""What has less trust once a closure is left out.

Responsible for the trust of what is cut, which comes back, and of everything derived from that.
Leaves what was cut to ``closure`` and what it then says to ``remainder``. Invariants: what rests on
a record that falls has no more trust than it, unless a review let it in since; no trust is raised;
nothing falls because of a record that is gone, or because of words that are taken back.

``lifecycle.trust.dependents`` follows what the words of records name now. Here a record that was
cut rests on what its earlier words named, and on its links.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from recollect.index.fold.versions import revised
from recollect.index.rows import VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.records.earlier import evidence_then
from recollect.lifecycle.retraction.closure import GONE, derives
from recollect.lifecycle.retraction.remainder import Cuts, Remainder
from recollect.lifecycle.trust.dependents import lowerable, require_few
from recollect.lifecycle.trust.lineage import lent_by
from recollect.lifecycle.view import View
from recollect.model.events import Trust
from recollect.model.rules import at_least, lowest


class Fall:
    """The records as they will be, and which of those that were not cut have less trust then."""

    def __init__(self, view: View, actor: c.Actor, cuts: Cuts, remainder: Remainder) -> None:
        self._view = view
        self._actor = actor
        self._cuts = cuts
        self._let_in = remainder.let_in
        self._naming: dict[str, list[str]] = {}  # evidence → the records that will name it again
        self._waiting: deque[str] = deque()
        self.rows = remainder.rows
        self.fallen: set[str] = set()

    def spread(self) -> None:
        """Lowers what was cut to the trust of its evidence, and all that rests on what fell."""
        cut = [id for id, at in self._cuts.items() if at != GONE]
        for id in cut:
            lent = dict(self._lent(self.rows[id]))
            for name in lent:
                self._naming.setdefault(name, []).append(id)
            self._lower(id, lowest([self.rows[id].trust, *lent.values()]))
        self._waiting.extend(id for id in cut if self._lends_less(id))
        while self._waiting:
            above = self.rows[self._waiting.popleft()]
            trust = lent_by(above)
            for id in self._resting_on(above, trust):
                if id not in self._cuts:
                    self._take(id, above)
                self._lower(id, trust)

    def _lent(self, row: VersionRow) -> Iterable[tuple[str, Trust]]:
        """What a version names as evidence, each with the trust that it passes on."""
        for name in evidence_then(self._view, row):
            episode = self._view.episode(name)
            record = self.rows.get(name) or self._view.version(name)
            if episode is not None and row.user in (None, episode.user):
                yield name, episode.trust
            elif record is not None and name != row.id and row.user in (None, record.user):
                yield name, lent_by(record)

    def _lends_less(self, id: str) -> bool:
        now = self._view.version(id)
        return now is not None and not at_least(lent_by(self.rows[id]), lent_by(now))

    def _resting_on(self, above: VersionRow, trust: Trust) -> Iterable[str]:
        """What will be derived directly from a record: what was cut by its earlier words."""
        yield from (id for id in self._view.derived_from(above, trust) if id not in self._cuts)
        yield from self._naming.get(above.id, ())
        for link in self._view.links(above.id):
            is_cut = self._cuts.get(link.source, GONE) != GONE
            if is_cut and derives(link, above.id) and link.seq > self._let_in.get(link.source, 0):
                yield link.source

    def _take(self, id: str, above: VersionRow) -> None:
        """Takes in a record that was not cut, if the actor may lower it."""
        self.rows.setdefault(id, lowerable(self._view, self._actor, id, above))
        self.fallen.add(id)
        require_few(len(self.fallen), above)

    def _lower(self, id: str, trust: Trust) -> None:
        row = self.rows[id]
        if not at_least(trust, row.trust):
            self.rows[id] = revised(row, trust)
            self._waiting.append(id)
