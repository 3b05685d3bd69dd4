"""A ledger that was rewritten so that it is consistent in itself: only a checkpoint finds it.

Each change is made twice: as it is, which breaks the chain, and with every later event numbered and
hashed again, as anyone can who writes the file. Control: without the checkpoint, the second passes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from recollect.ledger.tree import Frontier, leaf
from recollect.ledger.verify import verify
from recollect.model.values import Verification
from recollect.proof.checkpoints import Checkpoint, sign
from recollect.proof.keys import LOG, PrivateKey
from recollect.store.checkpointing import Comparison, Known
from tests.ledger.forging import Fields, written
from tests.suites.conftest import Tell

EVERY = 500  # events between two checkpoints
KEY = PrivateKey("recollect/test", LOG, bytes(range(32)))


def history(count: int) -> list[Fields]:
    """Events that each are an append of their own."""
    rng = random.Random(count)
    return [
        {
            "v": 1, "seq": seq, "first": seq, "last": seq, "id": f"c{seq}.1",
            "kind": "record.added", "at": "2026-01-01T00:00:00.000000Z", "origin": "person",
            "salt": rng.randbytes(16), "data": b'{"text":"%d"}' % seq,
        }
        for seq in range(1, count + 1)
    ]  # fmt: skip


def checkpoints(lines: list[bytes]) -> list[Known]:
    """What was signed while the ledger grew; the last one covers all of it."""
    hashes: list[bytes] = []
    assert verify([b"".join(lines)], hashes=hashes.append).ok
    joined = b"".join(hashes)
    leaves = [leaf(joined[at : at + 32]) for at in range(0, len(joined), 32)]
    tree, found = Frontier(), list[Known]()
    for start in range(0, len(lines), EVERY):
        tree = tree.plus(leaves[start : start + EVERY])
        made = Checkpoint(KEY.name, tree.size, tree.root)
        found.append(Known(made, "outside", sign(made, [KEY])))
    return found


def compared(data: bytes, signed: list[Known]) -> Verification:
    comparison = Comparison(signed)
    check = verify([data], hashes=comparison.take)
    return comparison.result(check) if check.ok else check


def deleted(events: list[Fields], at: int) -> list[Fields]:
    return [*events[:at], *events[at + 1 :]]


def doubled(events: list[Fields], at: int) -> list[Fields]:
    return [*events[: at + 1], *events[at:]]


def swapped(events: list[Fields], at: int) -> list[Fields]:
    other = (at + 1) % len(events)
    found = [*events]
    found[at], found[other] = found[other], found[at]
    return found


def changed(events: list[Fields], at: int) -> list[Fields]:
    return [*events[:at], {**events[at], "data": b'{"text":"other"}'}, *events[at + 1 :]]


def cut(events: list[Fields], at: int) -> list[Fields]:
    return events[:at]


CHANGES: tuple[Callable[[list[Fields], int], list[Fields]], ...] = (
    deleted, doubled, swapped, changed, cut,
)  # fmt: skip


def chained(events: list[Fields]) -> bytes:
    """The bytes of these events, as if they had always been there in this order."""
    numbered = [
        {**event, "seq": seq, "first": seq, "last": seq, "id": f"c{seq}.1"}
        for seq, event in enumerate(events, start=1)
    ]
    return b"".join(written(numbered))


def attacks(count: int, places: list[int]) -> Iterator[tuple[str, int, bytes, bytes]]:
    """Each change at each place: how, where, the bytes as they are, and chained again."""
    events = history(count)
    lines = written(history(count))
    for place in places:
        for change in CHANGES:
            if change is doubled and place == count - 1:
                continue  # chained again, that is one more event after the last checkpoint
            raw = [lines[event["seq"] - 1] for event in change(events, place)]
            if change is changed:
                raw[place] = raw[place].replace(b'"data":', b'"data": ')
            yield change.__name__, place, b"".join(raw), chained(change(events, place))


def all_are_caught(count: int, places: list[int], tell: Tell) -> None:
    whole = b"".join(written(history(count)))
    signed = checkpoints(written(history(count)))
    assert compared(whole, signed).status == "anchored"
    missed: Counter[str] = Counter()
    for how, place, raw, again in attacks(count, places):
        assert compared(raw, signed).status == "broken", (how, place)
        report = compared(again, signed)
        assert report.status == "broken", (how, place)
        assert report.broken_at is not None
        is_near = report.broken_at <= place + 1 <= report.broken_at + EVERY
        assert is_near or report.broken_at == report.events + 1, (how, place)
        assert verify([again]).ok, "control: the bare chain misses what was chained again"
        missed[how] += 1
        missed["cut as it is"] += how == "cut" and verify([raw]).ok
    assert missed["cut as it is"] == missed["cut"] == len(places)
    tell(
        f"{count} events, {len(places)} places: "
        f"{sum(missed.values()):,} missed by the bare chain, 0 with checkpoints"
    )


def test_every_rewritten_ledger_is_caught_small(tell: Tell) -> None:
    all_are_caught(40, list(range(40)), tell)


@pytest.mark.slow
@pytest.mark.bounded
def test_rewritten_ledgers_of_3_000_events_are_caught(tell: Tell) -> None:
    all_are_caught(3_000, random.Random(3).sample(range(3_000), 12), tell)


@pytest.mark.slow
def test_every_rewritten_ledger_of_3_000_events_is_caught(tell: Tell) -> None:
    all_are_caught(3_000, list(range(3_000)), tell)


def test_checkpoints_that_are_only_beside_the_ledger_miss_a_cut_that_takes_them_along() -> None:
    events = history(1_000)
    signed = checkpoints(written(events))
    beside = [Known(signed[0].checkpoint, "beside", signed[0].note)]
    report = compared(b"".join(written(events[:500])), beside)
    assert report.status == "self-consistent"  # so it is never called anchored
    assert compared(b"".join(written(events[:500])), [signed[1]]).broken_at == 501
