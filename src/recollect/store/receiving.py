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
from recollect.index.fold import Clock, Fold
from recollect.index.rows import PositionRow
from recollect.index.tables import Db, Tables
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.line import parse
from recollect.ledger.scan import Append, Damage, Scanner
from recollect.model.events import EventsErased, Head, SpaceOpened

PARCEL_MIN_BYTES: Final = 1 << 20  # the smallest size of a transaction


class Parcel(NamedTuple):
    """Appends that are written together."""

    before: Head
    appends: tuple[Append, ...]
    data: tuple[bytes, ...]  # the bytes of each append
    settled: bool  # false while the erasing event of a missing body is still to come

    @property
    def head(self) -> Head:
        """The ledger's head after it."""
        return self.appends[-1].head

    @property
    def end(self) -> int:
        """The offset in the source at which it ends."""
        return self.appends[-1].end


def parcels(pieces: Iterable[bytes], held: Head, name: str | None = None) -> Iterator[Parcel]:
    """The events of a ledger after a head; with a name, only if it is the ledger of that space."""
    owed: dict[int, int] = {}  # event without a body -> the event that its mark names
    before, size = held, 0
    taken: list[tuple[Append, bytes]] = []
    for append, data in _beyond(pieces, held):
        _note(append, owed, name)
        taken.append((append, data))
        size += len(data)
        if size >= PARCEL_MIN_BYTES:
            yield _parcel(before, taken, owed)
            before, size = append.head, 0
            taken.clear()
    for seq, by in owed.items():
        raise Damage(seq, f"its body is missing, but event {by} did not erase it")
    if taken:
        yield _parcel(before, taken, owed)


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


def _parcel(before: Head, taken: list[tuple[Append, bytes]], owed: dict[int, int]) -> Parcel:
    appends, data = zip(*taken, strict=True)
    return Parcel(before, appends, data, settled=not owed)


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
        elif line.seq == 1 and name is not None:
            opened = decode(line).body
            if not isinstance(opened, SpaceOpened) or opened.space != name:
                what = repr(opened.space) if isinstance(opened, SpaceOpened) else "no space"
                raise Conflict(
                    f"this is the ledger of {what}, not of {name!r}",
                    hint="use --space with its own name",
                )
