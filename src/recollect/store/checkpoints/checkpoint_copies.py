"""Copying the checkpoints of a ledger to where it was copied.

Responsible for which notes are copied. Leaves checking signatures to
``store.checkpoints.checkpoints``: which ones count depends on the keys that the verifier trusts.
Invariant: only checkpoints of this ledger are copied, and none of more events than the copy has.
"""

from __future__ import annotations

from recollect.proof.checkpoints import parse_text
from recollect.proof.notes import BadNote, Note, parse
from recollect.store.checkpoints.key_ring import ledger_name
from recollect.store.port import Checkpoints


def copied(source: Checkpoints, target: Checkpoints, through: int, first: str | None) -> int:
    """Copies the notes up to an event that the other one lacks; says how many.

    ``first`` is the hash of the ledger's first event. A note that both have is replaced by the
    same one with more signatures. Only the last such note can have got any: a key is replaced at
    the end of a ledger.
    """
    ledger = None if first is None else ledger_name(first)
    sizes, there = [size for size in source.sizes() if size <= through], set(target.sizes())
    shared = [size for size in sizes if size in there][-1:]
    count = 0
    for size in [*shared, *(size for size in sizes if size not in there)]:
        raw = source.note(size)
        note = _fitting(raw, size, ledger)
        if note is None or (size in there and not _adds(note, target.note(size))):
            continue
        target.keep(size, raw)
        count += 1
    return count


def _fitting(raw: bytes, size: int, ledger: str | None) -> Note | None:
    """The note, if it is a checkpoint of so many events of this ledger."""
    try:
        note = parse(raw)
        checkpoint = parse_text(note.text)
    except BadNote:
        return None
    fits = checkpoint.size == size and ledger in (None, checkpoint.origin)
    return note if fits else None


def _adds(note: Note, raw: bytes) -> bool:
    """True if a note has all the signatures of another one of the same text, and more."""
    try:
        other = parse(raw)
    except BadNote:
        return True
    return note.text == other.text and set(note.signatures) > set(other.signatures)
