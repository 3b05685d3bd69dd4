"""A request's bytes as checked values.

Responsible for strict JSON, for parameters in the address and for headers that narrow a handle.
Leaves what they mean to ``calls``. Invariant: what could be read in two ways is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.http.call import Write
from recollect.interfaces.http.limits.gate import Headers
from recollect.interfaces.http.problems import Refused, invalid
from recollect.memory import Memory
from recollect.model import validate

_PARAMETERS_MAX_COUNT: Final = 100
_NARROWING: Final = ("user", "session", "agent", "trust", "subject")
_OURS: Final = "recollect-"
_KNOWN: Final = frozenset(f"{_OURS}{name}" for name in (*_NARROWING, "branch"))


def body(raw: bytes, shape: Any) -> Any:
    """The body of a request; an empty one is an empty object."""
    if shape is None:
        if raw.strip() not in (b"", b"{}"):
            raise Refused(400, "malformed", "this operation takes no body")
        return None
    if shape is bytes:
        return raw
    try:
        parsed = validate.parse_json(raw.decode() or "{}", "the body")
    except UnicodeDecodeError as error:
        raise Refused(400, "malformed", "the body is not UTF-8") from error
    except InvalidInput as error:
        raise Refused(400, "malformed", error.message) from error
    return _converted(parsed, shape, strict=True)


def parameters(raw: bytes, shape: Any) -> Any:
    """The parameters of an address."""
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, strict_parsing=bool(raw),
            errors="strict", max_num_fields=_PARAMETERS_MAX_COUNT,
        )  # fmt: skip
    except ValueError as error:
        raise Refused(400, "malformed", "the parameters of the address are malformed") from error
    if shape is None:
        if pairs:
            raise Refused(400, "malformed", "this operation takes no parameters")
        return None
    lists = _lists(shape)
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in lists:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise Refused(400, "malformed", f"the parameter {name[:80]} was given twice")
        else:
            found[name] = value
    return _converted(found, shape, strict=False)


def written(headers: Headers, is_write: bool) -> Write:
    """What the headers of a write say."""
    key, match = headers.get("idempotency-key"), headers.get("if-match")
    is_new = is_write and "if-none-match" in headers
    if is_new and (match is not None or headers["if-none-match"].strip() != "*"):
        raise Refused(422, "invalid_input", "a write takes If-Match, or If-None-Match: *")
    return Write(key=None if key is None else _utf8(key), match=match, is_new=is_new)


def is_known(tag: str, known: str) -> bool:
    """True if If-None-Match names this ETag; weak and strong ones compare alike (RFC 9110)."""
    named = {each.strip().removeprefix("W/") for each in known.split(",")}
    return tag in named or known.strip() == "*"


def narrowing(headers: Headers) -> dict[str, str]:
    """The arguments of ``scoped`` that the headers ask for.

    A header of ours that is unknown is refused: it may have asked for less than the token allows.
    """
    for name in headers:
        if name.startswith(_OURS) and name not in _KNOWN:
            known = ", ".join(sorted(_KNOWN))
            raise Refused(400, "malformed", f"unknown header {name!r}; there are {known}")
    found = {name: headers.get(f"recollect-{name}") for name in _NARROWING}
    return {name: _utf8(value) for name, value in found.items() if value is not None}


def memory(opened: Callable[[str], Memory], name: str, headers: Headers) -> Memory:
    """The memory that a path names, narrowed as the headers ask for."""
    if validate.space_name(name) != name:  # else two addresses would mean one space
        raise Refused(400, "malformed", "the name of the space is not in its one form")
    found = opened(name)
    narrowed = narrowing(headers)
    if narrowed:
        found = found.scoped(**narrowed)  # type: ignore[arg-type]
    branch = headers.get("recollect-branch")
    return found if branch is None else found.on(_utf8(branch))


def _utf8(value: str) -> str:
    """A header's text: its bytes are UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise Refused(400, "malformed", "a header is not UTF-8") from error


def prepare(shapes: Iterable[Any]) -> None:
    """Has msgspec look at these shapes now, before threads do.

    It does so at the first use of each, in steps; a thread that uses a shape which another has half
    looked at ends the process.
    """
    for shape in shapes:
        if shape is not None:
            msgspec.json.Decoder(shape)


def _converted(value: Any, shape: Any, *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, shape, strict=strict)
    except msgspec.ValidationError as error:
        raise invalid(error) from error
    except UnicodeEncodeError as error:
        raise Refused(400, "malformed", "a text has a lone surrogate") from error


@cache
def _lists(shape: type[msgspec.Struct]) -> frozenset[str]:
    """The parameters that may be given several times."""
    return frozenset(field.name for field in msgspec.structs.fields(shape) if _is_list(field.type))


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list or any(get_origin(each) is list for each in get_args(kind))
