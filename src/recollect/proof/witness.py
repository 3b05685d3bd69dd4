"""The rule of a witness: which checkpoints it cosigns (C2SP ``tlog-witness``).

Responsible for the text of a request, both ways, and for the decision about one. Leaves keeping
what was cosigned to ``store.witnesses``. Invariant: a checkpoint is accepted only if a pinned key
of its log signed it and its tree begins with the tree of the last one that was accepted.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from recollect.ledger.tree import EMPTY, extends
from recollect.proof.checkpoints import Checkpoint, parse_text
from recollect.proof.keys import PublicKey, signers
from recollect.proof.notes import BadNote, Note, Signature, decode64, parse, render

MOST_HASHES: Final = 63
REQUEST_MAX_BYTES: Final = 1 << 16

_OLD: Final = re.compile("old (0|[1-9][0-9]{0,15})")
_HASH_BYTES: Final = 32

# Why nothing is cosigned: what cannot be read; a log that is not pinned; no pinned key signed it;
# its tree does not begin with the one that was seen before.
Why = Literal["malformed", "unknown", "unsigned", "inconsistent"]


class Request(msgspec.Struct, frozen=True):
    """Asks a witness to cosign a checkpoint that continues the tree of ``old`` leaves."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: Checkpoint
    note: Note

    @classmethod
    def of(cls, old: int, proof: Sequence[bytes], note: Note) -> Request:
        """A request for a note; raises BadNote if it is not a checkpoint."""
        return cls(old, tuple(proof), parse_text(note.text), note)


class Cosigned(msgspec.Struct, frozen=True):
    """The witness has kept the checkpoint and signed that it has seen it."""

    signatures: tuple[Signature, ...]


class Behind(msgspec.Struct, frozen=True):
    """The request does not continue what the witness has: a tree of ``size`` leaves."""

    size: int


class Refusal(msgspec.Struct, frozen=True):
    """The witness does not cosign this."""

    why: Why
    text: str


class Accepted(msgspec.Struct, frozen=True):
    """What a witness may cosign, once it is kept: the note with the signatures of pinned keys."""

    checkpoint: Checkpoint
    note: Note


Answer = Cosigned | Behind | Refusal


def judge(
    request: Request, pinned: Sequence[PublicKey], latest: Checkpoint | None
) -> Accepted | Behind | Refusal:
    """The decision about a request, given the pinned keys of its log and the last checkpoint."""
    made = request.checkpoint
    keys = [key for key in pinned if key.name == made.origin]
    if not keys:
        return unknown(made.origin)
    try:
        signed = signers(request.note, keys)
    except BadNote as error:
        return Refusal("unsigned", error.message)
    if request.old > made.size:
        return Refusal("malformed", "the old size is larger than the checkpoint")
    size, root = (0, EMPTY) if latest is None else (latest.size, latest.root)
    if request.old != size:
        return Behind(size)
    if not extends(root, size, made.root, made.size, request.proof):
        return Refusal("inconsistent", f"it does not begin with the {size:,} events seen before")
    return Accepted(made, _only(request.note, signed))


def unknown(origin: str) -> Refusal:
    """The answer for a log that is not pinned."""
    return Refusal("unknown", f"the log {origin} is not known here")


def _only(note: Note, keys: Sequence[PublicKey]) -> Note:
    """The note without the signatures of others, who could make it as long as they like."""
    kept = {each: None for each in note.signatures if any(key.made(each) for key in keys)}
    return Note(note.text, tuple(kept))


def render_request(request: Request) -> bytes:
    """The body of a request."""
    lines = [f"old {request.old}", *(b64encode(each).decode() for each in request.proof), "", ""]
    return "\n".join(lines).encode() + render(request.note)


def parse_request(raw: bytes) -> Request:
    """The request that this body is; raises BadNote."""
    if len(raw) > REQUEST_MAX_BYTES:
        raise BadNote(f"a request of more than {REQUEST_MAX_BYTES:,} bytes")
    head, blank, rest = raw.partition(b"\n\n")
    try:
        first, *hashes = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise BadNote("a request begins with ASCII lines") from error
    old = _OLD.fullmatch(first)
    if not blank or old is None:
        raise BadNote("a request begins with the old size, hashes and an empty line")
    if len(hashes) > MOST_HASHES:
        raise BadNote(f"more than {MOST_HASHES} hashes")
    proof = [decode64(each) for each in hashes]
    if any(len(each) != _HASH_BYTES for each in proof):
        raise BadNote("a line of the proof is not a SHA-256 hash")
    return Request.of(int(old[1]), proof, parse(rest))
