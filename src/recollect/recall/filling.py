"""What fills the rest of a context: hits below the floor, once something has passed it.

Responsible for choosing them and for their order. Leaves the floor to a preset, the budget to
``recall.pack`` and recognising a wide question to ``recall.asking``. Invariants: pure; what only
repeats or only asks fills nothing; hits of one session keep their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Final

from recollect.model.values import Hit

# What each further hit of a session loses, in units of a score. On dev questions of set A any from
# .1 to .5 has more of the whole evidence, and on sets B and C the same.
_AGAIN: Final = 0.2


# The shares of a hit that a conversation sinks (``recall.talk``).
_SUNK: Final = ("question", "echo")


def filling(
    found: Sequence[Hit], passed: Sequence[Hit], floor: float, *, is_wide: bool
) -> list[Hit]:
    """The hits below a floor in the order in which they are used; none if none has passed it.

    For a wide question they come from many places before one is repeated.
    """
    if not passed:
        return []
    below = [hit for hit in found if hit.relevance < floor and not _is_sunk(hit)]
    return spread(below, passed) if is_wide else below


def _is_sunk(hit: Hit) -> bool:
    return any(hit.shares.get(name, 0.0) < 0.0 for name in _SUNK)


def spread(hits: Sequence[Hit], before: Iterable[Hit]) -> list[Hit]:
    """The hits by score, each less for every hit of its session that precedes it.

    ``before`` are the hits that precede all of these.
    """
    taken = Counter(map(_place, before))
    # Each hit with the number of hits of its session when it was valued; a lower value is first.
    waiting = [(_AGAIN * taken[_place(hit)] - hit.score, n) for n, hit in enumerate(hits)]
    valued = [taken[_place(hit)] for hit in hits]
    heapify(waiting)
    made: list[Hit] = []
    while waiting:
        _, n = waiting[0]
        hit, count = hits[n], taken[_place(hits[n])]
        if valued[n] == count:
            heappop(waiting)
            made.append(hit)
            taken[_place(hit)] += 1
        else:
            valued[n] = count
            heapreplace(waiting, (_AGAIN * count - hit.score, n))
    return made


def _place(hit: Hit) -> tuple[str | None, str]:
    """The user's session of an episode; a hit without a session is a place of its own."""
    scope = None if hit.episode is None else hit.episode.scope
    return (None, hit.id) if scope is None or scope.session is None else (scope.user, scope.session)
