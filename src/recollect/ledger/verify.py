"""Checking a whole ledger, line by line, in bounded memory.

Responsible for the answer "self-consistent" or "broken at event k". Leaves comparing with a copy
kept elsewhere to checkpoints. Invariant: it claims only what the bytes prove; a ledger that was
rewritten from end to end is self-consistent too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from recollect.errors import RecollectError
from recollect.ledger.codec import decode_body
from recollect.ledger.line import Line
from recollect.ledger.scan import Damage, Scanner
from recollect.model.events import Body, EventsErased, Head, LedgerSealed
from recollect.model.rules import may_erase
from recollect.model.values import Verification

B = TypeVar("B", bound=Body)
Progress = Callable[[int], None]
State = Callable[[LedgerSealed], bool]


def verify(
    pieces: Iterable[bytes],
    progress: Progress | None = None,
    *,
    seen: Head | None = None,
    state: State | None = None,
    each: Callable[[Line], None] | None = None,
) -> Verification:
    """Walks the pieces; ``progress`` is called with the number of bytes of each, ``each`` with
    every valid line.

    ``seen`` is an event that was seen before: the ledger must still hold it unchanged.
    ``state`` says whether the events that were sealed last still fold to the sealed digest.
    """
    check = _Check(seen)
    scanner = Scanner()
    try:
        for piece in pieces:
            for append in scanner.feed(piece):
                for line in append.lines:
                    check.line(line)
                    if each is not None:
                        each(line)
            if progress is not None:
                progress(len(piece))
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
    for piece in pieces:
        for append in scanner.feed(piece):
            for line in append.lines:
                check.line(line)
    return check.unordered()


class _Check:
    """What the walk keeps track of: erasures, the last seal and the event seen before."""

    def __init__(self, seen: Head | None) -> None:
        self.events = 0
        self._seen = seen
        self.missing: dict[int, int] = {}  # erased event -> the event that its mark names
        self.ordered: dict[int, int] = {}  # event to erase -> the event that ordered it
        self._sealed: LedgerSealed | None = None  # the last seal whose events were not erased since

    def line(self, line: Line) -> None:
        self.events += 1
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
