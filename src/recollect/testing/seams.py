"""A deterministic seam: its clock and its random bytes come from a seed.

Responsible for replaying a run exactly. Leaves file operations to the real seam.
"""

from __future__ import annotations

from hashlib import sha256

from recollect.model.instants import from_microseconds, to_microseconds
from recollect.store.seam import Seam


class FixedSeam(Seam):
    """Time advances by ``step_us`` at each call; random bytes are derived from the seed."""

    def __init__(
        self, seed: int = 0, *, start: str = "2026-01-01T00:00:00.000000Z", step_us: int = 1_000_000
    ) -> None:
        self._seed = seed
        self._drawn = 0
        self.now_us = to_microseconds(start)
        self.step_us = step_us

    def now(self) -> str:
        """The next instant."""
        self.now_us += self.step_us
        return from_microseconds(self.now_us)

    def random(self, count: int) -> bytes:
        """The next bytes of the seed's sequence."""
        drawn = b""
        while len(drawn) < count:
            self._drawn += 1
            drawn += sha256(f"{self._seed}:{self._drawn}".encode()).digest()
        return drawn[:count]

    def tz_minutes(self) -> int:
        """UTC."""
        return 0
