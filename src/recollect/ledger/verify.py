"""Checking a whole ledger, in bounded memory.

Responsible for the answer "self-consistent" or "broken at event k". Leaves comparing with a copy
kept elsewhere to checkpoints. Usual lines are checked many at once (``ledger.plain``); all other
bytes go to the strict parser, and it alone says what is wrong. Invariant: it claims only what the
bytes prove; a ledger that was rewritten from end to end is self-consistent too.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing
from typing import TypeVar, cast

import msgspec

from recollect.errors import RecollectError
from recollect.ledger.codec import decode_body
from recollect.ledger.line import ERASURE, SEAL, Line
from recollect.ledger.plain import columns
from recollect.ledger.scan import Damage, Scanner
from recollect.ledger.stretch import Stretch, stretches
from recollect.model.events import Body, EventsErased, Head, LedgerSealed
from recollect.model.rules import may_erase
from recollect.model.values import Verification

B = TypeVar("B", bound=Body)
Progress = Callable[[int], None]
Hashes = Callable[[bytes], None]  # of the next events, 32 bytes for each
State = Callable[[LedgerSealed], bool]


class Sound(msgspec.Struct, frozen=True):
    """What was found in a stretch that is sound if the head that it claims is right."""

    head: Head  # after it
    notable: tuple[Line, ...]  # erased, erasing, sealing or wanted
    hashes: bytes = b""  # of every event, if they were asked for


# Checks the stretches of a ledger and returns them in order. A stretch without a result is read
# line by line.
Walked = Generator[tuple[Stretch, Sound | None], None, None]
Walk = Callable[[Iterable[bytes], Collection[int], bool], Walked]


def in_turn(pieces: Iterable[bytes], wanted: Collection[int], hashes: bool = False) -> Walked:
    """Checks one stretch after the other."""
    for stretch in stretches(pieces):
        yield stretch, sound(stretch, wanted, hashes)


def line_by_line(
    pieces: Iterable[bytes], wanted: Collection[int] = (), hashes: bool = False
) -> Walked:
    """Leaves everything to the strict parser."""
    for piece in pieces:
        yield Stretch(piece, None), None


def sound(stretch: Stretch, wanted: Collection[int] = (), hashes: bool = False) -> Sound | None:
    """Checks a stretch by itself; None if it is damaged or does not end with a whole append.

    ``wanted`` are events whose lines count as notable; ``hashes`` asks for those of all events.
    """
    if stretch.head is None:
        return None
    scanner = Scanner(stretch.head)
    notable: list[Line] = []
    found: list[bytes] | None = [] if hashes else None
    try:
        for block in stretches([stretch.data], head=stretch.head):
            notable += _notable(scanner, block, wanted, found)
    except Damage:
        return None
    if not scanner.stands_at(scanner.head):
        return None
    return Sound(scanner.head, tuple(notable), b"".join(found or ()))


def _notable(
    scanner: Scanner, block: Stretch, wanted: Collection[int], hashes: list[bytes] | None
) -> list[Line]:
    """Reads a block; the notable lines of the appends that it completes."""
    before = scanner.head.seq
    lines = columns(block.data, scanner.head) if scanner.stands_at(block.head) else None
    if lines is None:
        read = [line for append in scanner.feed(block.data) for line in append.lines]
        if hashes is not None:
            hashes += [bytes.fromhex(line.hash) for line in read]
        return [line for line in read if _is_notable(line) or line.seq in wanted]
    if hashes is not None:
        hashes.append(unhexlify(b"".join(lines.hashes)))
    scanner.skip(lines.head, len(block.data))
    places = {seq - before - 1 for seq in wanted if before < seq <= scanner.head.seq}
    if ERASURE in lines.kinds or SEAL in lines.kinds:
        places.update(place for place, kind in enumerate(lines.kinds) if kind in (ERASURE, SEAL))
    return [lines.line(place) for place in sorted(places)]


def _is_notable(line: Line) -> bool:
    return line.data is None or line.is_erasure or line.is_seal


def verify(
    pieces: Iterable[bytes],
    progress: Progress | None = None,
    *,
    seen: Head | None = None,
    state: State | None = None,
    each: Callable[[Line], None] | None = None,
    only: int | None = None,
    hashes: Hashes | None = None,
    walk: Walk = in_turn,
) -> Verification:
    """Checks the pieces; ``progress`` is called with numbers of bytes, ``each`` with every valid
    line, or only with that of one event, ``hashes`` with those of all events, some at a time.

    ``seen`` is an event that was seen before: the ledger must still hold it unchanged.
    ``state`` says whether the events that were sealed last still fold to the sealed digest.
    """
    check = _Check(seen, each, only, hashes)
    scanner = Scanner()
    if each is not None and only is None:
        walk = line_by_line
    try:
        with closing(walk(pieces, check.wanted, hashes is not None)) as walked:
            for stretch, found in walked:
                check.stretch(scanner, stretch, found)
                if progress is not None:
                    progress(len(stretch.data))
        torn = scanner.torn()
        check.check_erasures()
        check.check_seen(scanner)
        check.check_sealed_state(state)
    except Damage as damage:
        return check.broken(scanner.head.hash, damage.seq, damage.problem)
    return Verification(
        status="self-consistent",
        events=check.events,
        erased=len(check.missing),
        head=scanner.head.hash,
        problem=f"{len(torn):,} bytes of an unfinished append follow" if torn else None,
    )


def as_misfolded(check: Verification, problem: str) -> Verification:
    """The result for a sound ledger whose index differs from it."""
    return Verification(
        status="broken",
        events=check.events,
        erased=check.erased,
        head=check.head,
        broken_at=check.events,
        problem=problem,
    )


def unordered(pieces: Iterable[bytes]) -> dict[int, int | None]:
    """The events of whole appends whose body is missing without a correct erasure mark.

    Each with the event that ordered the erasure, if there is one.
    """
    check = _Check(None)
    scanner = Scanner()
    for stretch, found in in_turn(pieces, ()):
        check.stretch(scanner, stretch, found)
    return check.unordered()


class _Check:
    """What the walk keeps track of: erasures, the last seal and the event seen before."""

    def __init__(
        self,
        seen: Head | None,
        each: Callable[[Line], None] | None = None,
        only: int | None = None,
        hashes: Hashes | None = None,
    ) -> None:
        self.events = 0
        self._hashes = hashes
        self._seen = seen
        self._each = each
        self._only = only
        self.missing: dict[int, int] = {}  # erased event -> the event that its mark names
        self.ordered: dict[int, int] = {}  # event to erase -> the event that ordered it
        self._sealed: LedgerSealed | None = None  # the last seal whose events were not erased since

    @property
    def wanted(self) -> set[int]:
        """The events whose lines must be looked at."""
        seen = None if self._seen is None else self._seen.seq
        return {seq for seq in (self._only, seen) if seq is not None}

    def stretch(self, scanner: Scanner, stretch: Stretch, found: Sound | None) -> None:
        """Takes the next stretch: what was found in it if it is sound, else line by line."""
        if found is None or not scanner.stands_at(stretch.head) or not self._accepts(found):
            for append in scanner.feed(stretch.data):
                for line in append.lines:
                    self.line(line)
                    self._tell(line)
                    if self._hashes is not None:
                        self._hashes(bytes.fromhex(line.hash))
            return
        scanner.skip(found.head, len(stretch.data))
        self.events = found.head.seq
        if self._hashes is not None:
            self._hashes(found.hashes)
        for line in found.notable:
            self._tell(line)

    def _accepts(self, found: Sound) -> bool:
        """False if a notable line is wrong: then all are read again, up to that one."""
        try:
            for line in found.notable:
                self.line(line)
        except Damage:
            return False
        return True

    def _tell(self, line: Line) -> None:
        if self._each is not None and self._only in (None, line.seq):
            self._each(line)

    def line(self, line: Line) -> None:
        """Takes a line; taking it again changes nothing."""
        self.events = line.seq
        seen = self._seen
        if seen is not None and line.seq == seen.seq and line.hash != seen.hash:
            raise Damage(line.seq, "it differs from the event that was seen here before")
        if line.data is None:
            self.missing[line.seq] = line.erased_by or 0
        elif line.is_erasure and may_erase(line.origin):
            self._erasure(line.seq, _body(line, line.data, EventsErased).targets)
        elif line.is_seal and line.origin == "system":  # no other origin may seal
            self._seal(line, _body(line, line.data, LedgerSealed))

    def _erasure(self, by: int, targets: tuple[int, ...]) -> None:
        for target in targets:
            self.ordered.setdefault(target, by)  # an erasure mark names the first order
        if self._sealed is not None and min(targets, default=by) <= self._sealed.count:
            self._sealed = None

    def _seal(self, line: Line, seal: LedgerSealed) -> None:
        if (seal.count, seal.head) != (line.seq - 1, line.prev):
            raise Damage(line.seq, "the hash it seals is not that of the events before it")
        self._sealed = seal

    def check_erasures(self) -> None:
        """A missing body is legal only if its erasure is an event of this ledger."""
        for seq in self.unordered():
            by = self.missing[seq]
            raise Damage(seq, f"its body is missing, but event {by} did not erase it")

    def unordered(self) -> dict[int, int | None]:
        """Missing bodies without the right mark, each with the mark that would be right."""
        return {
            seq: self.ordered.get(seq)
            for seq, by in self.missing.items()
            if self.ordered.get(seq) != by
        }

    def check_seen(self, scanner: Scanner) -> None:
        """Events that were seen must still be there; if not, a torn tail is not from a crash."""
        if self._seen is not None and self._seen.seq > scanner.head.seq:
            what = scanner.problem or "it is missing"
            raise Damage(
                scanner.expected, f"{what}: the index has seen events up to {self._seen.seq}"
            )

    def check_sealed_state(self, state: State | None) -> None:
        """The same events must fold to the same state."""
        if state is not None and self._sealed is not None and not state(self._sealed):
            raise Damage(
                self._sealed.count,
                "the index at this event differs from the state that was sealed; rebuild the index",
            )

    def broken(self, head: str, seq: int, problem: str) -> Verification:
        return Verification(
            status="broken",
            events=self.events,
            erased=len(self.missing),
            head=head,
            broken_at=seq,
            problem=problem,
        )


def _body(line: Line, data: bytes, _: type[B]) -> B:
    """The body, decoded as the type of the line's kind."""
    try:
        body = decode_body(line.kind, line.v, data)
    except RecollectError as error:
        raise Damage(line.seq, error.message) from error
    return cast(B, body)
