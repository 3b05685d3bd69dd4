"""Which command an undo takes back, and the acts that do it.

Responsible for finding the last command, of a memory or about one record or episode, and for one
act for each thing that it changed. Leaves what bringing a record back means to
``lifecycle.records.earlier``. Invariants: receipts, reinforcements and the store's own events are
never taken back; neither are sessions, how far a rule has looked, nor an erasure; what was said in
a session is taken back only by its id; an agent takes back no act of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from msgspec import UNSET, structs

from recollect.errors import Conflict
from recollect.index.frame_rows import frame_of
from recollect.index.reads import Reads
from recollect.index.rows import CommandRow, EventRow, LinkRow, VersionRow, unpack_object
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.commands import Expect
from recollect.lifecycle.decide import check_expected
from recollect.lifecycle.records.names import full_id
from recollect.lifecycle.retraction.plan import retraction
from recollect.lifecycle.view import require_undo
from recollect.memory.events import changes_of
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.model.events import KINDS
from recollect.model.limits import COMMAND_MAX_EVENTS
from recollect.model.values import Change, Retraction, Undone, Unit
from recollect.store.port import Outcome

_ERASED: Final = "events.erased"
_RETRACTED: Final = "lineage.retracted"
_KINDS: Final = tuple(
    kind
    for kind in KINDS
    if kind not in ("context.handed", "record.reinforced", "space.opened")
    and not kind.startswith(("ledger.", "rule.", "session.", "branch."))
)
_SAID: Final = "episode.observed"
_CHANGES: Final = tuple(kind for kind in _KINDS if kind != _SAID)
_AT_ONCE: Final = 200  # messages looked at in one read
# Of one record or episode: a proposal does not change it, and anyone may file one.
_OF_SUBJECTS: Final = tuple(kind for kind in _KINDS if not kind.startswith("proposal."))


class Plan(NamedTuple):
    """A command, the acts that take it back, and the position at which both were read."""

    undone: Undone
    acts: tuple[c.Act, ...]


def plan(handle: Handle, reads: Reads, id: str | None) -> Plan:
    """How to take back the last command, or what the last one did to a record or an episode."""
    user, position = handle.actor.user, reads.position()
    seq = min(position.seq if position else 0, reads.at)
    about = None if id is None else handle.find(reads, id).id
    kinds = _KINDS if about is None else _OF_SUBJECTS
    last = _last(reads, about, user, seq)
    command = reads.command_of(last.seq) if last else None
    if last is None or command is None:
        raise Conflict(
            "there is nothing to undo",
            hint="name an episode to take back what was said in a session",
        )
    if last.kind == _ERASED:
        raise Conflict(
            "the last command erased something, which cannot be undone",
            hint="name a record to undo its last change",
        )
    if last.unit == "proposal" and last.what != "made":
        raise Conflict(
            "the last command decided a proposal, which cannot be undone",
            hint="name a record to undo its last change",
        )
    events = reads.events(
        kinds=kinds,
        id=about,
        user=user,
        after=command.first - 1,
        before=command.seq + 1,
        limit=COMMAND_MAX_EVENTS,
    )
    require_undo(handle.actor, [event.origin for event in events])
    undone = Undone(
        at=command.at,
        events=tuple(changes_of(reads, events)),
        undone_by=(),
        position=seq,
    )
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


def undo(
    handle: Handle, id: str | None, idempotency_key: str | None, expect: Expect | None
) -> Undone:
    """Takes back the last command; ``Memory.undo`` documents the arguments."""
    asked = ("undo", id)
    before = handle.done_before(idempotency_key, asked)
    if before is not None:
        return _repeated(handle, id, before)
    expect = None if expect is None else validate.expected(expect)
    with handle.reading() as reads:
        undone, acts = plan(handle, reads, id)
        if isinstance(expect, tuple):  # it holds here, and nothing may have changed since
            check_expected(reads, handle.actor, expect, ())
    here = expect if isinstance(expect, int) else undone.position

    def answer(reads: Reads, outcome: Outcome) -> tuple[Change, ...]:
        if outcome.last < outcome.first:
            raise Conflict("there is nothing to undo: all of it is as it was before")
        return _changes(handle, reads, outcome.first, outcome.last)

    undone_by = handle.write(acts, answer, idempotency_key, here, asked)
    return structs.replace(undone, undone_by=undone_by, position=undone_by[-1].seq)


def _repeated(handle: Handle, id: str | None, command: CommandRow) -> Undone:
    """The answer to an undo that was made before, as far as it was not erased since."""
    with handle.space.reading(command.first - 1) as reads:
        undone = plan(handle, reads, id).undone
    with handle.reading() as reads:
        undone_by = _changes(handle, reads, command.first, command.seq)
    return structs.replace(undone, undone_by=undone_by, position=command.seq)


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


def would_retract(handle: Handle, id: str) -> Retraction:
    """What a retraction would take back."""
    with handle.reading() as reads:
        found = retraction(reads, handle.actor, full_id(reads, handle.actor.user, id))
    unit: Unit = "record" if isinstance(found.root, VersionRow) else "episode"
    return Retraction(id=found.root.id, unit=unit, taken=found.taken, back=found.back)


def retracted(reads: Reads, outcome: Outcome) -> Retraction:
    """What a retraction took back, as its events tell."""
    id = outcome.subjects[-1]
    rows = reads.events(
        kinds=(),
        id=None,
        user=None,
        after=outcome.first - 1,
        before=outcome.last + 1,
        limit=COMMAND_MAX_EVENTS,
    )
    taken = _ids((row for row in rows if row.kind == "record.forgotten"), "record")
    back = [other for other in _ids(rows, "record") if other not in taken]
    return Retraction(
        id=id,
        unit="episode" if reads.episode(id) else "record",
        taken=tuple(taken),
        back=tuple(back),
        seq=outcome.last if rows else 0,
    )


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
    for name in _ids(events, "frame"):
        frame = before.frame(name)
        yield c.SetFrame(frame=frame_of(frame)) if frame else c.DropFrame(name=name)
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
