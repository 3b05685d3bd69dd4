"""What is done to a whole ledger: receiving, erasing, sealing, copying, examining, dropping.

Responsible for the order of the steps, the same for every ledger with an index in this process.
Leaves the turn and appending to ``store.indexed.follower``. Invariant: no header of a ledger is
changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import structs

from recollect.errors import ConfigError, IntegrityError, Unsupported
from recollect.index.digest import state_digest
from recollect.index.erasures import unfinished_erasures
from recollect.index.reads import Reads
from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.codec import decode, encode_body
from recollect.ledger.erasure import encrypted_for, orders_in
from recollect.ledger.line import erase, parse
from recollect.ledger.scan import Damage, scan
from recollect.model.counts import counted
from recollect.model.events import GENESIS, KIND_OF, EventsErased, Head, LossAccepted
from recollect.model.values import Backup, Drop, Dropped, Finding, Sealed
from recollect.store import backup, clock
from recollect.store.compare import difference_of
from recollect.store.drop import was_dropped
from recollect.store.indexed.follower import Follower
from recollect.store.indexed.index import Index
from recollect.store.indexed.ledger import Late, erased_by
from recollect.store.keys.lost_keys import Lost, lost_keys
from recollect.store.keys.wrapped_keys import Wrapped
from recollect.store.port import Progress, Tick
from recollect.store.posix import account
from recollect.store.received import Parcel, first_hash, fold_parcel, parcels
from recollect.store.write_path import sealed_event, what_was_sealed

_BEFORE: Final = "the ledger, its caches and the index of this process: before"
_UNREADABLE: Final = "no reader takes their bodies"


# Receiving.


def receive(
    space: Follower, pieces: Iterable[bytes], tick: Tick | None, keys: Collection[Wrapped]
) -> Head:
    """Appends the events that another ledger has beyond this one; the turn is the caller's."""
    tail = space.look()
    first, pieces = first_hash(pieces)
    is_other = tail.head.seq == 1 and first not in (None, tail.head.hash)
    held = GENESIS if is_other else tail.head
    # The name here may differ: everybody's is `main` at home.
    found = parcels(pieces, held, now=space.seam.now())
    parcel = next(found, None)  # refused here, before anything is made
    if parcel is None:
        return held
    if held == GENESIS:
        _start(space, tail.head, first)
    else:
        space.follow(tail)
    if keys:
        space.subjects.keys.take(keys)
    while parcel is not None:
        held = _take(space, parcel, found, tick)
        parcel = next(found, None)
    return held


def _start(space: Follower, before: Head, first: str | None) -> None:
    """An empty ledger with an empty index; a first event with nothing after it is given up."""
    space.ledger.make()
    if before.seq == 1 and not space.ledger.restart(before):
        raise Late
    space.look()
    space.forget()
    space.index = Index.empty(space.name)
    space.note_held()
    space.subjects.begin(first)


def _take(space: Follower, parcel: Parcel, found: Iterator[Parcel], tick: Tick | None) -> Head:
    """Appends a parcel; events whose erasing event is still to come wait for it."""
    index = space.index
    if index is None:
        raise IntegrityError("the index is not there", hint="try again")
    before, position, data = index.head, index.position, list[bytes]()
    orders = list[EventsErased]()
    index.db.run("begin_write")
    try:
        while True:
            space.subjects.look_up(_subjects_in(parcel))
            position = fold_parcel(index.db, position, parcel, space.subjects)
            data += parcel.data
            orders += _orders(parcel)
            if parcel.settled:
                break
            parcel = next(found)
        bodies = b"".join(data)
        space.append(before, bodies, parcel.head, erased_by(orders), lambda: None)
    except BaseException:
        space.subjects.begin()
        raise
    finally:
        index.roll_back()
    if tick is not None:
        tick(parcel.end)
    return parcel.head


def _subjects_in(parcel: Parcel) -> set[str]:
    lines = (line for append in parcel.appends for line in append.lines)
    return {line.subject for line in lines if line.subject is not None}


def _orders(parcel: Parcel) -> Iterator[EventsErased]:
    for append in parcel.appends:
        for line in append.lines:
            body = decode(line).body if line.is_erasure and line.data else None
            if isinstance(body, EventsErased):
                yield body


# Erasing.


def purge(space: Follower) -> tuple[str, ...]:
    """Finishes every recorded erasure; returns the places that it cleaned.

    If all are finished: who has dropped what was erased by now, and who has not.
    """
    with space.inside() as index:
        erased = unfinished_erasures(Reads(index.db))
        if not erased:
            others = space.ledger.holders()
            return (_BEFORE, *others) if others else ()
        lines = space.ledger.lines({*erased, *erased.values()})
        ordering = [lines[by] + b"\n" for by in sorted({*erased.values()} & lines.keys())]
        orders = orders_in(ordering, erased)
        told = space.ledger.finish([lines[seq] for seq in erased if seq in lines], orders)
        _erase_bodies(space, index, lines, erased)
        embedders = {block.embedder for block in space.ledger.blocks_holding(tuple(erased))}
        return (
            f"{space.where}: the bodies of {counted(len(erased), 'event')}",
            "index of this process: rows, full text and free pages",
            *(f"vectors of {name}: rows" for name in sorted(embedders)),
            *told,
        )


def finish_left(space: Follower, index: Index) -> None:
    """Finishes what a process ordered that ended before it was done."""
    erased = unfinished_erasures(Reads(index.db))
    if not erased:
        return
    lines = space.ledger.lines(erased.keys())
    if any(parse(line).erased_by is None for line in lines.values()):
        purge(space)
    else:
        index.finish(max(erased.values()), space.size)


def _erase_bodies(
    space: Follower, index: Index, lines: dict[int, bytes], erased: dict[int, int]
) -> None:
    left = {seq: by for seq, by in erased.items() if parse(lines[seq]).erased_by is None}
    space.ledger.erase({seq: erase(lines[seq], by) for seq, by in left.items()})
    index.finish(max(erased.values()), space.look().size)
    space.drop_vectors()


# Copies and proofs.


def seal(space: Follower) -> Sealed:
    """Appends the event that records the state."""

    def at_once(_: bool) -> Sealed:
        index = space.follow(space.look())
        head, first = index.head, space.ledger.last_seal()
        digest = state_digest(index.db, head.seq)
        if head.seq > first or clock.is_jump(head.at, space.seam.now()):
            # Otherwise the last seal still covers everything.
            space.note(sealed_event(first, head, digest))
        return what_was_sealed(first, head, digest)

    return space.settled(at_once)


def copy_ledger(space: Follower, target: str | None, progress: Progress | None) -> Backup:
    """Copies the ledger to a new folder on this machine."""
    with space.inside(), space.ledger.still():
        tail = space.look()
        head = space.follow(tail).head
        folder = backup.backup_folder(space.seam, Path.cwd(), target)
        pieces = backup.counted(space.ledger.pieces(0), tail.size, progress)
        space.ledger.keep_keys()
        checkpoints = space.ledger.checkpoints()
        return backup.write_backup(space.seam, folder, space.name, head, pieces, checkpoints)


def index_problem(space: Follower, progress: Progress | None) -> str | None:
    """How the index differs from a fresh fold of the ledger; None if it is equal."""
    with space.inside(), space.ledger.still():
        copy = space.follow(space.look()).copy()
        try:
            pieces = space.ledger.pieces(0)
            return difference_of(copy.db, space.name, pieces, space.size, progress, space.subjects)
        finally:
            copy.close()


def examine(space: Follower, progress: Progress | None) -> list[Finding]:
    """The findings about the ledger, the index and the place."""
    try:
        found = _findings(space, progress)
    except ConfigError as error:  # a key that is not here, or the master key
        found = [Finding(level="problem", what="keys", detail=error.message, fix=error.hint)]
    except Unsupported as error:  # written by a newer release
        found = [Finding(level="problem", what="ledger", detail=error.message, fix=error.hint)]
    return [*found, *space.ledger.findings()]


def _findings(space: Follower, progress: Progress | None) -> list[Finding]:
    bad = _unreadable(space)
    if bad:
        which = ", ".join(f"{seq:,}" for seq in bad[:5])
        detail = (
            f"{len(bad):,} events have bodies that cannot be parsed, first {which}: earlier "
            "events can be read, but nothing can be written"
        )
        fix = (
            "run `recollect admin doctor --accept-loss`: it erases these bodies and records that "
            "in an event"
        )
        return [Finding(level="problem", what="ledger", detail=detail, fix=fix)]
    with space.inside() as index:
        detail = f"{counted(index.head.seq, 'event')} in {space.where}"
    ledger = Finding(level="ok", what="ledger", detail=detail)
    problem = index_problem(space, progress)
    if problem is None:
        return [ledger]
    fix = "run `recollect admin rebuild`"
    return [ledger, Finding(level="problem", what="index", detail=problem, fix=fix)]


# Repair.


def accept_loss(space: Follower, reason: str | None) -> None:
    """Erases bodies that no reader takes, and records that in two events."""
    with space.held():
        tail = space.look()
        locked = lost_keys(space.subjects.ahead(space.ledger.pieces(0)), space.subjects)
        if locked.why is not None and not _is_lost(space, locked):
            raise locked.why
        with space.subjects.without(locked.subjects):
            bad = _given_up(space, locked)
            if bad:
                seen = LossAccepted(seen_seq=tail.head.seq, seen_hash=tail.head.hash, reason=reason)
                by = _order(space, tail.head, [seen, EventsErased(targets=bad, reason=_UNREADABLE)])
                lines = space.ledger.lines(bad)
                space.ledger.erase({seq: erase(line, by) for seq, line in lines.items()})
            space.forget()
            space.rebuild()


def _is_lost(space: Follower, locked: Lost) -> bool:
    """True if no key is here; one that is kept opens for who has the master key."""
    subjects = space.subjects
    return locked.is_for_good and subjects.keeps and not subjects.keys.wrapped(locked.subjects)


def _given_up(space: Follower, locked: Lost) -> tuple[int, ...]:
    """The events whose bodies no reader takes any more."""
    encrypted = encrypted_for(space.ledger.pieces(0), locked.subjects)
    lines = space.ledger.lines(encrypted)
    left = {seq for seq, line in lines.items() if parse(line).erased_by is None}
    return tuple(sorted(left.union(_unreadable(space))))


def _order(space: Follower, head: Head, bodies: Sequence[LossAccepted | EventsErased]) -> int:
    """Appends events without an index, which cannot be folded yet; the seq of the last."""
    id, at = space.seam.random(16).hex(), max(space.seam.now(), head.at)
    drafts = [
        Draft(event_id(id, number), KIND_OF[type(body)], "system", encode_body(body))
        for number, body in enumerate(bodies, 1)
    ]
    data, moved = chain(head, at, drafts, space.seam.random(len(drafts) * SALT_BYTES))
    space.forget()
    orders = [body for body in bodies if isinstance(body, EventsErased)]
    space.append(head, data, moved, erased_by(orders), lambda: None)
    return moved.seq


def _unreadable(space: Follower) -> list[int]:
    """The events with bodies that cannot be parsed, up to the first damage of the chain.

    A key that is not at hand and an event of a newer release are errors: what another process can
    read must not be given up.
    """
    bad: list[int] = []
    with suppress(Damage):  # ``verify`` reports it
        for append in scan(space.subjects.ahead(space.ledger.pieces(0))):
            for line in append.lines:
                try:
                    decode(line, space.subjects)
                except IntegrityError:
                    bad.append(line.seq)
    return bad


# Dropping.


def drop(space: Follower, reason: str | None, found: Drop) -> Drop:
    """Drops the space; a note stays."""
    with space.held():
        head = space.look().head
        first = space.ledger.lines([1]).get(1)
        note = Dropped(
            space=space.name,
            at=space.seam.now(),
            by=account(),
            seq=head.seq,
            head=head.hash,
            first=None if first is None else parse(first).hash,
            reason=reason,
        )
        is_first = space.ledger.drop(note)
        others = space.ledger.holders() if is_first else ()
        space.gone()
        if not is_first:
            raise was_dropped(space.name, space.where)
        return structs.replace(found, places=(space.where, *others), dropped=note)
