"""Signed notes: a text, and lines that sign it (C2SP ``signed-note``).

Responsible for the bytes of a note, both ways. Leaves keys and what a signature means to
``proof.keys``. Invariant: ``parse(render(note)) == note``, and ``render(parse(raw)) == raw``.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Final

import msgspec

from recollect.errors import IntegrityError

KEY_ID_BYTES: Final = 4
MOST_BYTES: Final = 1 << 20
MOST_SIGNATURES: Final = 100

_CONTROL: Final = re.compile("[\x00-\x09\x0b-\x1f]")
_SIGNED_BY: Final = "\N{EM DASH} "


class BadNote(IntegrityError):
    """These bytes are not a signed note, or its signatures are not good."""

    code = "bad_note"


class Signature(msgspec.Struct, frozen=True):
    """One line of signature. The form of its ``value`` depends on the kind of key."""

    name: str
    key_id: bytes
    value: bytes

    @property
    def line(self) -> str:
        """The line, with its newline."""
        return f"{_SIGNED_BY}{self.name} {b64encode(self.key_id + self.value).decode()}\n"


class Note(msgspec.Struct, frozen=True):
    """A text that ends with a newline, and its signatures."""

    text: str
    signatures: tuple[Signature, ...]


def is_name(name: str) -> bool:
    """True if a key may have this name: not empty, no spaces, no plus, nothing invisible."""
    return bool(name) and name.isprintable() and not re.search(r"[\s+]", name)


def plus(note: Note, signatures: Iterable[Signature]) -> Note:
    """The note with more signatures, each in place of an earlier one of the same key."""
    found = {(each.name, each.key_id): each for each in (*note.signatures, *signatures)}
    return Note(note.text, tuple(found.values()))


def render(note: Note) -> bytes:
    """The bytes of a note."""
    _check_text(note.text)
    return (note.text + "\n" + "".join(each.line for each in note.signatures)).encode()


def parse(raw: bytes) -> Note:
    """The note that these bytes are; raises BadNote."""
    if len(raw) > MOST_BYTES:
        raise BadNote(f"a signed note of more than {MOST_BYTES:,} bytes")
    try:
        whole = raw.decode()
    except UnicodeDecodeError as error:
        raise BadNote("a signed note must be UTF-8") from error
    text, blank, lines = whole.rpartition("\n\n")
    if not blank or not lines.endswith("\n"):
        raise BadNote("a signed note is a text, an empty line and lines of signature")
    text += "\n"
    _check_text(text)
    return Note(text, parse_lines(lines))


def parse_lines(lines: str) -> tuple[Signature, ...]:
    """Lines of signature, each with its newline."""
    split = lines.removesuffix("\n").split("\n")
    if len(split) > MOST_SIGNATURES:
        raise BadNote(f"more than {MOST_SIGNATURES} signatures")
    return tuple(_signature(line) for line in split)


def _signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_SIGNED_BY).partition(" ")
    if not line.startswith(_SIGNED_BY) or not space or not is_name(name):
        raise BadNote("not a line of signature")
    blob = decode64(encoded)
    if len(blob) <= KEY_ID_BYTES:
        raise BadNote("a signature is too short")
    return Signature(name, blob[:KEY_ID_BYTES], blob[KEY_ID_BYTES:])


def decode64(encoded: str) -> bytes:
    """Base64 in its one form: no other spelling of the same bytes is accepted."""
    try:
        blob = binascii.a2b_base64(encoded.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise BadNote("not base64") from error
    if b64encode(blob).decode() != encoded:
        raise BadNote("not base64 in its usual form")
    return blob


def _check_text(text: str) -> None:
    if not text.endswith("\n") or text == "\n":
        raise BadNote("the text of a signed note ends with a newline and is not empty")
    if _CONTROL.search(text):
        raise BadNote("a control character in a signed note")
