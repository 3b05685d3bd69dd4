"""How much work a run of the service's figures does."""

from __future__ import annotations

from typing import Final

import msgspec

SIDE_BY_SIDE: Final = 16  # connections, tasks or threads


class Sizes(msgspec.Struct, frozen=True):
    """Counts; those of requests are for each side of a round."""

    records: int = 10_000  # in the memory that recall searches
    rounds: int = 15
    echoes: int = 2_000
    writes: int = 600
    recalls: int = 200
    calls: int = 300
    starts: int = 15


FULL: Final = Sizes()
QUICK: Final = Sizes(records=100, rounds=2, echoes=64, writes=48, recalls=16, calls=16, starts=1)
