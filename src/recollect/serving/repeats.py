"""A log in which a repeated error takes one line.

Responsible for what a server writes to stderr. Leaves what is logged to the modules that log it.
Invariant: however often an error happens, it is written at most once a minute.
"""

from __future__ import annotations

import logging
import re
from typing import Final

_WINDOW_S: Final = 60.0
_KINDS_MAX_COUNT: Final = 256
# Ports, descriptors, addresses and the ids of requests differ each time.
_VARYING: Final = re.compile(r"\breq(?:_|uest )\S+|[0-9]+")


class Repeats(logging.Filter):
    """Passes the first of many equal messages, and later one more with their count."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True if this message is written."""
        first, _, _ = record.getMessage().partition("\n")
        kind = (record.name, _VARYING.sub("#", first))
        since, count = self._seen.get(kind, (record.created - _WINDOW_S, 0))
        if record.created - since < _WINDOW_S:
            self._seen[kind] = (since, count + 1)
            return False
        if len(self._seen) >= _KINDS_MAX_COUNT:
            self._seen.clear()
        self._seen[kind] = (record.created, 0)
        if count:
            record.msg, record.args = f"{first} (and {count:,} more like it)", ()
            record.exc_info = None
        return True


def to_stderr() -> None:
    """Writes this process's warnings and errors to stderr, each kind once a minute."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Repeats())
    logging.getLogger().addHandler(handler)
