"""What verification says about a damaged ledger, without reading all of it each time.

Responsible for the shortcut: a verdict depends only on the head before the first changed line and
on the lines from there on, so a scan may begin at that head. ``test_damage`` proves the shortcut
right against the whole ``verify`` on a sample. Invariant: whatever the shortcut does not see broken
goes to the whole ``verify`` before it is called unnoticed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

from recollect.ledger.scan import Damage, Scanner
from recollect.ledger.stretch import stretches
from recollect.ledger.verify import sound, verify
from recollect.model.events import Head
from tests.suites.ledgers import Ledger


@dataclass(frozen=True)
class Verdict:
    """Which event each of two readers names; None if it finds nothing broken."""

    chain: int | None  # who has only the bytes
    index: int | None  # who remembers the ledger's last event


def whole(data: bytes, seen: Head) -> Verdict:
    """The verdict of the real thing."""
    return Verdict(verify([data]).broken_at, verify([data], seen=seen).broken_at)


def judge(head: Head, pieces: Iterable[bytes], seen: Head) -> Verdict:
    """The verdict on what follows a head; it reads no further than to the damage."""
    scanner = Scanner(head)
    try:
        for stretch in stretches(pieces, 4_096, head):
            found = sound(stretch) if scanner.stands_at(stretch.head) else None
            if found is not None:
                scanner.skip(found.head, len(stretch.data))
            for _ in scanner.feed(stretch.data if found is None else b""):
                pass
        scanner.torn()
    except Damage as damage:
        return Verdict(damage.seq, damage.seq)
    return Verdict(None, scanner.expected if seen.seq > scanner.head.seq else None)


# Flips.


@dataclass
class Flips:
    """What became of so many flipped bits."""

    count: int = 0
    by_index_only: Counter[int] = field(default_factory=Counter)  # by event
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Flips) -> None:
        self.count += other.count
        self.by_index_only += other.by_index_only
        self.wrong += other.wrong


class Flipper:
    """Flips bits of one event's line, between what must be read around it."""

    def __init__(self, ledger: Ledger, seq: int) -> None:
        event = ledger.events[seq - 1]
        self.ledger = ledger
        self.seq = seq
        self.head = ledger.head_before(seq)
        # The lines of its append, and one that proves that the append was acknowledged. Two, since
        # a flipped newline swallows the line behind it.
        self.window = b"".join(ledger.lines[event.first - 1 : event.last + 2])
        self.is_last = event.last + 2 >= len(ledger.lines)
        self.skip = ledger.starts[seq - 1] - ledger.starts[event.first - 1]
        self.size = len(ledger.lines[seq - 1])

    def verdict(self, bit: int) -> Verdict:
        """What is said when this bit of the line is flipped."""
        window = bytearray(self.window)
        window[self.skip + bit // 8] ^= 1 << bit % 8
        said = judge(self.head, [bytes(window)], self.ledger.head)
        if said.chain is None and not (self.is_last and said.index):
            # Such as the mark of an erasure, which another event must confirm.
            said = whole(flipped(self.ledger, self.seq, bit), self.ledger.head)
        return said

    def flip(self, bits: Iterable[int]) -> Flips:
        """Flips them one at a time."""
        found = Flips()
        for bit in bits:
            said = self.verdict(bit)
            found.count += 1
            if said.index != self.seq or said.chain not in (None, self.seq):
                found.wrong.append(f"event {self.seq}, bit {bit}: {said}")
            elif said.chain is None:
                found.by_index_only[self.seq] += 1
        return found


def flipped(ledger: Ledger, seq: int, bit: int) -> bytes:
    """The whole ledger with one bit of one event's line flipped."""
    data = bytearray(ledger.data)
    data[ledger.starts[seq - 1] + bit // 8] ^= 1 << bit % 8
    return bytes(data)


def some_flips(ledger: Ledger, count: int, rng: random.Random) -> Flips:
    """So many bits, anywhere."""
    total = Flips()
    for place in sorted(rng.sample(range(8 * len(ledger.data)), count)):
        seq = ledger.seq_at(place // 8)
        total.add(Flipper(ledger, seq).flip([place - 8 * ledger.starts[seq - 1]]))
    return total


def every_flip(ledger: Ledger, processes: int = 2) -> Flips:
    """Every bit of every line; the events are dealt out evenly."""
    total = Flips()
    context = get_context("fork")
    with ProcessPoolExecutor(processes, context, _begin, (ledger.data,)) as pool:
        for found in pool.map(_flip_all, range(1, len(ledger.lines) + 1), chunksize=8):
            total.add(found)
    return total


_here: list[Ledger] = []  # of a worker process


def _begin(data: bytes) -> None:
    _here[:] = [Ledger(data)]


def _flip_all(seq: int) -> Flips:
    flipper = Flipper(_here[0], seq)
    return flipper.flip(range(8 * flipper.size))


# Whole lines: from which event on what stands there, as seqs and foreign bytes.


@dataclass(frozen=True)
class Change:
    """A change to the order of lines, and the first event that is not where it was."""

    what: str
    at: int
    since: int  # the first event of the append in which the lines begin to differ
    lines: Callable[[], Iterator[bytes]]  # from there on

    def verdict(self, ledger: Ledger) -> Verdict:
        return judge(ledger.head_before(self.since), self.lines(), ledger.head)

    def data(self, ledger: Ledger) -> bytes:
        """The whole changed ledger."""
        return ledger.data[: ledger.starts[self.since - 1]] + b"".join(self.lines())


def change(ledger: Ledger, what: str, at: int, put: dict[int, bytes]) -> Change:
    """Other bytes in the places of some lines; ``at`` is what must be named."""
    first = min(put)
    since = ledger.events[min(first, len(ledger.lines)) - 1].first

    def lines() -> Iterator[bytes]:
        for seq, line in enumerate(ledger.lines[since - 1 :], since):
            yield put.get(seq, line)
        yield put.get(len(ledger.lines) + 1, b"")

    return Change(what, at, since, lines)


def deleted(ledger: Ledger, seq: int) -> Change:
    return change(ledger, "deleted", seq, {seq: b""})


def doubled(ledger: Ledger, seq: int) -> Change:
    return change(ledger, "doubled", seq + 1, {seq: 2 * ledger.lines[seq - 1]})


def swapped(ledger: Ledger, one: int, other: int) -> Change:
    put = {one: ledger.lines[other - 1], other: ledger.lines[one - 1]}
    return change(ledger, "swapped", min(put), put)


def moved(ledger: Ledger, seq: int, behind: int) -> Change:
    """A line taken out and put behind another."""
    put = {seq: b"", behind: ledger.lines[behind - 1] + ledger.lines[seq - 1]}
    return change(ledger, "moved", seq if seq < behind else behind + 1, put)


def inserted(ledger: Ledger, before: int, line: bytes) -> Change:
    put = {before: line + b"".join(ledger.lines[before - 1 : before])}
    return change(ledger, "inserted", before, put)


def cut_append(ledger: Ledger, seq: int) -> Change:
    """The append that holds this event ends before it; those behind it follow."""
    last = ledger.events[seq - 1].last
    return change(ledger, "append cut", seq, dict.fromkeys(range(seq, last + 1), b""))


def truncated(ledger: Ledger, seq: int) -> Change:
    """The ledger ends before this event."""
    since = ledger.events[seq - 1].first
    return Change("truncated", seq, since, lambda: iter(ledger.lines[since - 1 : seq - 1]))
