"""The seam to the world: clock and chance.

Responsible for being the only place that asks the machine what time it is or for random bytes,
so that a test can replay a run. Invariant: nothing else in the package has a clock or dice.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Final

from recollect.model.instants import from_microseconds


class Seam:
    """The real world."""

    _second: tuple[int, str] = (0, "1970-01-01T00:00:00.")  # the last one asked for, spelled out

    def now(self) -> str:
        """The present instant."""
        second, us = divmod(time.time_ns() // 1_000, 1_000_000)
        known, text = self._second
        if second != known:
            text = from_microseconds(second * 1_000_000)[:20]
            self._second = second, text
        return f"{text}{us:06d}Z"

    def random(self, count: int) -> bytes:
        """Bytes nobody can guess."""
        return os.urandom(count)

    def tz_minutes(self) -> int:
        """This machine's offset from UTC."""
        offset = datetime.now(UTC).astimezone().utcoffset()
        return 0 if offset is None else int(offset.total_seconds() // 60)


REAL: Final = Seam()
