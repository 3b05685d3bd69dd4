"""``memory.proof.prove``: one event with all that is needed to check it elsewhere.

Responsible for which event it is, who may have it, and the checkpoint above it. Leaves lines and
hashes to ``store.checkpoints.proofs`` and the document to ``recollect.proof``. Invariant: a proof
shows no event that this handle's ``events`` would not list; of others it has hashes only.
"""

from __future__ import annotations

from msgspec import structs

from recollect.errors import InvalidInput, NotFound
from recollect.index.erasures import erased_by
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow
from recollect.ledger.line import Line, erase, parse
from recollect.memory.handle.authors import Authors
from recollect.memory.handle.handle import Handle
from recollect.memory.one_event import listed, require_ledger
from recollect.memory.proof.checkpoints import ring_of
from recollect.model import validate
from recollect.model.values import Proof
from recollect.proof.certificates import render
from recollect.proof.notes import render as note_bytes
from recollect.store.checkpoints import checkpoints
from recollect.store.checkpoints.checkpoints import Known
from recollect.store.checkpoints.key_ring import KeyRing
from recollect.store.checkpoints.proofs import Prover, Shown


def prove(handle: Handle, id: str | None, event: int | None) -> Proof:
    """The proof of one event; ``Memory.prove`` documents the arguments."""
    require_ledger(handle)
    if event is not None:
        event = validate.position(event, "event")
    with handle.reading() as reads:
        seq = _said_by(handle, reads, id) if event is None else listed(handle, reads, event, id)
        by, author = erased_by(reads, seq), Authors(reads).of(seq)
    ring = ring_of(handle)
    known = _checkpoint(handle, ring, max(seq, by or 0))
    prover = Prover(handle.space, ring, known.checkpoint)
    shown = prover.shown(seq)
    line = parse(shown.line)
    if by is not None and line.data is not None:  # ordered, and not removed from the file yet
        shown = Shown(erase(shown.line, by), shown.path)
    erasing = None if by is None else prover.shown(by)
    made = _made(line, by, known, shown, erasing)
    return structs.replace(made, author=author if by is None else None)


def _made(line: Line, by: int | None, known: Known, shown: Shown, erasing: Shown | None) -> Proof:
    pair = None if erasing is None else (erasing.line, erasing.path)
    return Proof(
        ledger=known.checkpoint.origin,
        seq=line.seq,
        at=line.at,
        kind=line.kind,
        by=line.origin,
        erased_by=by,
        size=known.checkpoint.size,
        document=render(shown.line, shown.path, note_bytes(known.note), pair),
    )


def _said_by(handle: Handle, reads: Reads, id: str | None) -> int:
    """The event that gave a record its text, or that observed an episode."""
    if id is None:
        raise InvalidInput("say what to prove", hint="give an id, or the number of an event")
    row = handle.find(reads, id)
    return row.seq if isinstance(row, EpisodeRow) else row.text_seq


def _checkpoint(handle: Handle, ring: KeyRing, through: int) -> Known:
    """The last checkpoint; one is signed now if it does not cover the event."""
    last = checkpoints.last_known(handle.space, ring)
    if last is None or last.checkpoint.size < through:
        _sign(handle, ring, through)
        last = checkpoints.last_known(handle.space, ring)
    if last is None or last.checkpoint.size < through:
        raise _uncovered(through, "sign one: recollect proof checkpoint")
    return last


def _sign(handle: Handle, ring: KeyRing, through: int) -> None:
    if not ring.private():
        raise _uncovered(
            through,
            "create a key: recollect proof key create; or pull a checkpoint whose key is pinned",
        )
    if handle.actor.user is not None:  # it would be about everybody's events
        raise _uncovered(through, "sign one without --user: recollect proof checkpoint")
    handle.require_person(f"signing a checkpoint that covers event {through}")
    checkpoints.make(handle.space, ring)


def _uncovered(through: int, hint: str) -> NotFound:
    return NotFound(f"no signed checkpoint covers event {through} yet", hint=hint)
