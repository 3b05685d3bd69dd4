"""How often a token may ask: a bucket for each class of operations.

Responsible for the rates of one process. Leaves which class an operation has to the table.
Invariants: a bucket holds ten seconds of its rate; at most so many buckets are kept, the last used
ones, so that tokens that come and go cost nothing.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping
from time import monotonic
from typing import Final

from recollect.errors import ConfigError
from recollect.interfaces.http.problems import Refused

DEFAULT: Final[Mapping[str, float]] = {"read": 50, "recall": 10, "write": 20, "admin": 1}
OFF: Final = "off"
_WINDOW_S: Final = 10
_MOST: Final = 10_000


class Rates:
    """The buckets of a process; without rates, nothing is limited."""

    def __init__(self, per_s: Mapping[str, float] | None = None) -> None:
        self._per_s = per_s or {}
        self._buckets: OrderedDict[tuple[bytes, str], tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, owner: bytes, kind: str) -> None:
        """Counts a request of a token; Refused if its bucket is empty."""
        rate = self._per_s.get(kind)
        if rate is None:
            return
        most, now = rate * _WINDOW_S, monotonic()
        with self._lock:
            left, at = self._buckets.pop((owner, kind), (most, now))
            left = min(most, left + (now - at) * rate)
            is_allowed = left >= 1
            self._buckets[owner, kind] = left - is_allowed, now
            if len(self._buckets) > _MOST:
                self._buckets.popitem(last=False)
        if not is_allowed:
            raise _too_often(kind, rate, (1 - left) / rate)


def _too_often(kind: str, rate: float, wait_s: float) -> Refused:
    seconds = max(1, math.ceil(wait_s))
    return Refused(
        429, "rate_limited", f"this token asks too often for the class {kind}",
        hint=f"wait {seconds} s; the service allows {rate:g} a second",
        headers={
            "Retry-After": str(seconds),
            "RateLimit": f'"{kind}";r=0;t={seconds}',
            "RateLimit-Policy": f'"{kind}";q={int(rate * _WINDOW_S)};w={_WINDOW_S}',
        },
    )  # fmt: skip


def parsed(words: str, *, is_local: bool) -> Mapping[str, float] | None:
    """The rates that a setting names: ``auto``, ``on``, ``off`` or ``read=100,recall=5``."""
    if words == "auto":
        return None if is_local else DEFAULT
    if words in (OFF, "on"):
        return None if words == OFF else DEFAULT
    found = dict(DEFAULT)
    for word in words.split(","):
        kind, _, number = word.strip().partition("=")
        if kind not in DEFAULT or not number.isdecimal() or not 0 < int(number) <= 1_000_000:
            raise ConfigError(
                f"--rate: {word.strip()!r} is not a class and a whole number",
                hint=f"such as read=100,write=20; the classes are {', '.join(DEFAULT)}; or `off`",
            )
        found[kind] = int(number)
    return found
