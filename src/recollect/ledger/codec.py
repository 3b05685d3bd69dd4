"""From a line to an event and back.

Responsible for bodies as JSON and for converting old versions to the current one. Leaves the line
around them to ``ledger.line``. Invariant: decoding never loses a field; an unknown kind or field
is refused, not dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, cast, get_args

import msgspec

from recollect.errors import IntegrityError, KeyMissing, Unsupported
from recollect.ledger.cipher import Ciphers, bound_to, decrypt
from recollect.ledger.line import Line
from recollect.ledger.plain import Columns
from recollect.model.events import KINDS, VERSION, AnyBody, Body, Event, Origin
from recollect.model.validate import Json

Upcaster = Callable[[dict[str, Json]], dict[str, Json]]

# (kind, v) -> the function that converts a body of that version to v + 1. Kinds without an entry
# did not change between the two. Functions are never removed, so old ledgers stay readable.
UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {}


class _Decoders(dict[str, msgspec.json.Decoder[Body]]):
    """A decoder for each kind, made when it is first asked for: a read rarely needs one."""

    def __missing__(self, kind: str) -> msgspec.json.Decoder[Body]:
        made = self[kind] = msgspec.json.Decoder(KINDS[kind])
        return made


class _ByBytes(dict[bytes, tuple[str, Callable[[bytes], AnyBody]]]):
    """The same for a kind as it stands in a line."""

    def __missing__(self, name: bytes) -> tuple[str, Callable[[bytes], AnyBody]]:
        kind = name.decode()
        decoded = cast(Callable[[bytes], AnyBody], _DECODERS[kind].decode)
        made = self[name] = kind, decoded
        return made


_DECODERS: Final = _Decoders()
_BY_BYTES: Final = _ByBytes()
_ORIGINS: Final[dict[bytes, Origin]] = {origin.encode(): origin for origin in get_args(Origin)}
# msgspec raises the last two for bytes that are not UTF-8 and for endless nesting.
_MALFORMED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_ENCODER: Final = msgspec.json.Encoder()


def encode_body(body: Body) -> bytes:
    """The exact bytes that are hashed and stored."""
    return _ENCODER.encode(body)


def decode_body(
    kind: str,
    v: int,
    data: bytes,
    *,
    upcasters: dict[tuple[str, int], Upcaster] = UPCASTERS,
    version: int = VERSION,
) -> AnyBody:
    """A stored body, converted to the current version."""
    if v > version or kind not in KINDS:
        raise Unsupported(
            f"unknown event kind {kind!r}, version {v}: a newer release wrote this ledger",
            hint="update Recollect",
        )
    try:
        if v == version:
            return cast(AnyBody, _DECODERS[kind].decode(data))
        raised: dict[str, Json] = msgspec.json.decode(data)
        for step in range(v, version):
            upcast = upcasters.get((kind, step))
            raised = upcast(raised) if upcast else raised
        return cast(AnyBody, msgspec.convert(raised, KINDS[kind]))
    except _MALFORMED as error:
        raise IntegrityError(
            f"the body of a {kind!r} event could not be parsed: {error}"
        ) from error


def decode(line: Line, ciphers: Ciphers | None = None) -> Event:
    """The event of a line; its body is None if it was erased, or if its key was destroyed.

    Lines of the store itself are never encrypted, so readers of those need no keys.
    """
    try:
        data = line.data if line.subject is None else _opened(line, ciphers)
        body = None if data is None else decode_body(line.kind, line.v, data)
    except KeyMissing as error:
        raise KeyMissing(f"event {line.seq}: {error.message}", hint=error.hint) from error
    except IntegrityError as error:
        raise IntegrityError(
            f"event {line.seq}: {error.message}",
            hint="run `recollect admin doctor` to see what can be done",
        ) from error
    return Event(
        seq=line.seq,
        first=line.first,
        last=line.last,
        id=line.id,
        kind=line.kind,
        at=line.at,
        origin=line.origin,
        body=body,
        locked=data is None and line.data is not None,
    )


def _opened(line: Line, ciphers: Ciphers | None) -> bytes | None:
    """The body of an encrypted line; None if it or its key is gone."""
    if line.data is None:
        return None
    subject, cipher = cast(str, line.subject), cast(int, line.cipher)
    if ciphers is None:
        raise KeyMissing(f"its body is encrypted, and the key of {subject} is not at hand")
    key = ciphers.key(subject, cipher)
    if key is None:
        return None
    bound = bound_to(line.v, ciphers.ledger, line.id, line.kind, line.origin, subject, cipher)
    return decrypt(key, line.data, bound)


def decode_columns(lines: Columns, ciphers: Ciphers | None = None) -> list[Event] | None:
    """The events of many lines; None if ``decode`` must say which of them it cannot decode."""
    found: list[Event] = []
    try:
        for place, seq, first, last, command, ordinal, name, at, origin, subject, data in zip(
            count(),
            count(int(lines.seqs[0])),
            lines.firsts,
            lines.lasts,
            lines.commands,
            lines.ordinals,
            lines.kinds,
            lines.ats,
            lines.origins,
            lines.subjects,
            lines.data,
            strict=False,
        ):
            if subject:
                found.append(decode(lines.line(place), ciphers))
                continue
            kind, decoded = _BY_BYTES[name]
            found.append(
                Event(
                    seq=seq,
                    first=int(first),
                    last=int(last),
                    id=(command + b"." + ordinal).decode(),
                    kind=kind,
                    at=at.decode(),
                    origin=_ORIGINS[origin],
                    body=decoded(data),
                )
            )
    except (KeyError, KeyMissing, IntegrityError, *_MALFORMED):
        return None
    return found
