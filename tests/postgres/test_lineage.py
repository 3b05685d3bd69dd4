"""Random derivation graphs on a server: nothing has more trust than what it was derived from."""

from __future__ import annotations

import random

from recollect.memory import Memory
from tests.suites.derivations import Graph, judged
from tests.suites.histories import Clockwork


def test_no_record_is_above_an_ancestor(url: str) -> None:
    seed = random.randrange(2**32)
    with Memory.open(url, space="main") as memory:
        play = Graph(memory, Clockwork(seed), random.Random(seed))
        play.play(120)
        wrong, seen = judged(memory._handle.space.pieces())
        assert (wrong, seen["records"] > 20) == ([], True), seed
        assert memory.admin.verify(deep=True).ok
