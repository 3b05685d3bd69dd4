"""Checkpoints: the length of a ledger and the root of its tree, signed (C2SP ``tlog-checkpoint``).

Responsible for the text of a checkpoint, both ways. Invariant: size and root are signed together,
because a root alone does not say over how many events it is.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Final

import msgspec

from recollect.proof.keys import PrivateKey, PublicKey, signers
from recollect.proof.notes import BadNote, Note, decode64, parse

_SIZE: Final = re.compile("0|[1-9][0-9]{0,15}")
_ROOT_BYTES: Final = 32
_LINES: Final = 3


class Checkpoint(msgspec.Struct, frozen=True):
    """The first ``size`` events of the ledger ``origin`` have this root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


def sign(checkpoint: Checkpoint, keys: Iterable[PrivateKey]) -> Note:
    """The checkpoint as a note, signed with each of the keys: two while a key is being replaced."""
    text = checkpoint.text
    return Note(text, tuple(key.sign(text) for key in keys))


def read(raw: bytes, known: Iterable[PublicKey]) -> tuple[Checkpoint, Note]:
    """A checkpoint that a known key signed; raises BadNote."""
    note = parse(raw)
    signers(note, known)
    return parse_text(note.text), note


def parse_text(text: str) -> Checkpoint:
    """The checkpoint in the text of a note. Lines after the third are refused: we write none."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) != _LINES or not lines[0]:
        raise BadNote("a checkpoint has three lines: origin, size and root")
    origin, size, root = lines
    if _SIZE.fullmatch(size) is None:
        raise BadNote("the size of a checkpoint is not a number")
    decoded = decode64(root)
    if len(decoded) != _ROOT_BYTES:
        raise BadNote("the root of a checkpoint is not a SHA-256 hash")
    return Checkpoint(origin, int(size), decoded)
