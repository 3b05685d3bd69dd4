"""Lines of a ledger, spoilt in every way that seemed worth a try.

Responsible for making bad lines and for holding the readers of single lines to their word. Leaves
counts and limits to ``test_damage``. Invariant: a seed gives the same lines again.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from recollect.errors import IntegrityError, Unsupported
from recollect.ledger.codec import decode, decode_body
from recollect.ledger.line import BadLine, header_of, parse, seq_of
from recollect.ledger.plain import columns
from recollect.ledger.scan import Damage, Scanner
from recollect.model.events import KINDS
from recollect.model.limits import LINE_MAX_BYTES
from tests.suites.ledgers import Ledger

Spoil = Callable[[bytes, random.Random], bytes]

_ODD = (
    b"\0", b"\n", b"\r", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xc2\x85",
    b'"', b"\\", b"{", b"}", b",", b":", b"[", b"]", b"-", b"e", b"0", b"null", b"NaN", b"\\ud800",
)  # fmt: skip
_BOUNDARY = b',"hash":"'
_KINDS = tuple(KINDS)


# Ways to spoil a line.


def _place(raw: bytes, rng: random.Random) -> int:
    return rng.randrange(len(raw) + 1)


def _digits(raw: bytes, rng: random.Random) -> tuple[int, int]:
    """A run of digits somewhere in the line."""
    start = _place(raw, rng)
    while start < len(raw) and not raw[start : start + 1].isdigit():
        start += 1
    end = start
    while raw[end : end + 1].isdigit():
        end += 1
    return start, end


def bits(raw: bytes, rng: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def odd_bytes(raw: bytes, rng: random.Random) -> bytes:
    place = _place(raw, rng)
    return raw[:place] + rng.choice(_ODD) + raw[place + rng.choice((0, 1)) :]


def repeated(raw: bytes, rng: random.Random) -> bytes:
    start, end = sorted((_place(raw, rng), _place(raw, rng)))
    return raw[:end] + raw[start:end] * rng.choice((1, 2, 50)) + raw[end:]


def cut_out(raw: bytes, rng: random.Random) -> bytes:
    start, end = sorted((_place(raw, rng), _place(raw, rng)))
    return raw[:start] + raw[end:]


def shortened(raw: bytes, rng: random.Random) -> bytes:
    return raw[: _place(raw, rng)]


def huge_number(raw: bytes, rng: random.Random) -> bytes:
    start, end = _digits(raw, rng)
    number = rng.choice(("9" * 16, "9" * 17, "18446744073709551616", "9" * 5_000, "1e999", "-1"))
    return raw[:start] + number.encode() + raw[end:]


def nested(raw: bytes, rng: random.Random) -> bytes:
    start, end = _digits(raw, rng)
    depth = rng.choice((20, 500, 5_000))
    left, right = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return raw[:start] + left * depth + b"1" + right * rng.choice((depth, 0)) + raw[end:]


def fields_doubled(raw: bytes, rng: random.Random) -> bytes:
    fields = raw.split(b',"')
    place = rng.randrange(len(fields))
    return b',"'.join([*fields[:place], fields[place], *fields[place:]])


def fields_reordered(raw: bytes, rng: random.Random) -> bytes:
    fields = raw.split(b',"')
    one, other = rng.randrange(len(fields)), rng.randrange(len(fields))
    fields[one], fields[other] = fields[other], fields[one]
    return b',"'.join(fields)


def capitals(raw: bytes, rng: random.Random) -> bytes:
    """Hexadecimal digits mean the same in capitals: another spelling must not pass."""
    start = _place(raw, rng)
    return raw[:start] + raw[start:].upper()


def blanks(raw: bytes, rng: random.Random) -> bytes:
    return raw.replace(b":", b": ", rng.randrange(1, 4))


def longer(raw: bytes, rng: random.Random) -> bytes:
    place = _place(raw, rng)
    return raw[:place] + rng.choice((b"a", b"\0", b"1", b"[")) * 50_000 + raw[place:]


SPOILS: tuple[tuple[int, Spoil], ...] = (
    (20, bits),
    (20, odd_bytes),
    (8, repeated),
    (8, cut_out),
    (8, shortened),
    (8, huge_number),
    (2, nested),
    (6, fields_doubled),
    (6, fields_reordered),
    (4, capitals),
    (2, blanks),
    (1, longer),
)


def resealed(raw: bytes) -> bytes:
    """The line with digests that match what stands there: whoever can write can hash, too."""
    header, boundary, rest = raw.partition(_BOUNDARY)
    if not boundary:
        return raw
    salt, data = rest[74:106], rest[115:-1]
    try:
        body = sha256(bytes.fromhex(salt.decode("ascii")) + data).hexdigest()
    except ValueError:
        body = "0" * 64
    before, mark, after = header.partition(b'"body":"')
    if mark:
        header = before + mark + body.encode() + after[64:]
    return header + _BOUNDARY + sha256(header).hexdigest().encode() + rest[64:]


# The readers, held to their word.


@dataclass
class Tried:
    """What came of so many lines."""

    count: int = 0
    parsed: int = 0
    slowest_s: float = 0.0
    by_error: Counter[str] = field(default_factory=Counter)
    accepted: list[bytes] = field(default_factory=list)  # altered, and yet taken for good
    leaked: list[str] = field(default_factory=list)  # errors that are not the ledger's own


class Trial:
    """Feeds spoilt lines of one ledger to everything that reads a line."""

    def __init__(self, ledger: Ledger, seed: int) -> None:
        self._rng = random.Random(seed)
        self._heads = [ledger.head_before(seq) for seq in range(1, len(ledger.lines) + 1)]
        self._lines = [line.removesuffix(b"\n") for line in ledger.lines]
        self._good = set(self._lines)
        self._headers = {_through_hash(line) for line in self._lines}
        self.tried = Tried()

    def run(self, count: int) -> Tried:
        weights = [weight for weight, _ in SPOILS]
        spoils = self._rng.choices([spoil for _, spoil in SPOILS], weights, k=count)
        for number, spoil in enumerate(spoils):
            place = self._rng.randrange(len(self._lines))
            raw = spoil(self._lines[place], self._rng)
            if number % 8 == 0:
                raw = self._spliced(raw)
            self.one(place, raw, sealed=number % 4 == 1)
        return self.tried

    def long_lines(self) -> None:
        """As long as a line may be, and one byte longer."""
        for size in (LINE_MAX_BYTES, LINE_MAX_BYTES + 1):
            for filler in (b"\0", b"a", b"[", b'{"v":1,"seq":'):
                raw = (self._lines[1] + filler * size)[:size]
                self.one(1, raw, sealed=False)
                self.one(1, raw, sealed=True)

    def one(self, place: int, raw: bytes, *, sealed: bool) -> None:
        raw = resealed(raw) if sealed else raw
        started = time.process_time()  # however busy the machine is
        try:
            self._parse(raw, sealed=sealed)
            self._body(raw)
            self._scan(place, raw)
        except Exception as error:  # noqa: BLE001 - that none gets here is what is tested
            self.tried.leaked.append(f"{type(error).__name__}: {error}: {raw[:400]!r}")
        self.tried.slowest_s = max(self.tried.slowest_s, time.process_time() - started)
        self.tried.count += 1

    def _spliced(self, raw: bytes) -> bytes:
        other = self._rng.choice(self._lines)
        return raw[: _place(raw, self._rng)] + other[_place(other, self._rng) :]

    def _parse(self, raw: bytes, *, sealed: bool) -> None:
        seq_of(raw)
        claimed = header_of(raw)
        if claimed and not sealed and _through_hash(raw) not in self._headers:
            self.tried.accepted.append(raw)
        try:
            line = parse(raw)
        except BadLine as bad:
            self.tried.by_error[bad.message] += 1
            return
        self.tried.parsed += 1
        # An erased line may say otherwise who erased it: that is for `verify` to compare.
        if not sealed and raw not in self._good and line.data is not None:
            self.tried.accepted.append(raw)
        try:
            decode(line)
        except (IntegrityError, Unsupported) as error:
            self.tried.by_error[type(error).__name__] += 1

    def _body(self, raw: bytes) -> None:
        data = raw[raw.find(b'"data":') + 7 : -1]
        try:
            decode_body(self._rng.choice(_KINDS), self._rng.choice((1, 1, 1, 2)), data)
        except (IntegrityError, Unsupported) as error:
            self.tried.by_error[type(error).__name__] += 1

    def _scan(self, place: int, raw: bytes) -> None:
        scanner = Scanner(self._heads[place])
        lines = columns(raw + b"\n", scanner.head)  # what it accepts, the strict parser must too
        try:
            if lines is not None:
                assert [append.head for append in scanner.feed(raw + b"\n")][-1:] == [lines.head]
                return
            for _ in scanner.feed(raw + b"\n"):
                pass
            scanner.torn()
        except Damage as damage:
            self.tried.by_error[type(damage).__name__] += 1


def _through_hash(raw: bytes) -> bytes:
    header, boundary, rest = raw.partition(_BOUNDARY)
    return header + boundary + rest[:64]
