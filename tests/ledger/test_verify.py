"""Self-consistent, or broken at event k; never more than the bytes show."""

from __future__ import annotations

from recollect.ledger.chain import Draft, chain
from recollect.ledger.codec import encode_body
from recollect.ledger.erasure import lines_of, without_bodies
from recollect.ledger.line import parse
from recollect.ledger.scan import recover
from recollect.ledger.verify import as_misfolded, in_turn, line_by_line, unordered, verify
from recollect.model.events import EventsErased, Head, LedgerSealed
from tests.ledger.golden import ERASED, LINES
from tests.ledger.test_scan import WHOLE

GOLDEN = b"\n".join(LINES) + b"\n"


def test_an_untouched_ledger_is_self_consistent() -> None:
    told: list[int] = []
    report = verify([GOLDEN[:100], GOLDEN[100:]], told.append)
    assert (report.status, report.events, report.erased, report.ok) == (
        "self-consistent",
        4,
        0,
        True,
    )
    assert sum(told) == len(GOLDEN)


def test_every_changed_byte_is_found_and_located() -> None:
    ends = [i for i, byte in enumerate(GOLDEN) if byte == 10]
    for place in range(0, len(GOLDEN), 7):
        changed = bytearray(GOLDEN)
        changed[place] ^= 1
        report = verify([bytes(changed)])
        event = 1 + sum(end < place for end in ends)
        if event == 4:  # the last append: from its bytes alone it may be an unfinished one
            assert report.problem is not None
        else:
            # A changed newline joins two lines, so the first of them is the broken one.
            assert report.status == "broken"
            assert report.broken_at == event


def test_a_body_may_be_missing_only_if_an_event_erased_it() -> None:
    good = b"\n".join([LINES[0], ERASED, *LINES[2:]]) + b"\n"
    assert verify([good]).erased == 1
    assert verify([good]).ok
    wrong = good.replace(b'"erased":"4"', b'"erased":"3"')
    report = verify([wrong])
    assert (report.broken_at, report.ok) == (2, False)
    assert report.problem is not None
    assert "did not erase" in report.problem


def sealed(count: int, head: str, *more: Draft) -> bytes:
    """The golden ledger, a seal that says this, and what else came after it."""
    body = LedgerSealed(first=1, count=count, head=head, digest="d" * 64, index_version=1)
    drafts = [Draft("seal.1", "ledger.sealed", "system", encode_body(body)), *more]
    last = parse(LINES[-1]).head
    return GOLDEN + chain(last, last.at, drafts, b"s" * 16 * len(drafts))[0]


def test_a_seal_speaks_of_the_events_before_it() -> None:
    last = parse(LINES[-1]).head
    assert verify([sealed(4, last.hash)]).ok
    for count, head in ((3, last.hash), (4, "0" * 64)):
        report = verify([sealed(count, head)])
        assert (report.broken_at, report.ok) == (5, False)


def test_the_state_must_be_the_sealed_one_unless_something_of_it_was_erased() -> None:
    head = parse(LINES[-1]).hash
    asked: list[LedgerSealed] = []

    def differs(seal: LedgerSealed) -> bool:
        asked.append(seal)
        return False

    report = verify([sealed(4, head)], state=differs)
    assert (report.broken_at, report.ok, asked[0].digest) == (4, False, "d" * 64)
    assert verify([sealed(4, head)], state=lambda seal: True).ok
    erasures = [
        Draft(f"e{n}.1", "events.erased", "person", encode_body(EventsErased(targets=targets)))
        for n, targets in enumerate([(), (2,)])
    ]
    del asked[:]
    assert not verify([sealed(4, head, erasures[0])], state=differs).ok
    assert verify([sealed(4, head, *erasures)], state=differs).ok
    assert len(asked) == 1


def test_bodies_whose_erasure_is_not_on_record_are_listed() -> None:
    good = b"\n".join([LINES[0], ERASED, *LINES[2:]]) + b"\n"
    assert unordered([good]) == {}
    assert unordered([good.replace(b'"erased":"4"', b'"erased":"3"')]) == {2: 4}
    assert unordered([b"\n".join([LINES[0], ERASED, LINES[2]]) + b"\n"]) == {2: None}


def test_an_unfinished_append_is_reported_and_not_broken() -> None:
    report = verify([WHOLE[:-3]])
    assert report.ok
    assert report.problem is not None
    assert "unfinished" in report.problem


def test_an_erasure_that_cannot_be_parsed_is_broken() -> None:
    bad = Draft("z.1", "events.erased", "person", b'{"targets":"all"}')
    data, _ = chain(Head(0, "0" * 64, ""), "2026-01-01T00:00:00.000000Z", [bad], bytes(16))
    assert verify([data]).broken_at == 1


def test_an_event_seen_before_must_still_be_there() -> None:
    heads = [parse(raw).head for raw in LINES]
    assert verify([GOLDEN], seen=heads[1]).ok
    cut = verify([b"\n".join(LINES[:1]) + b"\n"], seen=heads[3])
    assert (cut.status, cut.broken_at) == ("broken", 2)
    other = verify([GOLDEN], seen=Head(3, "0" * 64, heads[2].at))
    assert (other.status, other.broken_at) == ("broken", 3)


def test_what_looks_torn_is_damage_to_who_has_seen_it_whole() -> None:
    """In an append of several events, the very one that is not as it was."""
    seen = recover(WHOLE).head
    damaged = WHOLE[:-60] + b"?" + WHOLE[-59:]
    assert verify([damaged]).ok
    report = verify([damaged], seen=seen)
    assert (report.status, report.broken_at) == ("broken", seen.seq)
    assert report.problem is not None
    assert "does not match" in report.problem


def test_bodies_are_taken_out_and_nothing_else_changes() -> None:
    pieces = [GOLDEN[i : i + 100] for i in range(0, len(GOLDEN), 100)]
    after = b"".join(without_bodies(pieces, {2: 4}))
    assert after.split(b"\n")[1] == ERASED
    assert after.replace(ERASED, LINES[1]) == GOLDEN
    assert list(lines_of([b"a\nb", b"c\nd"])) == [b"a\n", b"bc\n", b"d"]


def test_the_hashes_of_all_events_are_handed_on_in_order() -> None:
    erased = b"\n".join([LINES[0], ERASED, *LINES[2:]]) + b"\n"  # read by the strict parser
    for data in (GOLDEN, erased, WHOLE):
        expected = [line.hash for append in recover(data).appends for line in append.lines]
        for walk in (in_turn, line_by_line):
            told: list[bytes] = []
            assert verify([data], hashes=told.append, walk=walk).ok
            assert b"".join(told).hex() == "".join(expected)


def test_an_index_that_differs_is_told_at_the_last_event() -> None:
    check = verify([WHOLE])
    told = as_misfolded(check, "the index differs")
    assert check.ok
    assert not told.ok
    assert (told.broken_at, told.problem) == (check.events, "the index differs")
    assert (told.events, told.head) == (check.events, check.head)
