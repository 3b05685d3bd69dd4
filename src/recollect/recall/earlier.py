"""The place of earlier values among the candidates of a question that asks for them.

Responsible for the share that lifts an earlier value above the one that replaced it. Leaves
recognizing such a question to ``recall.before`` and reading the values to ``finding.earlier``.
Invariant: pure; candidates without an earlier value keep their scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Final

from msgspec.structs import replace

from recollect.recall.rank import Ranked
from recollect.recall.weights import RankingWeights

EARLIER_SIGNAL: Final = "earlier"
_ABOVE: Final = 0.001


def with_earlier(
    order: Sequence[Ranked], earlier: Sequence[Ranked], weights: RankingWeights
) -> list[Ranked]:
    """The candidates with earlier values, each just before the one that replaced it.

    A value and its earlier ones rank by the best of them, because the question is about all. Of
    several earlier values of one record, which come newest first, the newest is first.
    """
    of: dict[str, list[Ranked]] = {}
    for one in earlier:
        of.setdefault(one.holder, []).append(one)
    made: list[Ranked] = []
    for one in order:
        former = of.get(one.row.id, [])
        best = max(each.score for each in (one, *former))
        made.append(_lifted(one, best, weights))
        made += [
            _lifted(each, best + _ABOVE * (len(former) - place), weights)
            for place, each in enumerate(former)
        ]
    return sorted(made, key=lambda one: (-one.score, -one.row.text_seq))


def _lifted(one: Ranked, score: float, weights: RankingWeights) -> Ranked:
    """A candidate with the share that lifts it to a score."""
    if one.score >= score:
        return one
    extra = (*one.extra, (EARLIER_SIGNAL, score - one.score))
    own = map(mul, one.features, weights.weights)
    return replace(
        one, extra=extra, score=math.fsum((*own, *(share for _, share in extra)))
    )  # to the last bit what its shares say
