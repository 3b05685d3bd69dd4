"""Reading a ledger forward: whole appends, then perhaps a torn tail.

Responsible for the rule that says which bytes after the last whole append are the remains of a
crash and which are damage. Leaves copying and cutting to ``store``. Invariants: an append is
returned whole or not at all; bytes that may have been acknowledged are never treated as torn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from recollect.errors import IntegrityError
from recollect.ledger.line import BadLine, Line, header_of, parse
from recollect.model.events import GENESIS, Head
from recollect.model.limits import APPEND_MAX_BYTES, APPEND_MAX_EVENTS

# More bytes than the largest append, without a whole append in them, are not left by a crash.
_PENDING_MAX_BYTES: Final = 2 * APPEND_MAX_BYTES


class Append(msgspec.Struct, frozen=True):
    """One whole append and where its bytes end, counted from the start of the scan."""

    lines: tuple[Line, ...]
    end: int

    @property
    def head(self) -> Head:
        """The ledger's head after it."""
        return self.lines[-1].head


class Recovered(msgspec.Struct, frozen=True):
    """Everything ``recover`` found in a piece of ledger."""

    appends: tuple[Append, ...]
    head: Head
    end: int  # bytes that belong to whole appends
    torn: bytes


class Damage(IntegrityError):
    """The ledger is damaged at event ``seq``."""

    code = "damaged"

    def __init__(self, seq: int, problem: str) -> None:
        super().__init__(
            f"the ledger is damaged at event {seq}: {problem}",
            hint="run `recollect admin doctor` to see what can be done",
        )
        self.seq = seq
        self.problem = problem


class Scanner:
    """Takes a ledger's bytes in pieces of any size and returns its appends.

    ``head`` and ``end`` always refer to the last whole append; ``torn()`` judges the remaining
    bytes once all have been fed.
    """

    def __init__(self, head: Head = GENESIS) -> None:
        self.head = head
        self.end = 0
        self._bytes = bytearray()  # grows in place: an append may come in a hundred pieces
        self._start = 0  # in _bytes: end of the last whole append
        self._next = 0  # in _bytes: start of the next line to look at
        self._lines: list[Line] = []  # of the unfinished append
        self._expected_id = ""  # of the same command's next event
        self._problem: str | None = None  # why the unfinished append cannot be completed

    def feed(self, piece: bytes) -> Iterator[Append]:
        """The appends that ``piece`` completes."""
        del self._bytes[: self._start]
        self._next -= self._start
        self._start = 0
        searched = len(self._bytes)  # the bytes from earlier pieces have no newline after _next
        self._bytes += piece
        while (newline := self._bytes.find(b"\n", searched)) >= 0:
            raw = bytes(self._bytes[self._next : newline])
            self._next = searched = newline + 1
            if self._problem is None:
                self._take(raw)
            if self._problem is not None:
                self._judge(raw)
            elif len(self._lines) == self._lines[0].last - self._lines[0].first + 1:
                yield self._whole()
        if len(self._bytes) - self._start > _PENDING_MAX_BYTES:
            raise self._damage("more bytes than an append can have")

    def stands_at(self, head: Head | None) -> bool:
        """True if this head was reached and no byte follows it."""
        return self.head == head and len(self._bytes) == self._start

    def skip(self, head: Head, size: int) -> None:
        """Takes over so many bytes, checked by ``ledger.plain``, that lead to this head."""
        self.head = head
        self.end += size

    def torn(self) -> bytes:
        """The bytes after the last whole append, if they are what a crash can leave."""
        self._judge(bytes(self._bytes[self._next :]))
        return bytes(self._bytes[self._start :])

    @property
    def expected(self) -> int:
        """The seq of the first event that is missing or invalid."""
        return self.head.seq + len(self._lines) + 1

    @property
    def problem(self) -> str | None:
        """What is wrong with that event, if its bytes are there."""
        return self._problem

    def _judge(self, raw: bytes) -> None:
        """Stops if these bytes prove that an append before them had been acknowledged.

        They do if their header matches its own hash and belongs to a later append than the
        unfinished one: a writer begins an append only when the one before is on the disk.
        """
        header = header_of(raw)
        if header is not None and header[1] != self.head.seq + 1:
            raise self._damage(f"this event is incomplete, but event {header[0]} follows it")

    def _damage(self, problem: str) -> Damage:
        """The error for the first event that is missing or invalid."""
        return Damage(self.expected, self._problem or problem)

    def _take(self, raw: bytes) -> None:
        """Adds a line to the unfinished append, or notes why it does not belong to it."""
        try:
            line = parse(raw)
        except BadLine as bad:
            self._problem = bad.message
            return
        self._problem = self._misfit(line)
        if self._problem is None:
            self._lines.append(line)

    def _misfit(self, line: Line) -> str | None:
        """Why this line cannot come next, or None."""
        before = self._lines[-1] if self._lines else self.head
        first = self.head.seq + 1
        last = self._lines[0].last if self._lines else line.last
        if line.seq != before.seq + 1:
            return f"found event {line.seq} where event {before.seq + 1} was expected"
        if line.prev != before.hash:
            return "it does not continue the chain"
        if line.first != first or line.last != last or last < line.seq:
            return "its append does not begin or end at the events its header names"
        if last - first >= APPEND_MAX_EVENTS:
            return "its append is too long"
        if line.at < before.at:
            return "its time is earlier than that of the event before it"
        return self._wrong_id(line.id)

    def _wrong_id(self, id: str) -> str | None:
        """Checks that ids are a command's id and an ordinal that counts from 1 without gaps."""
        if id == self._expected_id or (id[-2:] == ".1" and len(id) > 2):
            command, _, ordinal = id.rpartition(".")
            self._expected_id = f"{command}.{int(ordinal) + 1}"
            return None
        return "its id does not follow that of the event before it"

    def _whole(self) -> Append:
        """Completes the unfinished append."""
        self.end += self._next - self._start
        self._start = self._next
        append = Append(tuple(self._lines), self.end)
        self._lines = []
        self._expected_id = ""
        self.head = append.head
        return append


def scan(pieces: Iterable[bytes], head: Head = GENESIS) -> Iterator[Append]:
    """The appends of a ledger that must not have a torn tail."""
    scanner = Scanner(head)
    for piece in pieces:
        yield from scanner.feed(piece)
    if scanner.torn():
        raise Damage(scanner.head.seq + 1, "an unfinished append")


def recover(data: bytes, head: Head = GENESIS) -> Recovered:
    """Whole appends and torn tail of the bytes that follow ``head``."""
    scanner = Scanner(head)
    appends = tuple(scanner.feed(data))
    return Recovered(appends, scanner.head, scanner.end, scanner.torn())


def hash_of(seq: int, raw: bytes) -> str:
    """The hash of an event's line, which must be valid."""
    try:
        return parse(raw).hash
    except BadLine as bad:
        raise Damage(seq, bad.message) from bad
