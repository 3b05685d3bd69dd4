"""Where two ledgers changed the same after they were one: what is there on each side.

Responsible for which changes concern each other, for what both sides show, and for the events that
give both ledgers the side that was chosen. Leaves asking to the interfaces. Invariants: changes of
one thing on one side alone never need a decision; what was decided is whole, so it holds in
whichever order the changes before it stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import structs

from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, unpack_names, unpack_object
from recollect.memory.merging.histories import History, Said, Told
from recollect.model import events as e
from recollect.model.rules import lowest
from recollect.model.values import LedgerConflict, LedgerSide
from recollect.model.words import status_of

Comes = Callable[[Told, Said], bool]  # true if an event can be brought
KeyOf = Callable[[str], tuple[str, str | None] | None]  # the key and the user of a record

_LIVE: Final = ("active", "inbox", "held")
_WHOLE: Final = (
    e.RecordRevised,
    e.RecordForgotten,
    e.RecordArchived,
    e.RecordRestored,
    e.RecordReviewed,
    e.RecordVouched,
)
_BASE_FIELDS: Final = frozenset(e.Body.__struct_fields__)


class Place(msgspec.Struct, frozen=True, order=True):
    """One thing that changes: a record, a key, a link, a tag of a record and so on."""

    what: str
    name: tuple[str, ...]


class Meeting:
    """Things that changed together, on both sides."""

    def __init__(self, places: Iterable[Place], since: int | None, *, is_raised: bool) -> None:
        self.places = sorted(places)
        self.since = since  # the position here before theirs came, if it came already
        self.is_raised = is_raised  # only what came without a signature is in the way: no question
        self.records = [one.name[0] for one in self.places if one.what == "record"]
        self.rest = [one for one in self.places if one.what not in ("record", "key")]

    @property
    def id(self) -> str:
        """What a person names it by."""
        if self.records:
            return self.records[0]
        first = self.rest[0] if self.rest else self.places[0]
        return ":".join((first.what, *first.name))


def places_of(body: e.AnyBody, key_of: KeyOf) -> Iterator[Place]:
    """What an event changes, so far as the order of two such events would matter."""
    match body:
        case e.RecordAdded():
            yield Place("record", (body.id,))
            yield from (Place("tag", (body.id, tag)) for tag in body.tags)
            if body.key is not None:
                yield Place("key", (body.key, body.user or ""))
        case e.RecordSuperseded():
            yield from _record(body.id, key_of)
            yield Place("record", (body.by,))
        case e.RecordTagged():
            for tag in (*body.add, *body.remove):
                yield Place("tag", (body.id, tag))
        case e.LinkAdded() | e.LinkRemoved():
            yield Place("link", (body.source, body.target, body.kind))
        case e.DocumentSet() | e.DocumentDropped():
            yield Place("document", (body.type, body.name))
        case e.FrameSet() | e.FrameDropped():
            yield Place("preset", (body.name,))
        case e.EpisodeForgotten() | e.EpisodeRestored():
            yield Place("episode", (body.id,))
        case _ if isinstance(body, _WHOLE):
            yield from _record(body.id, key_of)


def _record(id: str, key_of: KeyOf) -> Iterator[Place]:
    yield Place("record", (id,))
    key = key_of(id)
    if key is not None:
        yield Place("key", (key[0], key[1] or ""))


class _Groups:
    """Places that one event changes belong together, and so do those of the next that has one."""

    def __init__(self) -> None:
        self._over: dict[Place, Place] = {}

    def of(self, place: Place) -> Place:
        """The one place that stands for all that belong together."""
        while (over := self._over.setdefault(place, place)) != place:
            place = over
        return place

    def join(self, places: list[Place]) -> None:
        """These belong together."""
        for place in places:
            self._over[self.of(place)] = self.of(places[0])

    def all(self) -> dict[Place, list[Place]]:
        """Every group, under the place that stands for it."""
        found: dict[Place, list[Place]] = {}
        for place in list(self._over):
            found.setdefault(self.of(place), []).append(place)
        return found


def meetings(
    mine: History,
    theirs: History,
    key_of: KeyOf,
    stays: Comes,
    comes: Comes,
    raised: set[str] | None,
) -> list[Meeting]:
    """What both sides changed without knowing of each other, and no person has decided.

    What came without a signature gives way to what comes with one: ``raised`` are the commands
    that did first one and then the other, or None if nothing may give way.
    """
    groups = _Groups()
    here = list(_touched(mine, key_of, groups, stays, theirs))
    there = list(_touched(theirs, key_of, groups, comes, mine))
    ours = [(told, one, groups.of(place)) for told, one, place in here]
    alone, came, low = _alone(ours, theirs)
    new, again = set[Place](), set[Place]()
    for told, one, place in there:
        is_again = told.id in (raised or ())
        if is_again:
            again.add(groups.of(place))
        if not mine.parts(told) or (is_again and not mine.has(told, one)):
            new.add(groups.of(place))
    new.update(map(groups.of, _said_later(mine, theirs, comes)))
    asked = {one for one in alone if one in new or one in came}
    gives = low & (new | again) if raised is not None else set[Place]()
    together = groups.all()
    found = [
        Meeting(together[one], came.get(one), is_raised=one not in alone) for one in asked | gives
    ]
    return sorted(found, key=lambda each: each.places)


def _said_later(mine: History, theirs: History, comes: Comes) -> Iterator[Place]:
    """Episodes that come now, of which it came before that they were forgotten or restored."""
    low = (one.body for told in mine.commands if told.is_low for one in told.events)
    changed = {b.id for b in low if isinstance(b, e.EpisodeForgotten | e.EpisodeRestored)}
    for told in theirs.commands if changed else ():
        for one in told.events:
            body = one.body
            if not isinstance(body, e.EpisodeObserved) or body.id not in changed:
                continue
            if comes(told, one) and not mine.has(told, one):
                yield Place("episode", (body.id,))


def _touched(
    history: History, key_of: KeyOf, groups: _Groups, wanted: Comes, other: History
) -> Iterator[tuple[Told, Said, Place]]:
    """What the commands of a ledger change; what one event changes belongs together.

    An agent may tag a record until a person vouches for it, and may restore one until a person tags
    it. If the other ledger did one of both, the tag is a change of the record.
    """
    vouched = _ids(other, e.RecordReviewed, e.RecordVouched)
    restored = _ids(other, e.RecordRestored)
    for told in history.commands:
        for one in told.events:
            if one.body is None or not wanted(told, one):
                continue
            places = list(places_of(one.body, key_of))
            if isinstance(one.body, e.RecordTagged):
                by = restored if one.origin == "person" else vouched | restored
                places += _record(one.body.id, key_of) if one.body.id in by else ()
            groups.join(places)
            yield from ((told, one, place) for place in places)


def _ids(
    history: History, *kinds: type[e.RecordReviewed | e.RecordVouched | e.RecordRestored]
) -> set[str]:
    """The records that a ledger has such events about."""
    bodies = (one.body for told in history.commands for one in told.events)
    return {b.id for b in bodies if isinstance(b, kinds)}


def _alone(
    here: list[tuple[Told, Said, Place]], theirs: History
) -> tuple[set[Place], dict[Place, int | None], set[Place]]:
    """What only this side has changed; where theirs came to it without being settled; what is low.

    A merge that was stopped leaves the second: the changes came, and the decision did not. Where
    this side has changed it again since, it stands as it is now (None). Low is what came without a
    signature.
    """
    alone, came, low = set[Place](), dict[Place, int | None](), set[Place]()
    for told, one, place in here:
        is_own = not theirs.parts(told)
        if is_settling(told):
            came.pop(place, None)
            low.discard(place)
        elif told.is_low:
            low.add(place)
        elif is_own and place in came:
            came[place] = None
        if told.brought and not is_own and place in alone:
            came.setdefault(place, one.seq - 1)
        if is_own and not told.is_low:
            alone.add(place)
    return alone, came, low


SETTLING: Final = "settled-"
UNFINISHED: Final = "settling-"  # a part of a decision that one command cannot hold


def is_settling(told: Told) -> bool:
    """True if a command says which side of a meeting holds."""
    return told.base.startswith(SETTLING)


# What each side has.


class Sides:
    """What is at the places of a meeting: here, and in the other ledger."""

    def __init__(
        self, meeting: Meeting, ours: Reads, theirs: Reads, mine: Changes, others: Changes
    ) -> None:
        self.meeting = meeting
        self._rows = (
            {id: ours.version(id) for id in meeting.records},
            {id: theirs.version(id) for id in meeting.records},
        )
        self._tagged = (
            {place: _tagged(ours, theirs, place) for place in meeting.rest if place.what == "tag"},
            {place: _tagged(theirs, ours, place) for place in meeting.rest if place.what == "tag"},
        )
        self._last = (
            {
                place: _body(mine.last((place,), meeting.since))
                for place in meeting.rest
                if place.what != "tag"
            },
            {place: _body(others.last((place,))) for place in meeting.rest if place.what != "tag"},
        )
        self._who = (
            _who(mine.last(meeting.places, meeting.since)),
            _who(others.last(meeting.places)),
        )

    @property
    def is_same(self) -> bool:
        """True if both sides have come to the same."""
        if not self._is_alike:
            return False
        last = ({place: _content(body) for place, body in side.items()} for side in self._last)
        return all(one == other for one, other in (tuple(last), self._tagged))

    @property
    def _is_alike(self) -> bool:
        """True if the records are the same, or if two that say the same hold the key."""
        ours, theirs = (dict(map(_shown_state, side.items())) for side in self._rows)
        if ours == theirs:
            return True
        live = [
            [row for row in side.values() if row is not None and row.status in _LIVE]
            for side in self._rows
        ]
        if [len(rows) for rows in live] != [1, 1] or live[0][0].id == live[1][0].id:
            return False
        one, other = (structs.replace(_state(row), evidence=()) for (row,) in live)
        return one == other and live[0][0].trust == live[1][0].trust

    def conflict(self) -> LedgerConflict:
        """Both sides, for a person."""
        return LedgerConflict(
            id=self.meeting.id,
            what=self.meeting.places[0].what if not self.meeting.records else "record",
            ours=self._side(0),
            theirs=self._side(1),
        )

    def _side(self, which: int) -> LedgerSide:
        rows = [row for row in self._rows[which].values() if row is not None]
        live = tuple(row.text for row in rows if row.status in _LIVE)
        gone = tuple(
            f"({status_of(row.status, row.reason)}) {row.text}"
            for row in rows
            if row.status not in _LIVE
        )
        rest = [_shown(place, body) for place, body in self._last[which].items()]
        for place, has in self._tagged[which].items():
            rest.append(f"{place.name[0]} {'with' if has else 'without'} the tag {place.name[1]}")
        origin, agent, at = self._who[which]
        return LedgerSide(
            values=(*(live or gone), *(one for one in rest if one)),
            key=next((row.key for row in rows if row.key), None),
            by=origin,
            agent=agent,
            at=at,
        )

    def settled(self, choice: str, digest: str, most: e.Trust) -> list[e.AnyBody]:
        """The events after which both ledgers have the chosen side."""
        which = 0 if choice == "ours" else 1
        cap: e.Trust = "person" if which == 0 else most
        chosen, other = self._rows[which], self._rows[1 - which]
        live = (id for id, row in chosen.items() if row is not None and row.status == "active")
        winner = next(live, None)
        bodies: list[e.AnyBody] = []
        for id in self.meeting.records:
            row = chosen[id] or _retired(other[id], winner)
            if row is not None:
                bodies.append(_reviewed(row, digest, choice, cap))
        for place, body in self._last[which].items():
            bodies += _again(place, body, cap)
        for place, has in self._tagged[which].items():
            id, tag = place.name
            add, remove = ((tag,), ()) if has else ((), (tag,))
            bodies.append(e.RecordTagged(id=id, add=add, remove=remove))
        return bodies

    def digest(self) -> str:
        """A digest over what a person sees of it."""
        return sha256(msgspec.json.encode(self.conflict())).hexdigest()


class Changes:
    """The events of a ledger about each place, in order."""

    def __init__(self, history: History) -> None:
        self._of: dict[Place, list[Said]] = {}
        for told in history.commands:
            for one in told.events:
                for place in () if one.body is None else places_of(one.body, lambda _: None):
                    self._of.setdefault(place, []).append(one)

    def last(self, places: Iterable[Place], until: int | None = None) -> Said | None:
        """The last event about one of these places, or the last up to a position."""
        found = (
            one
            for place in places
            for one in self._of.get(place, ())
            if until is None or one.seq <= until
        )
        return max(found, key=lambda one: one.seq, default=None)


def _who(last: Said | None) -> tuple[str, str | None, str]:
    """Who changed it last, and when."""
    if last is None or last.body is None:
        return "system", None, ""
    return last.origin, last.body.agent, last.body.written_at or last.at


def _shown_state(item: tuple[str, VersionRow | None]) -> tuple[str, object]:
    id, row = item
    return id, None if row is None else (row.trust, _state(row))


def _body(said: Said | None) -> e.AnyBody | None:
    return None if said is None else said.body


def _tagged(reads: Reads, other: Reads, place: Place) -> bool:
    """True if a record has a tag on one side, or on the other if that side has no such record."""
    row = reads.version(place.name[0]) or other.version(place.name[0])
    return row is not None and place.name[1] in unpack_names(row.tags)


def _content(body: e.AnyBody | None) -> object:
    """What an event says about a place, without who said it."""
    if body is None:
        return None
    return type(body), [v for name, v in structs.asdict(body).items() if name not in _BASE_FIELDS]


def _shown(place: Place, body: e.AnyBody | None) -> str:
    named = " ".join((place.what, *place.name))
    match body:
        case None:
            return ""
        case e.LinkRemoved() | e.DocumentDropped() | e.FrameDropped():
            return f"{named} removed"
        case e.LinkAdded():
            return f"{named} weight {body.weight:g} trust {body.trust}"
        case e.DocumentSet():
            return f"{named} {msgspec.json.encode(body.data).decode()}"
        case e.EpisodeForgotten():
            return f"{named} forgotten"
        case e.EpisodeRestored():
            return f"{named} restored"
        case _:
            return f"{named} set"


def _state(row: VersionRow) -> e.RecordState:
    same = {name: getattr(row, name) for name in e.RecordState.__struct_fields__}
    packed = {
        "evidence": unpack_names(row.evidence),
        "is_hypothesis": bool(row.is_hypothesis),
        "data": unpack_object(row.data),
    }
    return e.RecordState(**{**same, **packed})


def _retired(row: VersionRow | None, winner: str | None) -> VersionRow | None:
    """A record that only the other side has: what was chosen takes its place."""
    if row is None or row.status not in _LIVE:
        return row
    if winner is None:
        return row._replace(status="forgotten", reason=None)
    return row._replace(status="archived", reason="superseded", superseded_by=winner)


def _reviewed(row: VersionRow, digest: str, choice: str, cap: e.Trust) -> e.RecordReviewed:
    return e.RecordReviewed(
        id=row.id,
        trust=lowest([row.trust, cap]),
        digest=digest,
        verdict="settled",
        reason=choice,
        state=_state(row),
        user=row.user,
    )


def _again(place: Place, body: e.AnyBody | None, cap: e.Trust) -> list[e.AnyBody]:
    """What was chosen, said once more, so that it is the last word in both ledgers."""
    match body:
        case None:
            return []
        case e.LinkAdded():
            source, target, kind = place.name
            removed = e.LinkRemoved(source=source, target=target, kind=kind, user=body.user)
            return [removed, _as_word(body, cap)]
        case _:
            return [_as_word(body, cap)]


def _as_word(body: e.AnyBody, cap: e.Trust) -> e.AnyBody:
    """The same event as a decision of now: it is the person's who decides, and nobody else's."""
    again = structs.replace(
        body, command=None, written_at=None, author=None, agent=None, session=None
    )
    if isinstance(again, e.LinkAdded | e.DocumentSet | e.FrameSet):
        again = structs.replace(again, trust=lowest([again.trust, cap]))
    return again
