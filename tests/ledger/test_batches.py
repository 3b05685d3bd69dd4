"""Events many at a time: the same events as one by one, and the same errors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

from recollect.errors import RecollectError
from recollect.ledger.batches import batches, hashes
from recollect.ledger.codec import decode
from recollect.ledger.line import erase
from recollect.ledger.plain import Columns
from recollect.ledger.scan import Scanner
from recollect.model.events import Event
from tests.ledger.forging import DAMAGE, ledgers
from tests.ledger.golden import LINES
from tests.suites.ledgers import chained

SEED = random.randrange(2**32)
GOLDEN = b"\n".join(LINES) + b"\n"
ALL = 2**62


def one_by_one(scanner: Scanner, data: bytes, through: int) -> Iterator[tuple[Event, str]]:
    for append in scanner.feed(data):
        if append.head.seq > through:
            return
        yield from [(decode(line), line.hash) for line in append.lines]


def at_once(
    scanner: Scanner, data: bytes, through: int, size: int, told: Counter[str]
) -> Iterator[tuple[Event, str]]:
    for batch in batches(scanner, [data], through, size):
        told["usual" if isinstance(batch.lines, Columns) else "other"] += 1
        yield from [(event, batch.hash_of(event.seq)) for event in batch.decode()]


def readable(rng: random.Random, count: int) -> Iterator[bytes]:
    """Ledgers whose bodies can be decoded, and some with damage."""
    for _ in range(count):
        data = chained(rng.choice((4, 30)), rng).data
        yield rng.choice(DAMAGE)(data, rng) if rng.random() < 0.3 else data


def outcome(
    found: Iterator[tuple[Event, str]], scanner: Scanner, through: int
) -> tuple[object, ...]:
    """Everything that can be seen: the events, where reading ended, and why."""
    events: list[tuple[Event, str]] = []
    error: tuple[str, str] | None = None
    try:
        events.extend(found)
        if scanner.head.seq <= through:
            scanner.torn()
    except RecollectError as raised:
        error = type(raised).__name__, raised.message
    return events, error


def test_batches_have_the_events_of_the_lines() -> None:
    rng = random.Random(SEED)
    told: Counter[str] = Counter()
    for number, data in enumerate(chain(ledgers(rng, 500), readable(rng, 500))):
        through, size = rng.choice((ALL, 3, 9)), rng.choice((1, 900, 10**6))
        one, other = Scanner(), Scanner()
        expected = outcome(one_by_one(one, data, through), one, through)
        found = at_once(other, data, through, size, told)
        assert outcome(found, other, through) == expected, (SEED, number)
        if expected[1] is None and one.head.seq <= through:
            assert (other.head, other.end) == (one.head, one.end), (SEED, number)
    assert min(told["usual"], told["other"]) > 300, told


def test_erased_bodies_name_the_event_that_erased_them() -> None:
    erased = GOLDEN.replace(LINES[0], erase(LINES[0], 4))
    found = [batch.erased_by() for batch in batches(Scanner(), [erased], ALL, 1)]
    assert found[0] == [4]
    assert [batch.erased_by() for batch in batches(Scanner(), [GOLDEN], ALL)] == [[]]


def test_batches_end_at_a_position() -> None:
    found = list(batches(Scanner(), [GOLDEN], 3))
    assert [batch.head.seq for batch in found] == [1, 3]


def test_hashes_are_those_of_the_lines() -> None:
    rng = random.Random(SEED)
    told: Counter[str] = Counter()
    for number, data in enumerate(chain(ledgers(rng, 300), readable(rng, 300))):
        through = rng.choice((ALL, 3, 9))
        ends = [outcome_of_hashes(way, data, through) for way in (hashes_one_by_one, hashes)]
        assert ends[0] == ends[1], (SEED, number)
        told["sound" if ends[0][1] is None else "damaged"] += 1
    assert min(told["sound"], told["damaged"]) > 50, told


def hashes_one_by_one(scanner: Scanner, pieces: list[bytes], through: int) -> Iterator[bytes]:
    for append in scanner.feed(b"".join(pieces)):
        if append.head.seq > through:
            return
        yield b"".join(bytes.fromhex(line.hash) for line in append.lines)


def outcome_of_hashes(
    way: Callable[[Scanner, list[bytes], int], Iterator[bytes]], data: bytes, through: int
) -> tuple[bytes, tuple[str, str] | None]:
    """All hashes that were given, and why reading failed."""
    scanner, found = Scanner(), bytearray()
    try:
        for joined in way(scanner, [data], through):
            found += joined
        if scanner.head.seq <= through:
            scanner.torn()
    except RecollectError as raised:
        return bytes(found), (type(raised).__name__, raised.message)
    return bytes(found), None
