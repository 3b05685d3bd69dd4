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

    def now(self) -> str:
        """The present instant."""
        return from_microseconds(time.time_ns() // 1_000)

    def random(self, count: int) -> bytes:
        """Bytes nobody can guess."""
        return os.urandom(count)

    def tz_minutes(self) -> int:
        """This machine's offset from UTC."""
        offset = datetime.now(UTC).astimezone().utcoffset()
        return 0 if offset is None else int(offset.total_seconds() // 60)


REAL: Final = Seam()
