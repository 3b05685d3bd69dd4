"""What a memory would be if a closure had never been written: the oracle of retractions.

It reads the ledger alone. It finds the closure by trying every record until nothing changes, builds
a ledger without it, and folds that in a fresh index. Invariant: beside the fold itself, it shares
nothing with ``lifecycle.retraction`` but the definition (decision 32).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, is_held, unpack_names
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.ledger.codec import decode
from recollect.ledger.scan import scan
from recollect.lifecycle.commands import Actor
from recollect.lifecycle.trust.dependents import lowered
from recollect.model import events as e
from recollect.model.rules import at_least, lowest
from recollect.store.sqlite import memory_index

GONE = 0
PERSON = Actor(trust="person")


class Words(NamedTuple):
    """One text of a record: the event that set it, and since when it names its evidence."""

    seq: int
    named: dict[str, int]


class Known:
    """What the events of a ledger say was derived from what."""

    def __init__(self, events: Iterable[e.Event]) -> None:
        self.born: dict[str, tuple[int, str | None]] = {}
        self.words: dict[str, list[Words]] = {}
        self._said: dict[str, tuple[str, tuple[str, ...]]] = {}  # text and evidence
        self.links: dict[tuple[str, str], tuple[int, str]] = {}
        for event in events:
            self._see(event.seq, event.body)

    def _see(self, seq: int, body: e.AnyBody | None) -> None:
        if isinstance(body, e.EpisodeObserved):
            self.born[body.id] = seq, body.user
        elif isinstance(body, e.RecordAdded):
            self.born[body.id] = seq, body.user
            self.words[body.id] = [Words(seq, dict.fromkeys(body.evidence, seq))]
            self._said[body.id] = body.text, body.evidence
        elif isinstance(body, e.RecordRevised) and body.id in self.words:
            text = None if body.text is UNSET else body.text
            self._revised(seq, body.id, text, None if body.evidence is UNSET else body.evidence)
        elif isinstance(body, e.RecordReviewed) and body.state is not None:
            is_other = body.state.text != self._said[body.id][0]
            text = body.state.text if is_other else None
            self._revised(seq, body.id, text, body.state.evidence)
        elif isinstance(body, e.LinkAdded) and body.kind == "derived_from":
            self.links[body.source, body.target] = seq, body.trust
        elif isinstance(body, e.LinkRemoved) and body.kind == "derived_from":
            self.links.pop((body.source, body.target), None)

    def _revised(
        self, seq: int, id: str, text: str | None, evidence: tuple[str, ...] | None
    ) -> None:
        had, before = self._said[id]
        now = before if evidence is None else evidence
        if text is not None:
            self.words[id].append(Words(seq, dict.fromkeys(now, seq)))
        else:
            named = self.words[id][-1].named
            named.update({name: seq for name in now if name not in before and name not in named})
        self._said[id] = had if text is None else text, now

    def closure(self, root: str) -> dict[str, int]:
        """The cut of everything that was derived from the root; 0 for what is gone."""
        cuts, changed = {root: GONE}, True
        while changed:
            changed = False
            for id in self.words:
                cut = self._cut(id, cuts)
                if cut is not None and cut < cuts.get(id, cut + 1):
                    cuts[id], changed = cut, True
        return cuts

    def _cut(self, id: str, cuts: dict[str, int]) -> int | None:
        for (source, target), (seq, trust) in self.links.items():
            is_counted = source == id and target in cuts and trust != "unverified"
            if is_counted and seq > cuts[target]:
                return GONE
        cut = None
        for words in reversed(self.words[id]):
            if cut is not None and words.seq >= cut:
                continue
            named = self._tainted(id, words, cuts)
            if named is None or (cut is not None and named >= cut):
                return cut
            cut = named
            if cut > words.seq:  # the same words, before they named it
                return cut
        return GONE

    def _tainted(self, id: str, words: Words, cuts: dict[str, int]) -> int | None:
        """Since when these words rest on the closure."""
        user = self.born[id][1]
        found = [
            seq
            for name, seq in words.named.items()
            if name in cuts
            and name != id
            and seq > max(self.born[name][0], cuts[name])
            and user in (None, self.born[name][1])
        ]
        return min(found, default=None)

    def taken(self, cuts: dict[str, int]) -> set[str]:
        """The evidence that the words which are taken back name."""
        return {
            name
            for id, cut in cuts.items()
            for words in self.words.get(id, ())
            for name, seq in words.named.items()
            if seq >= cut
        }


class MaskedFold:
    """A fresh index of a ledger without the events of a closure."""

    def __init__(self, known: Known, cuts: dict[str, int]) -> None:
        self._cuts = cuts
        self._db = memory_index("main")
        self._tables = Tables(self._db)
        self._fold = Fold(self._tables, Clock(e.GENESIS.at, 0))
        self._seq = 0
        self._places: dict[int, int] = {}
        self._at_cut: dict[str, VersionRow] = {}

    def fold(self, events: Sequence[e.Event]) -> Reads:
        """The state without the closure."""
        for event in events:
            body = None if event.body is None else self._kept(event.seq, event.body)
            if body is not None:
                self._apply(event.at, event.origin, body)
                self._places[event.seq] = self._seq
                self._one_holder(event, body)
        self._cap()
        self._tables.flush()
        return Reads(self._db)

    def close(self) -> None:
        self._db.close()

    def _apply(self, at: str, origin: e.Origin, body: e.AnyBody) -> None:
        self._seq += 1
        self._fold.clock.advance(at)
        self._fold.event(self._seq, at, origin, body)
        self._tables.flush()

    def _now(self, id: str) -> VersionRow | None:
        return Reads(self._db).version(id)

    def _kept(self, seq: int, body: e.AnyBody) -> e.AnyBody | None:
        """What is left of an event."""
        if isinstance(body, e.EventsErased):
            targets = tuple(self._places[each] for each in body.targets if each in self._places)
            return msgspec.structs.replace(body, targets=targets)
        if isinstance(body, e.LinkAdded | e.LinkRemoved):
            gone = {body.source, body.target} & {id for id, cut in self._cuts.items() if not cut}
            return None if gone else body
        if isinstance(body, e.ContextHanded) or type(body).__name__.startswith("Proposal"):
            return None
        id = getattr(body, "id", None)
        if self._cuts.get(str(id)) == GONE:
            return None
        if isinstance(body, e.RecordReviewed) and body.state is not None:
            return self._settled(seq, body, body.state)
        if isinstance(body, e.RecordSuperseded):
            return self._not_superseded(body) if self._is_void(seq, body.by) else body
        if id in self._cuts and seq >= self._cuts[id]:
            return self._after_cut(body)
        return body

    def _settled(self, seq: int, body: e.RecordReviewed, state: e.RecordState) -> e.AnyBody | None:
        """A choice between two ledgers: after the cut only what became of the record."""
        by, row = state.superseded_by or "", self._now(body.id)
        assert row is not None
        if seq < self._cuts.get(body.id, seq + 1):
            if state.reason != "superseded" or not self._is_void(seq, by):
                return body
            kept = {name: getattr(row, name) for name in ("status", "reason", "superseded_by")}
            return msgspec.structs.replace(body, state=msgspec.structs.replace(state, **kept))
        became: e.AnyBody = e.RecordRestored(id=body.id)
        if state.reason == "superseded":
            became = e.RecordSuperseded(id=body.id, by=by)
        elif state.status == "forgotten":
            became = e.RecordForgotten(id=body.id)
        elif state.status == "archived":
            became = e.RecordArchived(id=body.id, why="decayed")
        elif row.status in ("inbox", "active", "held"):
            return None
        return self._kept(seq, became)

    def _bounded(self, id: str, trust: e.Trust) -> e.Trust:
        """This trust, but never more than at the cut."""
        return lowest([trust, self._at_cut[id].trust])

    def _is_void(self, seq: int, by: str) -> bool:
        if by not in self._cuts:
            return False
        row = self._now(by)
        is_held = row is not None and row.status == "held" and seq >= self._cuts[by]
        return self._cuts[by] == GONE or is_held

    def _not_superseded(self, body: e.RecordSuperseded) -> e.AnyBody | None:
        """An undo of a forgetting says by what the record was superseded: then it is back."""
        row = self._now(body.id)
        if row is None or row.status in ("active", "held", "inbox") or row.reason == "superseded":
            return None
        keyed = Reads(self._db).keyed(row.key, row.user, holder=False) if row.key else []
        holder = next((other.id for other in keyed if other.status == "active"), None)
        if holder is None or is_held(row):
            return e.RecordRestored(id=row.id, user=body.user)
        return msgspec.structs.replace(body, by=holder)

    def _after_cut(self, body: e.AnyBody) -> e.AnyBody | None:
        """What happened to a record stays, and what was said of it goes; a lowering stays."""
        id = str(getattr(body, "id", ""))
        row = self._now(id)
        assert row is not None
        self._at_cut.setdefault(id, row)
        if isinstance(body, e.RecordRevised):
            return e.RecordRevised(id=id, trust=self._bounded(id, body.trust), user=body.user)
        if isinstance(body, e.RecordTagged):
            return None
        if isinstance(body, e.RecordVouched):  # for other words: at most what it was at the cut
            return body if self._at_cut[id].trust == "person" else None
        if isinstance(body, e.RecordReviewed) and body.verdict == "rejected":
            return None
        if isinstance(body, e.RecordReviewed) and body.verdict == "approved":
            if self._at_cut[id].status == "held":
                return None  # other words were let in
            return msgspec.structs.replace(body, trust=self._bounded(id, body.trust))
        return body

    def _one_holder(self, event: e.Event, body: e.AnyBody) -> None:
        """What comes to hold a key supersedes who holds it."""
        row = self._now(str(getattr(body, "id", "")))
        if row is None or row.key is None or row.status != "active":
            return
        if not isinstance(body, e.RecordAdded | e.RecordRestored | e.RecordReviewed):
            return
        for other in Reads(self._db).keyed(row.key, row.user, holder=False):
            if other.status == "active" and other.id != row.id:
                self._apply(event.at, "person", e.RecordSuperseded(id=other.id, by=row.id))

    def _cap(self) -> None:
        """What comes back has at most the trust that its evidence has by now."""
        changed = True
        while changed:
            changed = False
            for id in [id for id, cut in self._cuts.items() if cut]:
                row = self._now(id)
                if row is None:
                    continue
                trust = lowest([row.trust, *self._lent(row)])
                if not at_least(trust, row.trust):
                    changed = True
                    for body in lowered(Reads(self._db), PERSON, row, trust):
                        self._apply(row.at, "person", body)
                    self._apply(row.at, "person", e.RecordRevised(id=id, trust=trust))

    def _lent(self, row: VersionRow) -> Iterator[e.Trust]:
        reads = Reads(self._db)
        for name in unpack_names(row.evidence):
            episode, record = reads.episode(name), reads.version(name)
            if episode is not None and row.user in (None, episode.user):
                yield episode.trust
            elif record is not None and name != row.id and row.user in (None, record.user):
                yield "unverified" if is_held(record) else record.trust


def events_of(pieces: Iterable[bytes]) -> list[e.Event]:
    """The events of a ledger."""
    return [decode(line) for append in scan(list(pieces)) for line in append.lines]


def differences(before: Sequence[e.Event], root: str, after: Reads) -> tuple[list[str], int]:
    """Where a memory differs from the masked fold of what was before a retraction; and its size."""
    known = Known(before)
    cuts = known.closure(root)
    masked = MaskedFold(known, cuts)
    then = masked.fold(before)
    found = list(_records(known, cuts, then, after)) + list(
        _episodes(known, cuts, root, then, after)
    )
    masked.close()
    return found, len(cuts)


def _records(known: Known, cuts: dict[str, int], then: Reads, after: Reads) -> Iterator[str]:
    holders: dict[tuple[str, str | None], str] = {}
    for id in known.words:
        real, wanted = after.version(id), then.version(id)
        if real is None:  # erased
            continue
        if cuts.get(id) == GONE:
            if real.status != "forgotten" or wanted is not None:
                yield f"{id} is {real.status} and should be gone"
            continue
        if wanted is None:
            yield f"{id} is not in the masked fold"
        elif _shown(real) != _shown(wanted):
            yield f"{id} is {_shown(real)} and should be {_shown(wanted)} (cut {cuts.get(id)})"
        if real.status == "active" and real.key is not None:
            if (real.key, real.user) in holders:
                yield f"{id} and {holders[real.key, real.user]} hold the key {real.key}"
            holders[real.key, real.user] = id


def _shown(row: VersionRow) -> tuple[object, ...]:
    by = row.superseded_by if row.status == "archived" else None
    return (row.text, row.status, row.trust, row.evidence, row.tags, by)


def _episodes(
    known: Known, cuts: dict[str, int], root: str, then: Reads, after: Reads
) -> Iterator[str]:
    apart = known.taken(cuts) | {root}
    for real in after.episodes(NOW, 10_000):
        if real.id == root and real.hidden != "forgotten":
            yield f"{real.id} was retracted and is {real.hidden}"
        wanted = then.episode(real.id)
        if real.id not in apart and (wanted is None or wanted.hidden != real.hidden):
            yield f"{real.id} is {real.hidden} and should be {wanted and wanted.hidden}"
