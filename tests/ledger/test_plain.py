"""Many lines at once: what is accepted, and how it is told, is as the strict parser has it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable

import pytest

from recollect.ledger.line import Line, claimed
from recollect.ledger.plain import columns
from recollect.ledger.scan import recover
from recollect.ledger.stretch import Stretch, stretches
from recollect.ledger.verify import Sound, Walked, line_by_line, sound, verify
from recollect.model.events import GENESIS, Head
from tests.ledger.forging import ledgers, made, written
from tests.ledger.golden import LINES
from tests.ledger.test_scan import APPENDS, HEAD, WHOLE

SEED = random.randrange(2**32)
GOLDEN = b"\n".join(LINES) + b"\n"


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[place : place + size] for place in range(0, len(data), size)]


def checked(data: bytes, rng: random.Random, told: Counter[str]) -> None:
    """Every way to walk must find the same: the status, the counts, the event and the words."""
    size, block = rng.choice((97, 900, 5_000, 10**6)), rng.choice((1, 600, 3_000, 10**6))

    def walk(pieces: Iterable[bytes], wanted: Collection[int], hashes: bool) -> Walked:
        for stretch in stretches(pieces, block):
            found = sound(stretch, wanted, hashes)
            told["sound" if found else "line by line"] += 1
            yield stretch, found

    head = recover(b"".join(written(made(rng)))).head if rng.random() < 0.1 else None
    seen = rng.choice((None, head, Head(rng.randrange(1, 9), "0" * 64, "")))
    only = rng.choice((None, 1, 3))
    lines: list[Line] = []
    strict: list[Line] = []
    one = verify(
        in_pieces(data, size),
        seen=seen,
        each=lines.append if only is not None else None,
        only=only,
        walk=walk,
    )
    other = verify(
        in_pieces(data, size), seen=seen, each=strict.append, only=only, walk=line_by_line
    )
    assert one == other, (size, block, seen, data)
    assert only is None or lines == strict, (size, block, seen, data)
    told[other.problem or other.status] += 1


def compared(count: int) -> Counter[str]:
    rng = random.Random(SEED)
    told: Counter[str] = Counter()
    for number, data in enumerate(ledgers(rng, count)):
        try:
            checked(data, rng, told)
        except AssertionError as error:
            raise AssertionError(f"seed {SEED}, ledger {number}") from error
    return told


def test_what_is_checked_at_once_is_told_as_line_by_line() -> None:
    told = compared(1_000)
    assert told["sound"] > 300
    assert told["self-consistent"] > 50
    assert len(told) > 15, told  # of the messages, so that each is compared


@pytest.mark.nightly
def test_damage_is_told_as_line_by_line_fifty_thousand_times() -> None:
    assert len(compared(50_000)) > 30


def test_every_changed_byte_is_told_as_line_by_line() -> None:
    for place in range(len(WHOLE)):
        data = bytearray(WHOLE)
        data[place] ^= 1 << place % 8
        changed = bytes(data)
        assert columns(changed, GENESIS) is None
        assert verify([changed]) == verify([changed], walk=line_by_line)


def test_every_cut_is_told_as_line_by_line() -> None:
    for place in range(len(WHOLE)):
        cut = WHOLE[:place]
        assert verify([cut], seen=HEAD) == verify([cut], seen=HEAD, walk=line_by_line)


def test_usual_lines_are_checked_at_once() -> None:
    found = columns(GOLDEN, GENESIS)
    assert found is not None
    strict = [line for append in recover(GOLDEN).appends for line in append.lines]
    assert [found.line(place) for place in range(4)] == strict
    assert found.head == strict[-1].head
    assert sound(Stretch(GOLDEN, GENESIS)) == Sound(found.head, (strict[3],))
    assert sound(Stretch(GOLDEN, GENESIS), [2]) == Sound(found.head, (strict[1], strict[3]))


def test_a_head_that_is_no_digest_is_left_to_the_strict_parser() -> None:
    head = Head(0, "?" * 64, "")
    lines = written([{**made(random.Random(1))[0], "last": 1, "prev": head.hash}])
    assert recover(lines[0], head).appends == ()
    assert columns(lines[0], head) is None


def test_stretches_are_the_bytes_and_end_with_an_append() -> None:
    data = WHOLE + b"".join(APPENDS[:1])[:-1]
    for size in (1, 400, 900, 10**6):
        for piece in (1, 333, 10**6):
            found = list(stretches(in_pieces(data, piece), size))
            assert b"".join(stretch.data for stretch in found) == data
            place = 0
            for stretch in found:
                assert recover(data[:place]).head == stretch.head
                place += len(stretch.data)
    assert len(list(stretches([WHOLE], 1))) == len(APPENDS) - 1


def test_an_append_that_is_too_long_for_a_stretch_goes_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recollect.ledger.stretch.STRETCH_MAX_BYTES", 600)
    found = list(stretches(in_pieces(WHOLE, 100), 1))
    assert b"".join(stretch.data for stretch in found) == WHOLE
    assert [stretch.head is None for stretch in found].count(True) > 1
    assert sound(found[2]) is None
    assert verify([stretch.data for stretch in found]).events == HEAD.seq


def test_a_claimed_head_that_is_wrong_is_not_believed() -> None:
    """Two halves, each sound after the head that it claims, which are not neighbours."""
    first, second = APPENDS[0], b"".join(APPENDS[2:])
    found = list(stretches([first, second], 1))
    assert [sound(stretch) is None for stretch in found] == [False, True, False]

    def believing(pieces: Iterable[bytes], wanted: Collection[int], hashes: bool) -> Walked:
        claims = recover(WHOLE).appends
        yield Stretch(first, GENESIS), sound(Stretch(first, GENESIS))
        other = Stretch(second, claims[1].head)
        assert sound(other) is not None
        yield other, sound(other)

    report = verify([], walk=believing)
    assert (report.broken_at, report.events) == (2, 1)


def test_lines_without_a_newline_claim_nothing() -> None:
    assert claimed(LINES[0]) is None
    assert claimed(b"{}\n") is None
    claim = claimed(LINES[1] + b"\n")
    assert claim is not None
    assert (claim.first, claim.last, claim.head) == (2, 3, recover(GOLDEN).appends[1].lines[0].head)
