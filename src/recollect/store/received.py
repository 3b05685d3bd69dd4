"""Receiving events from another store: the same bytes, in whole appends.

Responsible for finding where one ledger continues another and for returning the events after that
point, checked, in parcels. Leaves writing them to the engine. Invariants: a parcel always continues
the local head; a parcel is settled only if the event that erased each missing body in it is there,
so an engine that stops after a settled parcel has a valid ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple, cast

from recollect.errors import Conflict
from recollect.index.digest import state_digest
from recollect.index.erasures import was_erased_since
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.index.statements import INDEX_VERSION
from recollect.index.tables import Db, Tables
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.line import parse
from recollect.ledger.scan import Append, Damage, Scanner
from recollect.model.events import KIND_OF, EventsErased, Head, LedgerSealed, SpaceOpened
from recollect.store import clock

PARCEL_MIN_BYTES: Final = 1 << 20  # the smallest size of a transaction


class Parcel(NamedTuple):
    """Appends that are written together."""

    before: Head
    appends: tuple[Append, ...]
    data: tuple[bytes, ...]  # the bytes of each append
    settled: bool  # false while the erasing event of a missing body is still to come
    sealed: LedgerSealed | None  # the last seal in it, if all that it covers is there

    @property
    def head(self) -> Head:
        """The ledger's head after it."""
        return self.appends[-1].head

    @property
    def end(self) -> int:
        """The offset in the source at which it ends."""
        return self.appends[-1].end


def parcels(
    pieces: Iterable[bytes], held: Head, name: str | None = None, *, now: str | None = None
) -> Iterator[Parcel]:
    """The events of a ledger after a head; with a name, only if it is the ledger of that space.

    ``now`` is what the clock of the store says that takes them; None if they are only looked at.
    """
    owed: dict[int, int] = {}  # event without a body -> the event that its mark names
    before, size = held, 0
    taken: list[tuple[Append, bytes]] = []
    sealed: LedgerSealed | None = None
    for append, data in _beyond(pieces, held):
        if now is not None:
            clock.check_arriving(append.head.seq, append.head.at, now)
        _note(append, owed, name)
        sealed = sealed if owed else _seal_in(append) or sealed
        taken.append((append, data))
        size += len(data)
        if size >= PARCEL_MIN_BYTES:
            yield _parcel(before, taken, owed, sealed)
            before, size, sealed = append.head, 0, None
            taken.clear()
    for seq, by in owed.items():
        raise Damage(seq, f"its body is missing, but event {by} did not erase it")
    if taken:
        yield _parcel(before, taken, owed, sealed)


def fold_parcel(
    db: Db, position: PositionRow, parcel: Parcel, ciphers: Ciphers | None = None
) -> PositionRow:
    """Folds a parcel inside a transaction of the index; returns the new position."""
    check_continues(Head(position.seq, position.hash, position.at), parcel)
    tables = Tables(db)
    fold = Fold(tables, Clock(position.at, position.active_us))
    for append in parcel.appends:
        fold.append([decode(line, ciphers) for line in append.lines])
    tables.flush()
    _check_sealed(db, parcel.sealed)
    head = parcel.head
    moved = position._replace(
        seq=head.seq,
        hash=head.hash,
        at=head.at,
        active_us=fold.clock.active_us,
        offset=position.offset + sum(map(len, parcel.data)),
    )
    db.many("move_position", [(*moved[2:7],)])
    return moved


def first_hash(pieces: Iterable[bytes]) -> tuple[str | None, Iterator[bytes]]:
    """The hash of a ledger's first event, if it has one, and all of its pieces."""
    rest = iter(pieces)
    taken: list[bytes] = []
    for piece in rest:
        taken.append(piece)
        if b"\n" in piece:
            break
    raw, newline, _ = b"".join(taken).partition(b"\n")
    return parse(raw).hash if newline else None, chain(taken, rest)


def check_continues(head: Head, parcel: Parcel) -> None:
    """Raises an error if another writer has appended since the last parcel."""
    if (head.seq, head.hash) != (parcel.before.seq, parcel.before.hash):
        raise another_history(head.seq)


def another_history(seq: int) -> Conflict:
    """The error for two ledgers that diverge or have nothing in common."""
    return Conflict(
        f"the two ledgers diverge at event {seq}",
        hint="if both grew after a copy, bring them together: `--merge --dry-run` shows what would "
        "come, `--merge` brings it; or copy this memory under another name (`--as NAME`)",
    )


def _parcel(
    before: Head, taken: list[tuple[Append, bytes]], owed: dict[int, int],
    sealed: LedgerSealed | None,
) -> Parcel:  # fmt: skip
    appends, data = zip(*taken, strict=True)
    return Parcel(before, appends, data, settled=not owed, sealed=sealed)


def _seal_in(append: Append) -> LedgerSealed | None:
    """The seal that an append is, unless it was erased."""
    line = append.lines[-1]
    if not (line.is_seal and line.origin == "system" and line.data is not None):
        return None
    return cast(LedgerSealed, decode(line).body)


def _check_sealed(db: Db, seal: LedgerSealed | None) -> None:
    """Refuses a seal of another state than the one that its events fold to."""
    if seal is None or seal.index_version != INDEX_VERSION:
        return  # only the release that made it knows what was meant
    if state_digest(db, seal.count) != seal.digest and not was_erased_since(Reads(db), seal.count):
        raise Damage(seal.count + 1, "the state that it seals is not the state of its events")


def _beyond(pieces: Iterable[bytes], held: Head) -> Iterator[tuple[Append, bytes]]:
    """The whole appends after a head, each with its bytes."""
    last = 0
    for append, data in _with_bytes(pieces):
        head = append.head
        if head.seq <= held.seq:
            if head.seq == held.seq and head.hash != held.hash:
                raise another_history(held.seq)
        elif append.lines[0].seq <= held.seq:  # the local ledger ends inside this append
            raise another_history(held.seq)
        else:
            yield append, data
        last = head.seq
    if last < held.seq:
        raise Conflict(
            f"the memory there is longer: it ends at event {held.seq}, this one at event {last}",
            hint="copy in the other direction; if both grew after a copy, `--merge` brings them "
            "together",
        )


def _with_bytes(pieces: Iterable[bytes]) -> Iterator[tuple[Append, bytes]]:
    scanner = Scanner()
    held = bytearray()
    start = 0  # offset in the ledger
    for piece in pieces:
        held += piece
        used = 0
        for append in scanner.feed(piece):
            yield append, bytes(held[used : append.end - start])
            used = append.end - start
        del held[:used]
        start += used
    if scanner.torn():
        raise Damage(scanner.expected, "an unfinished append")


def _note(append: Append, owed: dict[int, int], name: str | None) -> None:
    """Tracks missing bodies until the event that erased them arrives."""
    for line in append.lines:
        if line.data is None:
            owed[line.seq] = line.erased_by or 0
        elif line.is_erasure:
            for target in cast(EventsErased, decode(line).body).targets:
                if owed.get(target) == line.seq:
                    del owed[target]
        elif line.seq > 1 and line.kind == KIND_OF[SpaceOpened]:
            raise Damage(line.seq, "it opens the space once more")
        elif line.seq == 1 and name is not None:
            opened = decode(line).body
            if not isinstance(opened, SpaceOpened) or opened.space != name:
                what = repr(opened.space) if isinstance(opened, SpaceOpened) else "no space"
                raise Conflict(
                    f"this is the ledger of {what}, not of {name!r}",
                    hint="use --space with its own name",
                )
