"""Whole appends, torn tails, and damage that is none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ledger import scan as scanning
from recollect.ledger.chain import Draft, chain, event_id
from recollect.ledger.line import encode
from recollect.ledger.scan import Damage, Scanner, hash_of, recover, scan
from recollect.model.events import GENESIS, Head
from tests.ledger.golden import LINES

AT = "2026-01-01T00:00:00.000000Z"


def ledger(*sizes: int, head: Head = GENESIS) -> tuple[list[bytes], Head]:
    """Appends of so many events each."""
    made: list[bytes] = []
    for number, size in enumerate(sizes):
        drafts = [
            Draft(event_id(f"c{number}", n + 1), "record.added", "agent", b'{"x":%d}' % n)
            for n in range(size)
        ]
        data, head = chain(head, AT, drafts, bytes(16 * size))
        made.append(data)
    return made, head


APPENDS, HEAD = ledger(1, 3, 1, 2)
WHOLE = b"".join(APPENDS)


def test_the_golden_ledger_is_whole() -> None:
    found = recover(b"\n".join(LINES) + b"\n")
    assert [len(append.lines) for append in found.appends] == [1, 2, 1]
    assert (found.head.seq, found.torn) == (4, b"")


@given(st.lists(st.integers(0, len(WHOLE)), max_size=8))
def test_pieces_of_any_size_give_the_same_appends(cuts: list[int]) -> None:
    marks = [0, *sorted(cuts), len(WHOLE)]
    pieces = [WHOLE[a:b] for a, b in pairwise(marks)]
    found = list(scan(pieces))
    assert [append.end for append in found] == [
        sum(map(len, APPENDS[: n + 1])) for n in range(len(APPENDS))
    ]
    assert found[-1].head == HEAD


def test_a_cut_at_every_byte_leaves_whole_appends_and_a_torn_tail() -> None:
    ends = [0, *(sum(map(len, APPENDS[: n + 1])) for n in range(len(APPENDS)))]
    for cut in range(len(WHOLE) + 1):
        found = recover(WHOLE[:cut])
        assert found.end == max(end for end in ends if end <= cut)
        assert found.torn == WHOLE[found.end : cut]


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"\n", b"{"])
def test_any_subset_of_a_torn_append_is_torn(filler: bytes) -> None:
    """Pages of one unsynced write reach the disk in any order: a legal state every time."""
    base, last = b"".join(APPENDS[:3]), APPENDS[3]
    pages = [last[start : start + 64] for start in range(0, len(last), 64)]
    for count in (1, len(pages) - 1):
        for kept in combinations(range(len(pages)), count):
            tail = b"".join(
                page if n in kept else filler * len(page) for n, page in enumerate(pages)
            )
            found = recover(base + tail)
            assert found.end in (len(base), len(base) + len(tail))


def test_a_later_line_after_a_broken_one_is_damage() -> None:
    broken = bytearray(WHOLE)
    broken[len(APPENDS[0]) + 40] ^= 1
    with pytest.raises(Damage) as caught:
        recover(bytes(broken))
    assert caught.value.seq == 2


def test_damage_is_found_before_the_end_is_reached() -> None:
    scanner = Scanner()
    broken = APPENDS[0] + APPENDS[1].replace(b'"x":0', b'"x":7')
    assert len(list(scanner.feed(broken))) == 1
    with pytest.raises(Damage):
        list(scanner.feed(APPENDS[2]))


@pytest.mark.parametrize(
    ("break_it", "seq"),
    [
        (lambda a: [a[0], a[2], a[3]], 2),
        (lambda a: [a[0], a[0], a[1], a[2], a[3]], 2),
        (lambda a: [a[0], a[2], a[1], a[3]], 2),
        (lambda a: [a[1], a[2], a[3]], 1),
    ],
    ids=["deleted", "doubled", "swapped", "beheaded"],
)
def test_missing_doubled_and_swapped_appends_are_located(
    break_it: Callable[[list[bytes]], list[bytes]], seq: int
) -> None:
    with pytest.raises(Damage) as caught:
        recover(b"".join(break_it(APPENDS)))
    assert caught.value.seq == seq


def test_a_ledger_with_an_unfinished_append_is_damaged() -> None:
    with pytest.raises(Damage, match="unfinished"):
        list(scan([WHOLE[:-5]]))


def line(
    seq: int = 1, first: int = 1, last: int = 1, id: str = "a.1", at: str = AT, prev: str = "0" * 64
) -> bytes:
    return encode(
        v=1,
        seq=seq,
        first=first,
        last=last,
        id=id,
        kind="record.added",
        at=at,
        origin="agent",
        prev=prev,
        salt=bytes(16),
        data=b"{}",
    )[0]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (line(prev="1" * 64), "chain"),
        (line(first=2, last=2), "begin or end"),
        (line(last=20_001), "too long"),
        (line(id="a.2"), "id"),
        (line(id="a"), "id"),
        (line(id=".1"), "id"),
    ],
)
def test_a_line_that_does_not_fit_is_not_taken(raw: bytes, problem: str) -> None:
    with pytest.raises(Damage, match=problem):
        recover(raw + line(first=9, last=9, seq=9))


def test_time_does_not_run_backwards() -> None:
    scanner = Scanner(Head(0, "0" * 64, "2026-01-02T00:00:00.000000Z"))
    assert list(scanner.feed(line())) == []
    assert scanner.torn() == line()


def test_the_lines_of_an_append_agree_on_its_end_and_ids() -> None:
    first, digest = encode(
        v=1, seq=1, first=1, last=2, id="a.1", kind="record.added", at=AT, origin="agent",
        prev="0" * 64, salt=bytes(16), data=b"{}",
    )  # fmt: skip
    for second in (
        line(seq=2, first=1, last=3, id="a.2", prev=digest),
        line(seq=2, first=1, last=2, id="b.2", prev=digest),
        line(seq=2, first=1, last=2, id="a.3", prev=digest),
    ):
        assert recover(first + second).appends == ()
    good = recover(first + line(seq=2, first=1, last=2, id="b.1", prev=digest))
    assert len(good.appends) == 1


def test_too_many_bytes_that_form_no_append_are_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_PENDING_MAX_BYTES", 100)
    with pytest.raises(Damage, match="more bytes"):
        list(Scanner().feed(b"x" * 101))


def test_the_hash_of_a_line_that_cannot_be_parsed_is_damage() -> None:
    with pytest.raises(Damage, match="event 5"):
        hash_of(5, b'{"v":1,"seq":5\n')
    assert hash_of(1, LINES[0]).encode() in LINES[0]
