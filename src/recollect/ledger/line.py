"""One event, one line: its exact bytes and the strict way back.

Responsible for the form of a single line and its two digests. Leaves the order of lines to
``ledger.chain`` and ``ledger.scan``. Invariant: ``parse`` accepts exactly the lines that
``encode`` (or ``erase``) could have written, byte for byte.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, NamedTuple, cast

import msgspec

from recollect.errors import IntegrityError
from recollect.model.events import Head, Origin

# The kinds whose bodies say something about other lines.
ERASURE: Final = b"events.erased"
SEAL: Final = b"ledger.sealed"

_SEQ: Final = rb"[1-9][0-9]{0,15}"

# The header up to its three digests. Every field has a closed character set without a quote, so the
# first `,"hash":` of a line ends the bytes that the hash covers. Digests need no pattern, because
# they are compared with computed ones.
_FRONT: Final = re.compile(
    rb'\{"v":([1-9][0-9]{0,3}),"seq":(' + _SEQ + rb'),"tx":\[(' + _SEQ + rb"),(" + _SEQ + rb")\],"
    rb'"id":"([A-Za-z0-9_.:@/+~#=-]{1,160})","kind":"([a-z_]{1,40}\.[a-z_]{1,40})",'
    rb'"at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)",'
    rb'"origin":"(person|agent|unverified|system)",'
    rb'"subject":(?:null,"cipher":null|"([0-9a-f]{32})","cipher":([1-9][0-9]{0,8})),"body":"'
)
_HEX: Final = re.compile(rb"[0-9a-f]{64}")
_BRACE: Final = ord("}")
_ERASED: Final = re.compile(rb'"erased":"(' + _SEQ + rb')"\}')

# Offsets, counted from the end of _FRONT.
_PREV: Final = 64 + len('","prev":"')
_HASHED: Final = _PREV + 64 + len('"')
_HASH: Final = _PREV + 64 + len('","hash":"')
_REST: Final = _HASH + 64 + len('",')
_SALT_AT: Final = _REST + len('"salt":"')
_DATA_AT: Final = _SALT_AT + 32 + len('","data":')


class Line(msgspec.Struct, frozen=True, gc=False):
    """A parsed line. ``data`` is None once the body was erased by event ``erased_by``."""

    seq: int
    first: int
    last: int
    id: str
    at: str
    prev: str
    hash: str
    data: bytes | None
    erased_by: int | None
    _fields: tuple[bytes | None, ...]

    @property
    def v(self) -> int:
        """The version of the line and its body."""
        return int(self._fields[0] or 0)

    @property
    def kind(self) -> str:
        """The kind of event, which decides the form of the body."""
        return (self._fields[5] or b"").decode()

    @property
    def origin(self) -> Origin:
        """Who wrote it."""
        return cast(Origin, (self._fields[7] or b"").decode())

    @property
    def subject(self) -> str | None:
        """The pseudonym of the person the body is encrypted for."""
        return None if self._fields[8] is None else self._fields[8].decode()

    @property
    def cipher(self) -> int | None:
        """The version of that person's key."""
        return None if self._fields[9] is None else int(self._fields[9])

    @property
    def is_erasure(self) -> bool:
        """True if its body names events to erase."""
        return self._fields[5] == ERASURE

    @property
    def is_seal(self) -> bool:
        """True if its body says what was sealed before it."""
        return self._fields[5] == SEAL

    @property
    def head(self) -> Head:
        """The ledger's head if it ended here."""
        return Head(self.seq, self.hash, self.at)


class Claim(NamedTuple):
    """What a line says about itself, unchecked."""

    first: int
    last: int
    head: Head


class BadLine(IntegrityError):
    """These bytes are not a line of a ledger, or they fail a check of their own digests."""

    code = "bad_line"


def commitment(salt: bytes, data: bytes) -> str:
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
        f'"body":"{commitment(salt, data)}","prev":"{prev}"'
    ).encode("ascii")
    digest = sha256(header).hexdigest()
    tail = f',"hash":"{digest}","salt":"{salt.hex()}","data":'.encode("ascii")
    return b"".join((header, tail, data, b"}\n")), digest


def parse(raw: bytes) -> Line:
    """The line without its newline, checked against its own two digests."""
    front = _FRONT.match(raw)
    if front is None:
        raise BadLine("not a line of a ledger")
    end = front.end()
    digest = _checked_hash(raw, end)
    if digest is None:
        raise BadLine("the header does not match its hash")
    data: bytes | None
    if raw[end + _DATA_AT - 9 : end + _DATA_AT] == b'","data":':
        data, erased_by = _data(raw, end), None
    else:
        data, erased_by = None, _erased_by(raw, end)
    fields = front.groups()
    _, seq, first, last, id, _, at, _, _, _ = fields
    return Line(
        int(seq),
        int(first),
        int(last),
        id.decode(),
        at.decode(),
        raw[end + _PREV : end + _PREV + 64].decode(),
        digest,
        data,
        erased_by,
        fields,
    )


def _checked_hash(raw: bytes, end: int) -> str | None:
    """The line's hash, if its header is whole and matches it."""
    header = raw[: end + _HASHED]
    digest = sha256(header).hexdigest()
    if raw[end + _HASHED : end + _REST] != b',"hash":"%b",' % digest.encode():
        return None
    if header[end + 64 : end + _PREV] != b'","prev":"':
        return None
    # A matching hash does not make the fields valid: this one must have the form of a digest.
    return None if _HEX.fullmatch(header, end + _PREV, end + _HASHED - 1) is None else digest


def _data(raw: bytes, end: int) -> bytes:
    """The body, if it matches the header's commitment."""
    data = raw[end + _DATA_AT : -1]
    salt = raw[end + _SALT_AT : end + _SALT_AT + 32].decode("latin-1")
    try:
        digest = sha256(bytes.fromhex(salt) + data).hexdigest()
    except ValueError as error:
        raise BadLine("the salt is not a hexadecimal number") from error
    # Compared with the bytes that ``encode`` would write, so that no other spelling is accepted.
    if (
        raw[end : end + 64] != digest.encode()
        or raw[end + _REST : end + _SALT_AT] != b'"salt":"'
        or raw[-1] != _BRACE
        or not (salt.isalnum() and salt == salt.lower())
    ):
        raise BadLine("the body does not match the header's commitment")
    return data


def _erased_by(raw: bytes, end: int) -> int:
    erased = _ERASED.fullmatch(raw, end + _REST)
    if erased is None:
        raise BadLine("neither a body nor an erasure mark")
    if _HEX.fullmatch(raw, end, end + 64) is None:
        raise BadLine("the header's commitment is not a digest")
    return int(erased[1])


def header_of(raw: bytes) -> tuple[int, int] | None:
    """(seq, tx[0]) if these bytes begin with a header that matches its own hash.

    Recovery calls this on bytes that it does not trust: whatever follows the header, a valid
    header proves that this event was appended.
    """
    front = _FRONT.match(raw)
    if front is None or _checked_hash(raw, front.end()) is None:
        return None
    return int(front[2]), int(front[3])


def seq_of(raw: bytes) -> int | None:
    """The seq these bytes claim, unchecked."""
    front = _FRONT.match(raw)
    return None if front is None else int(front[2])


def subject_of(raw: bytes) -> tuple[int, str] | None:
    """(seq, subject) if this line has a body and names a subject; unchecked."""
    front = _FRONT.match(raw)
    if front is None or front[9] is None:
        return None
    return (int(front[2]), front[9].decode()) if has_body(raw) else None


def has_body(raw: bytes) -> bool:
    """True if these bytes begin like a line whose body was not erased; unchecked."""
    front = _FRONT.match(raw)
    return front is not None and raw.startswith(b'"salt":"', front.end() + _REST)


def claimed(raw: bytes) -> Claim | None:
    """The append and the head that a line with its newline claims, unchecked."""
    front = _FRONT.match(raw)
    if front is None or not raw.endswith(b"\n"):
        return None
    hash = raw[front.end() + _HASH : front.end() + _HASH + 64]
    head = Head(int(front[2]), hash.decode("latin-1"), front[7].decode())
    return Claim(int(front[3]), int(front[4]), head)


def erase(raw: bytes, by: int) -> bytes:
    """The same line (without its newline) with its body and salt gone; the chain is untouched."""
    front = _FRONT.match(raw)
    if front is None:
        raise BadLine("not a line of a ledger")
    return raw[: front.end() + _REST] + f'"erased":"{by}"}}'.encode("ascii")
