"""What is handed to others: proofs of events as documents, and certificates of erasure, signed.

Responsible for the text of a certificate, both ways, and for the one form of a proof: JSON in ASCII
with these fields in this order. Leaves keys to ``proof.keys``, making a proof to ``store`` and
checking it to ``docs/verify_proof.py``, which shares no code with this. Invariants: a document
holds no key: the verifier must have the key from elsewhere; a certificate has the pseudonym of a
subject, never a name; ``parse_text(certificate.text) == certificate``, and nothing else is
accepted.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Final

import msgspec

from recollect.proof.checkpoints import Checkpoint
from recollect.proof.keys import PrivateKey
from recollect.proof.notes import BadNote, Note, decode64

_TITLE: Final = "erasure certificate v1"
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,15}")
_PSEUDONYM: Final = re.compile("[0-9a-f]{32}")
_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_PLACE_MAX_CHARS: Final = 2_000
_WORDS: Final = ("cleaned", "not-reached")
FORMAT: Final = "recollect-proof/1"


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of these subjects was erased, and their keys were destroyed.

    There are no subjects if nothing of that user was encrypted.
    """

    ledger: str
    subjects: tuple[str, ...]
    at: str
    event: int  # the last one that ordered it
    events: int  # how many were erased
    before: Checkpoint
    after: Checkpoint
    cleaned: tuple[str, ...]
    not_reached: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is signed."""
        lines = [
            self.ledger,
            _TITLE,
            *(f"subject {one}" for one in self.subjects),
            f"at {self.at}",
            f"event {self.event}",
            f"events {self.events}",
            f"before {_shown(self.before)}",
            f"after {_shown(self.after)}",
            *(f"cleaned {_one_line(place)}" for place in self.cleaned),
            *(f"not-reached {_one_line(place)}" for place in self.not_reached),
        ]
        return "\n".join(lines) + "\n"


def sign(certificate: Certificate, keys: Iterable[PrivateKey]) -> Note:
    """The certificate as a note, signed with each of the keys."""
    text = certificate.text
    return Note(text, tuple(key.sign(text) for key in keys))


def parse_text(text: str) -> Certificate:
    """The certificate in the text of a note; raises BadNote."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or lines[1] != _TITLE:
        raise BadNote("it is not a certificate of erasure")
    rest = [line.partition(" ")[::2] for line in lines[2:]]
    found: dict[str, list[str]] = {}
    for word, value in rest:
        found.setdefault(word, []).append(value)
    try:
        made = _made(lines[0], found)
    except (KeyError, ValueError) as error:
        raise BadNote("a line of the certificate is missing or wrong") from error
    if made.text != text:
        raise BadNote("a line of the certificate is missing, wrong or in another place")
    return made


def _made(ledger: str, found: dict[str, list[str]]) -> Certificate:
    def one(word: str, pattern: re.Pattern[str]) -> str:
        (value,) = found[word]
        if pattern.fullmatch(value) is None:
            raise ValueError(word)
        return value

    def checkpoint(word: str) -> Checkpoint:
        (value,) = found[word]
        size, _, root = value.partition(" ")
        decoded = decode64(root)
        if _NUMBER.fullmatch(size) is None or len(decoded) != 32:
            raise ValueError(word)
        return Checkpoint(ledger, int(size), decoded)

    subjects = tuple(found.get("subject", ()))
    if not all(map(_PSEUDONYM.fullmatch, subjects)):
        raise ValueError("subject")
    cleaned, not_reached = (tuple(found.get(word, ())) for word in _WORDS)
    return Certificate(
        ledger=ledger,
        subjects=subjects,
        at=one("at", _INSTANT),
        event=int(one("event", _NUMBER)),
        events=int(one("events", _NUMBER)),
        before=checkpoint("before"),
        after=checkpoint("after"),
        cleaned=cleaned,
        not_reached=not_reached,
    )


def _shown(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.size} {b64encode(checkpoint.root).decode()}"


def _one_line(place: str) -> str:
    """A place in one line of characters that can be seen, and not longer than needed."""
    seen = "".join(one if one.isprintable() else "?" for one in place)
    return seen[:_PLACE_MAX_CHARS]


def render(
    line: bytes,
    path: Iterable[bytes],
    note: bytes,
    erased_by: tuple[bytes, Iterable[bytes]] | None = None,
) -> str:
    """The document for one event, and for the event that erased it, under one checkpoint."""
    document = {
        "format": FORMAT,
        **_event(line, path),
        "erased_by": None if erased_by is None else _event(*erased_by),
        "checkpoint": note.decode(),
    }
    return json.dumps(document, indent=1) + "\n"


def _event(line: bytes, path: Iterable[bytes]) -> dict[str, object]:
    return {"event": line.decode(), "path": [b64encode(hash).decode() for hash in path]}
