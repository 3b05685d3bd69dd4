"""A ledger that was rewritten so that it is consistent in itself: only a checkpoint finds it.

Each change is made twice: as it is, which breaks the chain, and with every later event numbered and
hashed again, as anyone can who writes the file. Each is compared with all checkpoints, and with the
last one alone that a witness in a folder keeps. A witness is also asked to cosign it, signed with
the right key. Control: without a checkpoint, the second passes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.ledger.tree import Frontier, leaf
from recollect.ledger.verify import verify
from recollect.model.values import Verification
from recollect.proof.checkpoints import Checkpoint, parse_text, sign
from recollect.proof.growth import grown
from recollect.proof.keys import LOG, WITNESS, PrivateKey
from recollect.proof.notes import parse
from recollect.proof.witness import Cosigned, Request
from recollect.store.checkpoints.checkpoints import Comparison, Known
from recollect.store.witnesses.folder import FolderWitness
from recollect.testing.seams import FixedSeam
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


class Read(NamedTuple):
    """What a ledger is by itself, and the hashes of its events."""

    check: Verification
    hashes: bytes

    def beside(self, signed: list[Known]) -> Verification:
        """What it is, compared with checkpoints."""
        if not self.check.ok:
            return self.check
        comparison = Comparison(signed)
        comparison.take(self.hashes)
        return comparison.result(self.check)


def read(data: bytes) -> Read:
    """Reads a ledger once."""
    found: list[bytes] = []
    return Read(verify([data], hashes=found.append), b"".join(found))


def compared(data: bytes, signed: list[Known]) -> Verification:
    return read(data).beside(signed)


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


class Kept:
    """What a witness in a folder has seen: the whole ledger, at each of its checkpoints."""

    def __init__(self, root: Path, signed: list[Known], hashes: bytes) -> None:
        own = PrivateKey("recollect-witness/test", WITNESS, bytes(32))
        self._witness = FolderWitness(root / "witness", own.public, FixedSeam(), own)
        self._witness.pin([KEY.public])
        self.size = 0
        for each in signed:
            old, new = self.size * 32, each.checkpoint.size * 32
            proof = grown(tree_over(hashes[:old]), hashes[old:new])
            answer = self._witness.add(Request.of(self.size, proof, each.note))
            assert isinstance(answer, Cosigned)
            self.size = each.checkpoint.size

    def last(self) -> Known:
        """Its last checkpoint, as ``verify`` reads it."""
        raw = self._witness.latest(KEY.name)
        assert raw is not None
        note = parse(raw)
        return Known(parse_text(note.text), "witnessed", note)

    def cosigns(self, hashes: bytes) -> bool:
        """True if it signs another history, with the best proof that its author can make."""
        tree = tree_over(hashes)
        old = min(self.size, tree.size)
        proof = grown(tree_over(hashes[: old * 32]), hashes[old * 32 :])
        note = sign(Checkpoint(KEY.name, tree.size, tree.root), [KEY])
        return isinstance(self._witness.add(Request.of(old, proof, note)), Cosigned)


def tree_over(hashes: bytes) -> Frontier:
    """The tree over some events."""
    return Frontier().plus(leaf(hashes[at : at + 32]) for at in range(0, len(hashes), 32))


def first_other(hashes: bytes, true: bytes) -> int:
    """The first event that differs, or is missing or too many."""
    ends = range(0, max(len(hashes), len(true)), 32)
    return next(at for at in ends if hashes[at : at + 32] != true[at : at + 32]) // 32 + 1


def all_are_caught(count: int, places: list[int], tell: Tell, root: Path) -> None:
    whole = b"".join(written(history(count)))
    signed = checkpoints(written(history(count)))
    true = read(whole).hashes
    kept = Kept(root, signed, true)
    last = [kept.last()]
    assert compared(whole, signed).status == compared(whole, last).status == "anchored"
    missed: Counter[str] = Counter()
    for how, place, raw, again in attacks(count, places):
        as_it_is, chained_again = read(raw), read(again)
        report = chained_again.beside(signed)
        for found in (as_it_is.beside(signed), as_it_is.beside(last), chained_again.beside(last)):
            assert found.status == "broken", (how, place)
        assert report.status == "broken", (how, place)
        assert report.broken_at is not None
        is_near = 0 <= first_other(chained_again.hashes, true) - report.broken_at < EVERY
        assert is_near or report.broken_at == report.events + 1, (how, place)
        assert not kept.cosigns(chained_again.hashes), (how, place)
        assert chained_again.check.ok, "control: the bare chain misses what was chained again"
        missed[how] += 1
        missed["cut as it is"] += how == "cut" and as_it_is.check.ok
    assert missed["cut as it is"] == missed["cut"] == len(places)
    tell(
        f"{count} events, {len(places)} places: "
        f"{sum(missed.values()):,} missed by the bare chain, 0 with checkpoints, 0 with the last "
        "one of a witness, 0 cosigned by it"
    )
    assert kept.cosigns(read(whole).hashes)  # the control: what continues it is cosigned


def test_every_rewritten_ledger_is_caught_small(tell: Tell, tmp_path: Path) -> None:
    all_are_caught(40, list(range(40)), tell, tmp_path)


def test_rewritten_ledgers_of_3_000_events_are_caught(tell: Tell, tmp_path: Path) -> None:
    all_are_caught(3_000, random.Random(3).sample(range(3_000), 4), tell, tmp_path)


@pytest.mark.nightly
def test_every_rewritten_ledger_of_3_000_events_is_caught(tell: Tell, tmp_path: Path) -> None:
    all_are_caught(3_000, list(range(3_000)), tell, tmp_path)


def test_checkpoints_that_are_only_beside_the_ledger_miss_a_cut_that_takes_them_along() -> None:
    events = history(1_000)
    signed = checkpoints(written(events))
    beside = [Known(signed[0].checkpoint, "beside", signed[0].note)]
    report = compared(b"".join(written(events[:500])), beside)
    assert report.status == "self-consistent"  # so it is never called anchored
    assert compared(b"".join(written(events[:500])), [signed[1]]).broken_at == 501
