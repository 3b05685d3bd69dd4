"""Arguments as JSON.

Responsible for moments, spans, values and collections. Leaves what they mean to the service.
Invariant: what JSON cannot carry exactly is refused, never changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

import msgspec

from recollect.errors import InvalidInput, LimitExceeded
from recollect.model.instants import instant
from recollect.model.validate import shown

_DEPTH_MAX_COUNT: Final = 100
_INTEGER_MAX: Final = 2**63


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # a plain one; encoders refuse the subclasses of libraries
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, timedelta):
        return _span(value)
    if isinstance(value, datetime | date):
        return instant(value)
    if depth > _DEPTH_MAX_COUNT:
        raise InvalidInput("a value is nested too deeply")
    if isinstance(value, msgspec.Struct):
        return plain(msgspec.to_builtins(value), depth + 1)
    if isinstance(value, Mapping):
        return {_key(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | memoryview):
        return [plain(each, depth + 1) for each in value]
    raise InvalidInput(f"{shown(value)} cannot be sent as JSON")


def encoded(value: Any) -> bytes:
    """JSON as bytes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        raise InvalidInput("a text has a lone surrogate") from error


def _number(value: float) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{value} is not a number that JSON has")
    if abs(value) >= _INTEGER_MAX and isinstance(value, int):
        raise LimitExceeded("a number is too great", hint="send it as a text")
    return value


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"the keys of a JSON object are texts, not {shown(key)}")
    return key


def _span(span: timedelta) -> str:
    """A span as ISO 8601 has it, to the microsecond."""
    micro = span // timedelta(microseconds=1)
    if micro <= 0:
        raise InvalidInput(f"a span of {span} ends in the past")
    return f"PT{micro // 1_000_000}.{micro % 1_000_000:06}S"
