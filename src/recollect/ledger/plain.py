"""Checking many lines at once: one pattern over all of them, then columns compared as a whole.

Responsible for whole appends of usual lines: this version, not erased. Leaves any
other bytes to the strict parser, ``ledger.scan``, which also finds the words for what is wrong.
Invariant: what is accepted here is accepted there, with the same lines and the same head.
"""

from __future__ import annotations

import re
from binascii import hexlify, unhexlify
from functools import cache
from hashlib import sha256
from typing import Final, NamedTuple

from recollect.ledger.line import Line, parse
from recollect.model.events import VERSION, Head
from recollect.model.limits import APPEND_MAX_EVENTS

# A line as ``line.encode`` writes it. The pattern may be narrower than the strict one, never wider.
# Digests and salts may be any bytes here, because they are compared below. Each match begins at the
# start of a line, so the time is in proportion to the bytes.
_SEQ: Final = rb"([1-9][0-9]{0,15})"
_HEADER: Final = (
    rb'\{"v":%d,"seq":' % VERSION + _SEQ + rb',"tx":\[' + _SEQ + rb"," + _SEQ + rb"\],"
    rb'"id":"([A-Za-z0-9_.:@/+~#=-]{1,150})\.([1-9][0-9]{0,5})",'
    rb'"kind":"([a-z_]{1,40}\.[a-z_]{1,40})",'
    rb'"at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)",'
    rb'"origin":"(person|agent|unverified|system)",'
    rb'"subject":(?:null,"cipher":null|"([0-9a-f]{32})","cipher":([1-9][0-9]{0,8})),'
    rb'"body":"(?s:(.{64}))","prev":"(?s:(.{64}))"'
)
_TAIL: Final = rb',"hash":"(?s:(.{64}))","salt":"(?s:(.{32}))","data":([^\n]*)\}\n'
_REST: Final = len(',"hash":"","salt":"","data":}\n') + 64 + 32
_HEX: Final = "0123456789abcdef"


@cache
def _pattern() -> re.Pattern[bytes]:  # compiled when it is first needed: programs start sooner
    return re.compile(rb"^(" + _HEADER + rb")" + _TAIL, re.MULTILINE)


class Columns(NamedTuple):
    """Checked lines, field by field, each as it stands in the ledger."""

    headers: tuple[bytes, ...]
    seqs: tuple[bytes, ...]
    firsts: tuple[bytes, ...]
    lasts: tuple[bytes, ...]
    commands: tuple[bytes, ...]
    ordinals: tuple[bytes, ...]
    kinds: tuple[bytes, ...]
    ats: tuple[bytes, ...]
    origins: tuple[bytes, ...]
    subjects: tuple[bytes, ...]  # empty for a body that is not encrypted
    ciphers: tuple[bytes, ...]
    bodies: tuple[bytes, ...]
    prevs: tuple[bytes, ...]
    hashes: tuple[bytes, ...]
    salts: tuple[bytes, ...]
    data: tuple[bytes, ...]

    @property
    def head(self) -> Head:
        """The head after the last of them."""
        return Head(int(self.seqs[-1]), self.hashes[-1].decode(), self.ats[-1].decode())

    def line(self, place: int) -> Line:
        """One of them, as the strict parser gives it."""
        hashed = b'%b,"hash":"%b"' % (self.headers[place], self.hashes[place])
        return parse(b'%b,"salt":"%b","data":%b}' % (hashed, self.salts[place], self.data[place]))


def columns(data: bytes, head: Head) -> Columns | None:
    """The lines of these bytes, if they are nothing but whole appends of usual lines."""
    found = _pattern().findall(data)
    if not found:
        return None
    lines = Columns(*zip(*found, strict=True))
    size = sum(map(len, lines.headers)) + sum(map(len, lines.data)) + len(found) * _REST
    if size != len(data):
        return None  # something stands between two of them
    if _is_numbered(lines, head.seq) and _is_chained(lines, head) and _is_hashed(lines):
        return lines
    return None


def _is_numbered(lines: Columns, before: int) -> bool:
    """True if the lines count on from an event, and each belongs to the append that it names."""
    seqs, firsts, lasts, ordinals = lines.seqs, lines.firsts, lines.lasts, lines.ordinals
    count = len(seqs)
    if seqs != tuple([b"%d" % seq for seq in range(before + 1, before + count + 1)]):
        return False
    place = 0
    while place < count:
        if firsts[place] == lasts[place] == seqs[place]:  # an append of one event
            if ordinals[place] != b"1":
                return False
            place += 1
            continue
        size = int(lasts[place]) - before - place
        if not 0 < size <= min(count - place, APPEND_MAX_EVENTS):
            return False
        if not _is_append(lines, place, place + size):
            return False
        place += size
    return True


def _is_append(lines: Columns, start: int, end: int) -> bool:
    """True if these lines name each other as their append, and ids count on in each command."""
    count, seqs = end - start, lines.seqs[start:end]
    if lines.firsts[start:end] != seqs[:1] * count or lines.lasts[start:end] != seqs[-1:] * count:
        return False
    commands, ordinals = lines.commands[start:end], lines.ordinals[start:end]
    if commands.count(commands[0]) == count and (
        ordinals == tuple([b"%d" % ordinal for ordinal in range(1, count + 1)])
    ):
        return True  # one command
    expected = b"", b""
    for command, ordinal in zip(commands, ordinals, strict=True):
        if ordinal != b"1" and (command, ordinal) != expected:
            return False
        expected = command, b"%d" % (int(ordinal) + 1)
    return True


def _is_chained(lines: Columns, head: Head) -> bool:
    """True if every line follows the one before it, and time does not run backwards."""
    if lines.prevs != (head.hash.encode(), *lines.hashes[:-1]) or head.hash.strip(_HEX):
        return False
    return lines.ats[0] >= head.at.encode() and sorted(lines.ats) == [*lines.ats]


def _is_hashed(lines: Columns) -> bool:
    """True if every digest is that of its bytes."""
    hashes = hexlify(b"".join([sha256(header).digest() for header in lines.headers]))
    if hashes != b"".join(lines.hashes):
        return False
    salts = b"".join(lines.salts)
    if salts.translate(None, _HEX.encode()):
        return False
    salts = unhexlify(salts)
    salted = zip(range(0, len(salts), 16), lines.data, strict=True)
    bodies = [sha256(salts[place : place + 16] + data).digest() for place, data in salted]
    return hexlify(b"".join(bodies)) == b"".join(lines.bodies)
