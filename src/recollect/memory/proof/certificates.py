"""Certificates of erasure, for the calls of a memory.

Responsible for what one says, and for comparing one with the ledger. Leaves the text to
``proof.certificates`` and keys to ``store.checkpoints.key_ring``. Invariant: nothing is certified
before the erasure is finished.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import structs

from recollect.errors import RecollectError
from recollect.ledger.codec import decode
from recollect.ledger.line import Line
from recollect.ledger.tree import Roots
from recollect.ledger.verify import verify
from recollect.memory.handle.handle import Handle
from recollect.memory.proof.checkpoints import checkpoint, ring_of
from recollect.model.events import EventsErased
from recollect.model.values import Certified, Checkpoint, Erasure
from recollect.proof import checkpoints
from recollect.proof.certificates import Certificate, parse_text, sign
from recollect.proof.keys import signers
from recollect.proof.notes import parse, render

_NO_KEY: Final = (
    "no certificate was signed: this ledger has no key here; create one with "
    "`recollect proof key create` before you erase"
)


def certified(handle: Handle, erase: Callable[[], Erasure]) -> Erasure:
    """Erases between two checkpoints, and signs what was done if there is a key."""
    before = _checkpoint(handle)
    done = erase()
    if isinstance(before, str):
        return structs.replace(done, uncertified=before)
    after = _checkpoint(handle)
    if isinstance(after, str):
        return structs.replace(done, uncertified=after)
    made = Certificate(
        ledger=after.ledger,
        subjects=done.subjects,
        at=handle.seam.now(),
        event=done.seq,
        events=len(done.events),
        before=_plain(before),
        after=_plain(after),
        cleaned=tuple(place for place in done.places if not place.startswith("NOT ")),
        not_reached=tuple(place for place in done.places if place.startswith("NOT ")),
    )
    note = render(sign(made, ring_of(handle).private())).decode()
    return structs.replace(done, certificate=note)


def _checkpoint(handle: Handle) -> Checkpoint | str:
    """A checkpoint, or why there is none: the erasure happens all the same."""
    try:
        return checkpoint(handle) if ring_of(handle).private() else _NO_KEY
    except RecollectError as error:
        return f"no certificate was signed: {error}"


def _plain(made: Checkpoint) -> checkpoints.Checkpoint:
    return checkpoints.Checkpoint(made.ledger, made.size, bytes.fromhex(made.root))


def check(handle: Handle, note: bytes) -> Certified:
    """Compares a certificate with the keys and the ledger here; raises if no known key signed."""
    ring = ring_of(handle)
    read = parse(note)
    certificate = parse_text(read.text)
    signers(read, ring.public())
    problem = _problem(handle, certificate, ring.ledger)
    return Certified(
        ok=problem is None,
        ledger=certificate.ledger,
        subjects=certificate.subjects,
        at=certificate.at,
        event=certificate.event,
        events=certificate.events,
        cleaned=certificate.cleaned,
        not_reached=certificate.not_reached,
        problem=problem,
    )


def _problem(handle: Handle, certificate: Certificate, ledger: str) -> str | None:
    """What of a certificate is not so here."""
    if certificate.ledger != ledger:
        return f"it is of {certificate.ledger}, and this memory is {ledger}"
    claims = [certificate.before, certificate.after]
    roots = Roots(one.size for one in claims)
    left, ordered = list[int](), list[int]()

    def each(line: Line) -> None:
        if line.subject in certificate.subjects and line.data is not None:
            left.append(line.seq)
        if line.seq == certificate.event and line.is_erasure and line.data is not None:
            body = decode(line).body
            if isinstance(body, EventsErased) and {*certificate.subjects} <= {*body.subjects}:
                ordered.append(line.seq)

    found = verify(handle.space.pieces(), each=each, hashes=roots.take)
    if found.broken_at is not None:
        return f"the ledger is broken at event {found.broken_at}: {found.problem}"
    for claim in claims:
        if claim.size > found.events or roots.at[claim.size].root != claim.root:
            return f"the first {claim.size:,} events are not those that it names"
    if not ordered:
        return f"event {certificate.event} does not order this erasure"
    return f"event {left[0]} is still encrypted for its subject" if left else None
