"""One event, one line: its exact bytes and the strict way back.

Responsible for the form of a single line and its two digests. Leaves the order of lines to
``ledger.chain`` and ``ledger.scan``. Invariant: ``parse`` accepts exactly the lines that
``encode`` (or ``erase``) could have written, byte for byte.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, cast

import msgspec

from recollect.errors import IntegrityError
from recollect.model.events import Head, Origin

_SEQ = rb"[1-9][0-9]{0,15}"
_HASH = rb"[0-9a-f]{64}"

# Every header field has a closed character set, none of which holds a quote: the first
# `,"hash":` of a line is therefore the boundary of what the hash covers.
HEADER: Final = re.compile(
    rb'\{"v":([1-9][0-9]{0,3}),"seq":(' + _SEQ + rb'),"tx":\[(' + _SEQ + rb"),(" + _SEQ + rb")\],"
    rb'"id":"([A-Za-z0-9_.:@/+~#=-]{1,160})","kind":"([a-z_]{1,40}\.[a-z_]{1,40})",'
    rb'"at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)",'
    rb'"origin":"(person|agent|unverified|system)",'
    rb'"subject":(?:null|"([0-9a-f]{32})"),"cipher":(?:null|([1-9][0-9]{0,8})),'
    rb'"body":"(' + _HASH + rb')","prev":"(' + _HASH + rb')","hash":"(' + _HASH + rb')",'
)
_KEPT: Final = re.compile(rb'"salt":"([0-9a-f]{32})","data":')
_ERASED: Final = re.compile(rb'"erased":"(' + _SEQ + rb')"\}')
_HASH_TAIL: Final = len(b',"hash":"') + 64 + len(b'",')


class Line(msgspec.Struct, frozen=True):
    """A parsed line. ``data`` is None once the body was erased by event ``erased_by``."""

    v: int
    seq: int
    first: int
    last: int
    id: str
    kind: str
    at: str
    origin: Origin
    subject: str | None
    cipher: int | None
    commitment: str
    prev: str
    hash: str
    salt: bytes
    data: bytes | None
    erased_by: int | None

    @property
    def head(self) -> Head:
        """The ledger's head if it ended here."""
        return Head(self.seq, self.hash, self.at)


class BadLine(IntegrityError):
    """These bytes are no line of a ledger, or not the line they claim to be."""

    code = "bad_line"


def commit(salt: bytes, data: bytes) -> str:
    """The header's commitment to a body."""
    return sha256(salt + data).hexdigest()


def encode(
    *,
    v: int,
    seq: int,
    first: int,
    last: int,
    id: str,
    kind: str,
    at: str,
    origin: str,
    prev: str,
    salt: bytes,
    data: bytes,
    subject: str | None = None,
    cipher: int | None = None,
) -> tuple[bytes, str]:
    """The line, with its newline, and its hash."""
    named = "null" if subject is None else f'"{subject}"'
    header = (
        f'{{"v":{v},"seq":{seq},"tx":[{first},{last}],"id":"{id}","kind":"{kind}","at":"{at}",'
        f'"origin":"{origin}","subject":{named},"cipher":{"null" if cipher is None else cipher},'
        f'"body":"{commit(salt, data)}","prev":"{prev}"'
    ).encode("ascii")
    digest = sha256(header).hexdigest()
    tail = f',"hash":"{digest}","salt":"{salt.hex()}","data":'.encode("ascii")
    return b"".join((header, tail, data, b"}\n")), digest


def parse(raw: bytes) -> Line:
    """The line without its newline, checked against its own two digests."""
    header = HEADER.match(raw)
    if header is None:
        raise BadLine("not a line of a ledger")
    end = header.end()
    fields = header.groups()
    digest = fields[12].decode()
    if sha256(raw[: end - _HASH_TAIL]).hexdigest() != digest:
        raise BadLine("the header does not match its hash")
    salt, data, erased_by = _rest(raw, end, fields[10].decode())
    return Line(
        int(fields[0]),
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        fields[4].decode(),
        fields[5].decode(),
        fields[6].decode(),
        cast(Origin, fields[7].decode()),
        None if fields[8] is None else fields[8].decode(),
        None if fields[9] is None else int(fields[9]),
        fields[10].decode(),
        fields[11].decode(),
        digest,
        salt,
        data,
        erased_by,
    )


def _rest(raw: bytes, end: int, commitment: str) -> tuple[bytes, bytes | None, int | None]:
    """What follows the hash: salt and data, or the mark of an erasure."""
    kept = _KEPT.match(raw, end)
    if kept is None:
        erased = _ERASED.fullmatch(raw, end)
        if erased is None:
            raise BadLine("neither a body nor the mark of an erasure")
        return b"", None, int(erased[1])
    salt, data = bytes.fromhex(kept[1].decode()), raw[kept.end() : -1]
    if raw[-1:] != b"}" or commit(salt, data) != commitment:
        raise BadLine("the body does not match the header's commitment")
    return salt, data, None


def header_of(raw: bytes) -> tuple[int, int] | None:
    """(seq, tx[0]) if these bytes begin with a header that matches its own hash.

    Recovery asks this of bytes it does not trust: whatever stands after the header, a valid
    header is proof that somebody appended that event.
    """
    header = HEADER.match(raw)
    if header is None:
        return None
    if sha256(raw[: header.end() - _HASH_TAIL]).hexdigest() != header[13].decode():
        return None
    return int(header[2]), int(header[3])


def erase(raw: bytes, by: int) -> bytes:
    """The same line (without its newline) with its body and salt gone; the chain is untouched."""
    header = HEADER.match(raw)
    if header is None:
        raise BadLine("not a line of a ledger")
    return raw[: header.end()] + f'"erased":"{by}"}}'.encode("ascii")
