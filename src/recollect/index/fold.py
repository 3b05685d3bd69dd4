"""The one fold: what every event does to the index.

Responsible for all derived state. Leaves whether an act may happen to ``lifecycle``; but an event
that no rule of ``model.rules`` lets its origin do changes nothing, however it came into the ledger.
Invariants: the fold is total (an event about something unknown, or whose body was erased, changes
nothing); it depends on events alone, so folding a ledger again gives the same rows; a subject whose
events are erased leaves the same rows as if it had never been.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET

from recollect.index.rows import (
    EpisodeRow,
    FrameRow,
    LinkRow,
    VersionRow,
    content_id,
    frame_row,
    is_held,
    pack_names,
    pack_object,
    recallable_episode,
    recallable_record,
    receipt_row,
    unpack_names,
    version_row,
)
from recollect.index.shadow import Shadows
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Tables
from recollect.index.text import tokens
from recollect.model import rules
from recollect.model.events import (
    AnyBody,
    ContextHanded,
    EpisodeForgotten,
    EpisodeObserved,
    EpisodeRestored,
    Event,
    EventsErased,
    FrameDropped,
    FrameSet,
    LinkAdded,
    LinkRemoved,
    Origin,
    RecordAdded,
    RecordForgotten,
    RecordReinforced,
    RecordRestored,
    RecordRevised,
    RecordSuperseded,
    RecordTagged,
    Status,
)
from recollect.model.instants import to_microseconds
from recollect.model.limits import ACTIVE_GAP_MAX_US, US_PER_HOUR
from recollect.model.values import Op

# What a revision may change that a row holds as it is.
_PLAIN: Final = (
    "kind",
    "about",
    "confidence",
    "source_type",
    "valid_from",
    "valid_to",
    "decay_tier",
)


class Clock:
    """Active time: the gaps between appends that are short enough to count as activity."""

    def __init__(self, at: str, active_us: int) -> None:
        self.at = at
        self.active_us = active_us

    def advance(self, at: str) -> None:
        """Moves on to the instant of the next append."""
        if self.at != at:
            if self.at > "1":  # not before the first event
                gap = to_microseconds(at) - to_microseconds(self.at)
                self.active_us += gap if 0 < gap < ACTIVE_GAP_MAX_US else 0
            self.at = at

    @property
    def hours(self) -> float:
        """Active hours so far."""
        return self.active_us / US_PER_HOUR


class Fold:
    """Applies events, in order, to one space's tables."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._tables = tables
        self._shadows = Shadows(tables)
        self.clock = clock

    def append(self, events: Sequence[Event]) -> None:
        """One whole append, as read from a ledger: one or more commands."""
        start = 0
        for index, event in enumerate(events, 1):
            if index == len(events) or events[index].command_id != event.command_id:
                self.command(events[start:index])
                start = index

    def command(self, events: Sequence[Event]) -> None:
        """The events of one command."""
        self.clock.advance(events[0].at)
        for event in events:
            if event.body is not None:
                self.event(event.seq, event.at, event.origin, event.body)
        marks = [event.body.command for event in events if event.body and event.body.command]
        erased = any(event.body is None for event in events)
        self.close(events[0].command_id, events[0].seq, events[-1].seq, [] if erased else marks)

    def close(self, command_id: str, first: int, last: int, marks: Sequence[str]) -> None:
        """Notes that a command happened, so that it happens once."""
        row = (last, first, command_id, " ".join(marks), self.clock.at, self.clock.active_us)
        self._tables.write("add_command", row, command_id)

    def event(self, seq: int, at: str, origin: Origin, body: AnyBody) -> None:
        """One event. The clock stands at its append already."""
        if not rules.is_actor(origin, body):
            return  # genesis, a seal, a cut tail: they change no table
        match body:
            case RecordAdded():
                self._record_added(seq, at, origin, body)
            case RecordRevised():
                self._record_revised(seq, at, origin, body)
            case RecordSuperseded():
                self._record_superseded(seq, at, origin, body)
            case RecordReinforced():
                self._record_reinforced(seq, at, origin, body)
            case RecordForgotten():
                self._record_forgotten(seq, at, origin, body)
            case RecordRestored():
                self._record_restored(seq, at, origin, body)
            case RecordTagged():
                self._record_tagged(seq, at, origin, body)
            case EpisodeObserved():
                self._episode_observed(seq, at, origin, body)
            case EpisodeForgotten():
                self._episode_forgotten(seq, origin, body)
            case EpisodeRestored():
                self._episode_restored(seq, origin, body)
            case LinkAdded():
                self._link_added(seq, at, origin, body)
            case LinkRemoved():
                self._link_removed(seq, origin, body)
            case FrameSet() | FrameDropped():
                self._frame_changed(seq, at, origin, body)
            case ContextHanded():
                self._context_handed(seq, at, body)
            case EventsErased():
                if rules.may_erase(origin):
                    self._events_erased(seq, body)
            case _:
                pass  # an accepted loss changes no table

    # Records.

    def _record_added(self, seq: int, at: str, origin: Origin, body: RecordAdded) -> None:
        if self._tables.has_version(body.id) or not rules.may_add(origin, body):
            return
        row = VersionRow(  # by position, in the order of the schema: a rebuild makes millions
            body.id,
            seq,
            STILL,  # until
            at,
            "added",  # what
            origin,
            None,  # note
            at,  # created_at
            seq,  # text_seq
            body.text,
            content_id(body.text),  # content_id
            body.kind,
            body.key,
            body.about,
            pack_names(body.tags),  # tags
            body.user,
            body.session,
            body.agent,
            body.confidence,
            body.source_type,
            pack_names(body.evidence),  # evidence
            int(body.is_hypothesis),  # is_hypothesis
            body.status,
            None,  # reason
            body.valid_from,
            body.valid_to,
            body.expires,
            body.trust,
            body.supersedes,
            None,  # superseded_by
            0,  # reinforcement_count
            self.clock.hours,  # last_reinforced_at
            body.decay_tier,
            pack_object(body.data),  # data
        )
        self._tables.begin(row)
        self._shelve(row.text_seq, row.text, recallable_record(row))
        for tag in body.tags:
            self._tables.write("add_tag", (tag, body.id, seq, STILL), body.id)
        self._reshelve(self._shadows.follow(None, row, body.evidence))

    def _record_revised(self, seq: int, at: str, origin: Origin, body: RecordRevised) -> None:
        old = self._changeable(origin, body)
        if old is None:
            return
        new = self._next(old, "revised", seq, at, origin, body.reason)._replace(trust=body.trust)
        for field in _PLAIN:
            value = getattr(body, field)
            if value is not UNSET:
                new = new._replace(**{field: value})
        if body.expires is not UNSET:
            new = new._replace(expires=body.expires)
        if body.is_hypothesis is not UNSET:
            new = new._replace(is_hypothesis=int(body.is_hypothesis))
        if body.data is not UNSET:
            new = new._replace(data=pack_object(body.data))
        if body.text is not UNSET:
            new = new._replace(text=body.text, text_seq=seq, content_id=content_id(body.text))
        if body.evidence is not UNSET:
            new = new._replace(evidence=pack_names(body.evidence))
        if body.trust == "unverified" and new.status in ("active", "inbox"):
            new = new._replace(status="held")  # it turned out to rest on something unverified
        before = unpack_names(old.evidence) if old.text_seq == new.text_seq else ()
        self._put(old, new, [ref for ref in unpack_names(new.evidence) if ref not in before])

    def _record_superseded(self, seq: int, at: str, origin: Origin, body: RecordSuperseded) -> None:
        old = self._changeable(origin, body)
        if old is not None:
            new = self._next(old, "superseded", seq, at, origin, None)
            self._put(
                old, new._replace(status="archived", reason="superseded", superseded_by=body.by)
            )

    def _record_reinforced(self, seq: int, at: str, origin: Origin, body: RecordReinforced) -> None:
        old = self._changeable(origin, body)
        if old is not None:
            new = self._next(old, "reinforced", seq, at, origin, body.how)
            count = old.reinforcement_count + 1
            self._put(
                old, new._replace(reinforcement_count=count, last_reinforced_at=self.clock.hours)
            )

    def _record_forgotten(self, seq: int, at: str, origin: Origin, body: RecordForgotten) -> None:
        old = self._changeable(origin, body)
        if old is not None:
            new = self._next(old, "forgotten", seq, at, origin, body.reason)
            kept = "sources kept" if body.sources == "keep" else None
            reason = "was held" if old.status == "held" else kept
            self._put(old, new._replace(status="forgotten", reason=reason))

    def _record_restored(self, seq: int, at: str, origin: Origin, body: RecordRestored) -> None:
        old = self._changeable(origin, body)
        if old is not None:
            new = self._next(old, "restored", seq, at, origin, None)
            status: Status = "held" if is_held(old) else "active"
            self._put(old, new._replace(status=status, reason=None, superseded_by=None))

    def _record_tagged(self, seq: int, at: str, origin: Origin, body: RecordTagged) -> None:
        old = self._changeable(origin, body)
        if old is None:
            return
        before = unpack_names(old.tags)
        after = tuple(tag for tag in before if tag not in body.remove)
        after += tuple(tag for tag in body.add if tag not in after)
        new = self._next(old, "tagged", seq, at, origin, None)._replace(tags=pack_names(after))
        self._put(old, new)
        for tag in before:
            if tag not in after:
                self._tables.write("end_tag", (seq, tag, body.id), body.id)
        for tag in after:
            if tag not in before:
                self._tables.write("add_tag", (tag, body.id, seq, STILL), body.id)

    def _changeable(self, origin: Origin, body: rules.Change) -> VersionRow | None:
        """The record that an event changes, if there is one and a rule lets its origin do that."""
        old = self._tables.version(body.id)
        if old is None or rules.may_change(origin, body, old.trust, old.user, old.origin):
            return old
        return None

    def _next(
        self, old: VersionRow, what: Op, seq: int, at: str, origin: Origin, note: str | None
    ) -> VersionRow:
        """The version that follows ``old``, so far the same."""
        return old._replace(seq=seq, at=at, what=what, origin=origin, note=note)

    def _put(self, old: VersionRow, new: VersionRow, named: Iterable[str] = ()) -> None:
        """Ends one version and begins the next, with new evidence; text and shadows follow."""
        tables = self._tables
        tables.settle(old.id)  # what is ended must have been sent before
        tables.write("end_version", (new.seq, old.seq), old.id, old.key, old.content_id)
        tables.begin(new)
        was, now = recallable_record(old), recallable_record(new)
        if old.text_seq != new.text_seq:
            self._move(old.text_seq, old.text, was, False)
            self._shelve(new.text_seq, new.text, now)
        else:
            self._move(new.text_seq, new.text, was, now)
        self._reshelve(self._shadows.follow(old, new, named))

    # Episodes.

    def _episode_observed(self, seq: int, at: str, origin: Origin, body: EpisodeObserved) -> None:
        if self._tables.episode(body.id) is not None:
            return
        row = EpisodeRow(
            id=body.id,
            seq=seq,
            text=body.text,
            role=body.role,
            user=body.user,
            session=body.session,
            agent=body.agent,
            said_at=body.said_at,
            at=at,
            metadata=pack_object(body.metadata),
            origin=origin,
            trust=rules.said_with(origin, body.role),
        )
        self._tables.begin_episode(row)
        self._shelve(seq, row.text, recallable_episode(row))  # what named it before is not tied

    def _episode_forgotten(self, seq: int, origin: Origin, body: EpisodeForgotten) -> None:
        episode = self._heard(origin, body)
        if episode is not None and episode.hidden != "forgotten":
            self._tables.write("add_hidden", (body.id, "forgotten", seq, STILL), body.id)
            self._reshelve([episode])

    def _episode_restored(self, seq: int, origin: Origin, body: EpisodeRestored) -> None:
        episode = self._heard(origin, body)
        if episode is not None and episode.hidden == "forgotten":
            self._tables.write("end_hidden", (seq, body.id, "forgotten"), body.id)
            self._reshelve([episode])

    def _heard(self, origin: Origin, body: EpisodeForgotten | EpisodeRestored) -> EpisodeRow | None:
        """The episode that an event hides or shows, if a rule lets its origin do that."""
        episode = self._tables.episode(body.id)
        if episode is None or not rules.is_visible(body.user, episode.user):
            return None
        return episode if rules.at_least(origin, episode.trust) else None

    def _reshelve(self, episodes: Iterable[EpisodeRow]) -> None:
        """Moves texts to where the present state of their episodes wants them."""
        for before in episodes:
            after = self._tables.episode(before.id) or before
            was, now = recallable_episode(before), recallable_episode(after)
            self._move(before.seq, before.text, was, now)

    # Links.

    def _link_added(self, seq: int, at: str, origin: Origin, body: LinkAdded) -> None:
        old = self._tables.link(body.source, body.target, body.kind)
        if not rules.may_link(origin, body, None if old is None else (old.weight, old.trust)):
            return
        count = 0
        if old is not None:
            self._tables.write("end_link", (seq, *old[:3]), body.source, body.target)
            again = (old.weight, old.trust) == (body.weight, body.trust)
            count = old.reinforcement_count + again
        row = LinkRow(
            body.source, body.target, body.kind, seq, STILL, body.weight, body.trust, at, count
        )
        self._tables.write("add_link", row, body.source, body.target)

    def _link_removed(self, seq: int, origin: Origin, body: LinkRemoved) -> None:
        old = self._tables.link(body.source, body.target, body.kind)
        if old is not None and rules.at_least(origin, old.trust):
            ended = (seq, body.source, body.target, body.kind)
            self._tables.write("end_link", ended, body.source, body.target)

    # Frames and receipts.

    def _frame_changed(
        self, seq: int, at: str, origin: Origin, body: FrameSet | FrameDropped
    ) -> None:
        name = _frame(body.name)
        known = self._tables.settle(name).one("get_frame", {"name": body.name, "at": NOW})
        trust = None if known is None else FrameRow._make(known).trust
        if not rules.may_frame(origin, body, trust):
            return
        self._tables.write("end_frame", (seq, body.name), name)
        if isinstance(body, FrameSet):
            self._tables.write("add_frame", frame_row(seq, STILL, at, body), name)

    def _context_handed(self, seq: int, at: str, body: ContextHanded) -> None:
        known = self._tables.settle(body.id).one("get_receipt", {"id": body.id, "at": NOW})
        if known is None:
            self._tables.write("add_receipt", receipt_row(seq, at, body), body.id)

    # Erasure.

    def _events_erased(self, seq: int, body: EventsErased) -> None:
        """Everything about the subjects of these events goes, as if it had never been."""
        self._tables.flush()
        db = self._tables.db
        sources: dict[str, None] = {}  # of the records that go
        for target in body.targets:
            if db.one("get_erased", {"seq": target}) is not None:
                continue  # named twice, or erased before: the first order counts
            db.many("add_erased", [(target, seq)])
            db.many("blank_command", [(target, target)])
            record = db.one("record_of_event", {"seq": target})
            if record is not None:
                sources.update(dict.fromkeys(self._drop_record(str(record[0]))))
            episode = db.one("episode_of_event", {"seq": target, "at": NOW})
            if episode is not None:
                self._drop_episode(EpisodeRow._make(episode))
            link = db.one("link_of_event", {"seq": target})
            if link is not None:
                db.many("drop_link", [(target,)])
            frame = db.one("frame_of_event", {"seq": target})
            if frame is not None:
                db.many("drop_frame", [(frame[0],)])
            db.many("drop_receipt", [(target,)])
        for source in sources:
            self._reshelve(self._shadows.compute(source))
        self._tables.flush()

    def _drop_record(self, id: str) -> list[str]:
        """Takes a record out, and says what it named as evidence."""
        db = self._tables.db
        episodes = db.rows("evidence_of_record", {"record": id})
        for row in map(version_row, db.rows("get_versions", {"id": id, "at": NOW})):
            if row.text_seq == row.seq:
                now = self._tables.version(id)
                live = now is not None and now.text_seq == row.seq and recallable_record(now)
                self._unshelve(row.text_seq, row.text, live)
        self._tables.flush()
        self._tables.drop()
        for name in ("drop_versions", "drop_tags", "drop_evidence"):
            db.many(name, [(id,)])
        return [str(episode) for (episode,) in episodes]

    def _drop_episode(self, episode: EpisodeRow) -> None:
        self._unshelve(episode.seq, episode.text, recallable_episode(episode))
        self._tables.flush()
        self._tables.drop()
        for name in ("drop_episode", "drop_hidden", "drop_resting_on"):
            self._tables.db.many(name, [(episode.id,)])

    # Full text.

    def _shelve(self, doc: int, text: str, recallable: bool) -> None:
        name = "shelve_recallable" if recallable else "shelve_rest"
        self._tables.write(name, (doc, tokens(text)))

    def _unshelve(self, doc: int, text: str, recallable: bool) -> None:
        name = "unshelve_recallable" if recallable else "unshelve_rest"
        self._tables.write(name, (doc, tokens(text)))

    def _move(self, doc: int, text: str, was: bool, now: bool) -> None:
        if was != now:
            self._unshelve(doc, text, was)
            self._shelve(doc, text, now)


def _frame(name: str) -> str:
    """What a frame is known by among ids: none of them holds a blank."""
    return f"frame {name}"
