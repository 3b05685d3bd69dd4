"""Which changes an undo takes back, and the acts that do it.

Responsible for finding the last command, that of an event, or the last change of a record or an
episode, and for one act for each thing that it changed. Leaves what is refused to ``undoable``, and
what bringing a record back means to ``lifecycle.records.earlier``. Invariants: receipts,
reinforcements and the store's own events are never taken back; neither are sessions, how far a rule
has looked, nor an erasure; what was said in a session is taken back only by its id or its event; an
agent takes back no act of a person; what came after a command is never taken back with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from msgspec import UNSET, structs

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.index.preset_rows import preset_of
from recollect.index.reads import Reads
from recollect.index.rows import (
    CommandRow,
    EpisodeRow,
    EventRow,
    LinkRow,
    VersionRow,
    unpack_object,
)
from recollect.index.statements import STILL
from recollect.index.values import record_of
from recollect.lifecycle import commands as c
from recollect.lifecycle.commands import Expect
from recollect.lifecycle.decide import check_expected, decide
from recollect.lifecycle.view import require_undo
from recollect.memory.correction.undoable import (
    KINDS,
    require_key,
    require_newest,
    require_undoable,
    without_acts,
)
from recollect.memory.events import changes_of
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.model.instants import Moment, instant
from recollect.model.limits import COMMAND_MAX_EVENTS
from recollect.model.validate import Json
from recollect.model.values import Change, Undone
from recollect.store.port import Outcome

_RETRACTED: Final = "lineage.retracted"
_ENDINGS: Final = (  # after which something is forgotten, archived or replaced
    "record.forgotten",
    "record.archived",
    "record.superseded",
    "record.reviewed",
    "episode.forgotten",
)
_SAID: Final = "episode.observed"
_CHANGES: Final = tuple(kind for kind in KINDS if kind != _SAID)
_AT_ONCE: Final = 200  # messages looked at in one read
# Of one record or episode: a proposal does not change it, and anyone may file one.
_OF_SUBJECTS: Final = tuple(kind for kind in KINDS if not kind.startswith("proposal."))


class Asked(NamedTuple):
    """What is to be taken back: by an id, by the position of an event, or the last command."""

    what: str | int | None = None
    to: int | Moment | None = None

    @property
    def call(self) -> tuple[Json, ...]:
        """The same, to tell a repeated call from another one."""
        to = self.to if self.to is None or isinstance(self.to, int) else instant(self.to)
        return ("undo", self.what) if to is None else ("undo", self.what, to)


class Plan(NamedTuple):
    """What is taken back, the acts that do it, and whether they need what was read to be last."""

    undone: Undone
    acts: tuple[c.Act, ...]
    is_last: bool = True


def asked(what: str | int | None, to: int | Moment | None) -> Asked:
    """What a caller wants taken back, checked."""
    if what is not None and not isinstance(what, str):
        what = validate.position(what, "an event to undo")
    if to is not None and not isinstance(what, str):
        raise InvalidInput("to is a version of one record", hint="name the record: undo(id, to=…)")
    if isinstance(to, int):
        to = validate.position(to, "to")
    return Asked(what, to)


def plan(handle: Handle, reads: Reads, wanted: Asked) -> Plan:
    """How to take something back."""
    what = wanted.what
    if isinstance(what, int):
        return _of_event(handle, reads, what)
    if what is None:
        return _of_last(handle, reads, None)
    row = _named(handle, reads, what)
    if wanted.to is not None:
        return _to_version(handle, reads, row, wanted.to)
    if isinstance(row, EpisodeRow) and row.hidden is not None:
        return _brought_back(handle, reads, row, c.Restore(id=row.id))
    if isinstance(row, VersionRow) and row.status in ("archived", "forgotten"):
        is_replaced = row.status == "archived" and row.superseded_by is not None
        act = c.Revert(id=row.id) if is_replaced else c.Restore(id=row.id)
        made = _brought_back(handle, reads, row, act)
        return made if not is_replaced else _with_the_other(handle, reads, row, made)
    return _of_last(handle, reads, row.id)


def _named(handle: Handle, reads: Reads, id: str) -> VersionRow | EpisodeRow:
    try:
        return handle.find(reads, id)
    except (InvalidInput, NotFound) as error:
        if not id.strip().isdecimal():
            raise
        raise NotFound(
            f"nothing here has the id {id!r}",
            hint=f"pass the number {int(id)}, not a text, to undo the command of that event",
        ) from error


def _brought_back(
    handle: Handle, reads: Reads, row: VersionRow | EpisodeRow, act: c.Restore | c.Revert
) -> Plan:
    """How something comes back that was forgotten, archived or replaced."""
    return _back_to(handle, reads, row, act, kinds=_ENDINGS, after=0, limit=1)


def _with_the_other(handle: Handle, reads: Reads, row: VersionRow, made: Plan) -> Plan:
    """The same, if what took the place of a record had been in it before: that ends again."""
    other = reads.version(row.superseded_by or "")
    if other is None or other.id != row.supersedes or not made.undone.events:
        return made
    command = reads.command_of(made.undone.events[-1].seq)
    if command is None or not command.first <= other.seq <= command.seq:
        return made  # it was changed since
    both = (row.id, other.id)
    events = _rows_of(handle, reads, command, *both)
    acts = tuple(_acts(reads, events, command.first, command.seq, None))
    return made._replace(acts=acts, is_last=True)


def _to_version(
    handle: Handle, reads: Reads, row: VersionRow | EpisodeRow, to: int | Moment
) -> Plan:
    """How a record is again what it was at a position or an instant."""
    seq = to if isinstance(to, int) else reads.seq_at(instant(to))
    act = c.Revert(id=row.id, to=seq)
    return _back_to(handle, reads, row, act, _OF_SUBJECTS, seq, COMMAND_MAX_EVENTS)


def _back_to(
    handle: Handle,
    reads: Reads,
    row: VersionRow | EpisodeRow,
    act: c.Act,
    kinds: tuple[str, ...],
    after: int,
    limit: int,
) -> Plan:
    seq = _here(reads)
    events = reads.events(
        kinds=kinds,
        id=row.id,
        user=handle.actor.user,
        after=min(after, seq),
        before=seq + 1,
        limit=limit,
    )
    undone = Undone(
        at=events[-1].at if events else row.at,
        events=tuple(changes_of(reads, events)),
        undone_by=(),
        position=seq,
        id=row.id,
    )
    return Plan(undone, (act,), is_last=False)


def _here(reads: Reads) -> int:
    """The position that is read."""
    position = reads.position()
    return min(position.seq if position else 0, reads.at)


def _of_last(handle: Handle, reads: Reads, about: str | None) -> Plan:
    """How to take back the last command, or what the last one did to a record or an episode."""
    last = _last(reads, about, handle.actor.user, _here(reads))
    command = reads.command_of(last.seq) if last else None
    if last is None or command is None:
        raise Conflict(
            "there is nothing to undo",
            hint="name an episode to take back what was said in a session",
        )
    require_undoable([last], "the last command")
    if about is None:
        return _of_command(handle, reads, command)
    other = _in_its_place(reads, about, command.first - 1)
    if other is not None:
        made = _of_command(handle, reads, command, about)
        return made._replace(acts=(c.Revert(id=other),))
    return _of_command(handle, reads, command, about, *_ended_for(handle, reads, command, about))


def _in_its_place(reads: Reads, id: str, then: int) -> str | None:
    """The record that held in place of another, if this one has taken the place back since."""
    before = Reads(reads.db, at=then).version(id)
    other = None if before is None or not before.superseded_by else before.superseded_by
    row = reads.version(other) if other else None
    return row.id if row is not None and row.superseded_by == id else None


def _ended_for(handle: Handle, reads: Reads, command: CommandRow, id: str) -> list[str]:
    """The records that a command ended to bring one back in their place, unchanged since."""
    rows = _rows_of(handle, reads, command)
    if not any((row.kind, row.id) == ("record.restored", id) for row in rows):
        return []
    ended = {row.seq: row.id for row in rows if row.kind == "record.superseded" and row.id}
    found = ((seq, reads.version(other)) for seq, other in ended.items())
    return [row.id for seq, row in found if row and (row.seq, row.superseded_by) == (seq, id)]


def _of_event(handle: Handle, reads: Reads, seq: int) -> Plan:
    """How to take back the command that wrote an event, if nothing came after it."""
    here = _here(reads)
    found = reads.events(
        kinds=(), id=None, user=handle.actor.user, after=seq - 1, before=None, limit=1
    )
    command = reads.command_of(seq) if found and found[0].seq == seq <= here else None
    if command is None:
        missing = f"there is no event {seq}" if seq <= here else f"the last event is {here}"
        raise NotFound(missing, hint="`recollect log` lists them")
    made = _of_command(handle, reads, command)
    changed = _rows_of(handle, reads, command)
    require_undoable(changed, "that command")
    if not made.acts:
        raise without_acts(seq, found[0], changed)
    require_newest(reads, command, changed, here)
    require_key(reads, command, _ids(changed, "record"))
    return made


def _rows_of(handle: Handle, reads: Reads, command: CommandRow, *ids: str) -> list[EventRow]:
    """The events of a command that an undo is about: all, or those of these ids."""
    rows = [
        row
        for id in ids or (None,)
        for row in reads.events(
            kinds=_OF_SUBJECTS if ids else KINDS,
            id=id,
            user=handle.actor.user,
            after=command.first - 1,
            before=command.seq + 1,
            limit=COMMAND_MAX_EVENTS,
        )
    ]
    return sorted({row.seq: row for row in rows}.values(), key=lambda row: row.seq)


def _of_command(handle: Handle, reads: Reads, command: CommandRow, *ids: str) -> Plan:
    """How to take back a command, or what it did to the first of these ids and the others."""
    events = _rows_of(handle, reads, command, *ids)
    require_undo(handle.actor, [event.origin for event in events])
    undone = Undone(
        at=command.at,
        events=tuple(changes_of(reads, events)),
        undone_by=(),
        position=_here(reads),
        id=ids[0] if ids else None,
    )
    about = ids[0] if len(ids) == 1 else None
    return Plan(undone, tuple(_acts(reads, events, command.first, command.seq, about)))


def _last(reads: Reads, about: str | None, user: str | None, seq: int) -> EventRow | None:
    """The last event that counts as a change; hooks store what is said in a session unasked."""
    kinds = _CHANGES if about is None else _OF_SUBJECTS
    last = reads.events(kinds=kinds, id=about, user=user, after=0, before=seq + 1, limit=1)
    found, after, before = (last[0], last[0].seq, seq + 1) if last else (None, 0, seq + 1)
    while about is None:
        said = reads.events(
            kinds=(_SAID,), id=None, user=user, after=after, before=before, limit=_AT_ONCE
        )
        if not said:
            break
        before = min(event.seq for event in said)
        alone = [event for event in said if event.session is None]
        if alone:
            return max(alone, key=lambda event: event.seq)
    return found


def would_undo(handle: Handle, wanted: Asked) -> Undone:
    """What would be taken back; refused like the undo itself."""
    with handle.reading() as reads:
        made = plan(handle, reads, wanted)
        for act in made.acts[:1]:  # the others are decided by what this one does
            decide(reads, handle.actor, act)
        return made.undone


def undo(
    handle: Handle, wanted: Asked, idempotency_key: str | None, expect: Expect | None
) -> Undone:
    """Takes something back; ``Memory.undo`` documents the arguments."""
    before = handle.done_before(idempotency_key, wanted.call)
    if before is not None:
        return _repeated(handle, wanted, before)
    expect = None if expect is None else validate.expected(expect)
    with handle.reading() as reads:
        made = plan(handle, reads, wanted)
        if made.is_last and isinstance(expect, tuple):  # nothing may have changed since
            check_expected(reads, handle.actor, expect, ())
    if made.is_last:
        expect = expect if isinstance(expect, int) else made.undone.position

    def answer(reads: Reads, outcome: Outcome) -> Undone:
        if outcome.last < outcome.first and made.is_last:
            raise Conflict("there is nothing to undo: all of it is as it was before")
        by = _changes(handle, reads, outcome.first, outcome.last)
        return _done(reads, wanted, made.undone, by)

    return handle.write(made.acts, answer, idempotency_key, expect, wanted.call)


def _done(reads: Reads, wanted: Asked, undone: Undone, by: tuple[Change, ...]) -> Undone:
    """The answer after these events."""
    record = None
    if isinstance(wanted.what, str) and undone.id is not None:
        back = (one.id for one in reversed(by) if one.kind == "record.restored")
        row = reads.version(next(back, None) or undone.id)
        record = None if row is None else record_of(row)
    position = by[-1].seq if by else undone.position
    return structs.replace(undone, undone_by=by, position=position, record=record)


def _repeated(handle: Handle, wanted: Asked, command: CommandRow) -> Undone:
    """The answer to an undo that was made before, as far as it was not erased since."""
    with handle.space.reading(command.first - 1) as reads:
        undone = plan(handle, reads, wanted).undone
    with handle.space.reading(command.seq) as reads:
        by = _changes(handle, reads, command.first, command.seq)
        return _done(reads, wanted, undone, by)


def _changes(handle: Handle, reads: Reads, first: int, last: int) -> tuple[Change, ...]:
    rows = reads.events(
        kinds=(),
        id=None,
        user=handle.actor.user,
        after=first - 1,
        before=last + 1,
        limit=COMMAND_MAX_EVENTS,
    )
    return tuple(changes_of(reads, rows))


def _acts(
    reads: Reads, events: list[EventRow], first: int, last: int, about: str | None
) -> Iterator[c.Act]:
    """An act for each thing that these events changed; links end before what they link."""
    before = Reads(reads.db, at=first - 1)
    yield from _link_acts(reads.links_changed(first, last), first, _ids(events, "link"), about)
    is_retraction = any(event.kind == _RETRACTED for event in events)
    added = {event.id for event in events if event.kind == "record.added"}
    for id in sorted(_ids(events, "record"), key=lambda id: id not in added):
        yield c.Revert(id=id, to=first - 1, exactly=True, may_fall=is_retraction)
    for id in _ids(events, "episode"):
        then = before.episode(id)
        was_visible = then is not None and then.hidden != "forgotten"
        yield c.Restore(id=id) if was_visible else c.Forget(id=id)
    for name in _ids(events, "preset"):
        preset = before.preset(name)
        yield c.SetPreset(preset=preset_of(preset)) if preset else c.DropPreset(name=name)
    for id in _ids(events, "document"):
        type, _, name = id.partition("/")
        document = before.document(type, name)
        yield (
            c.SetDocument(type=type, name=name, data=unpack_object(document.data))
            if document
            else c.DropDocument(type=type, name=name)
        )
    for event in events:
        if event.kind == "proposal.made" and event.id and _waits(reads, event.id):
            yield c.Withdraw(id=event.id)


def _waits(reads: Reads, id: str) -> bool:
    """False for a proposal that a rule made and applied at once."""
    row = reads.proposal(id)
    return row is not None and row.until == STILL


def _link_acts(
    rows: Iterable[LinkRow], first: int, sources: Iterable[str], about: str | None
) -> Iterator[c.Act]:
    """Acts that put links back as they were before an event."""
    ends: dict[tuple[str, str, str], LinkRow | None] = {}
    named: set[tuple[str, str, str]] = set()
    for row in rows:
        ends.setdefault(row[:3], row if row.seq < first else None)
        if row.name is not None:
            named.add(row[:3])
    for (source, target, kind), then in ends.items():
        if source not in sources or about not in (None, source, target):
            continue
        if then is None:
            yield c.Unlink(source=source, target=target, kind=kind)
        else:
            name = then.name if then[:3] in named else UNSET
            yield c.Link(source=source, target=target, kind=kind, weight=then.weight, name=name)


def _ids(events: Iterable[EventRow], unit: str) -> list[str]:
    """The subjects of a kind, each once, in order."""
    return list(dict.fromkeys(event.id for event in events if event.unit == unit and event.id))
