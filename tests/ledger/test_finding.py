"""Finding one event in the bytes of a ledger."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from recollect.ledger.lookup import offset_of
from tests.ledger.forging import Fields, written
from tests.suites.test_anchored import history


def ledger(count: int, seed: int) -> list[bytes]:
    rng = random.Random(seed)
    events: list[Fields] = history(count)
    for event in events:
        event["data"] = b'{"text":"%b"}' % (b"x" * rng.choice([0, 10, 3_000, 40_000]))
    return written(events)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 50])
def test_every_line_is_found_and_no_other(count: int) -> None:
    lines = ledger(count, count)
    data, at = b"".join(lines), 0
    read = reading(data)
    for seq, line in enumerate(lines, start=1):
        assert offset_of(seq, len(data), read) == at
        at += len(line)
    for missing in (0, count + 1, count + 1_000):
        assert offset_of(missing, len(data), read) is None


def reading(data: bytes) -> Callable[[int, int], bytes]:
    return lambda at, count: data[at : at + count]


def test_few_bytes_of_a_long_ledger_are_read() -> None:
    data = b"".join(written(history(4_000)))
    seen = 0

    def read(offset: int, length: int) -> bytes:
        nonlocal seen
        seen += 1
        return data[offset : offset + length]

    assert offset_of(1_234, len(data), read) is not None
    assert seen < 60


def test_in_damaged_bytes_nothing_is_found_wrongly() -> None:
    lines = ledger(9, 1)
    whole = b"".join(lines)
    for damaged in (b"x" * len(whole), whole.replace(b'"seq":5', b'"seq":x'), whole[:-1]):
        for seq in range(1, 10):
            found = offset_of(seq, len(damaged), reading(damaged))
            assert found is None or damaged[found:].startswith(b'{"v":1,"seq":%d,' % seq)
    shorter = offset_of(9, len(whole), reading(whole[:100]))
    assert shorter is None  # the file was cut while it was read
