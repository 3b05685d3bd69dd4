"""The figures of one ranking, and their means.

Responsible for any@k, all@k, NDCG@10 and fractional recall@10. Leaves who may know the gold to
``splits``. Invariant: a figure depends on the ranking's order and the gold alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

DEPTHS: Final = (1, 5, 10)
NDCG_DEPTH: Final = 10

Marks = dict[str, float]
SessionScore = Callable[[Sequence[float]], float]


def marks(ranked: Sequence[str], gold: Collection[str]) -> Marks:
    """Every figure of one ranking, best first, against what should be in it."""
    if not gold:
        raise ValueError("a question without gold cannot be judged")
    found: Marks = {}
    for depth in DEPTHS:
        hit = len(set(ranked[:depth]) & set(gold))
        found[f"any@{depth}"] = float(hit > 0)
        found[f"all@{depth}"] = float(hit == len(gold))
        found[f"recall@{depth}"] = hit / len(gold)
    found["ndcg@10"] = ndcg(ranked, gold)
    return found


def inside(packed: Collection[str], gold: Collection[str]) -> Marks:
    """What a context holds of what a question needs: all of it, and how many of its places."""
    if not gold:
        raise ValueError("a question without gold cannot be judged")
    held = len(set(packed) & set(gold))
    needed = len(set(gold))
    return {"whole": float(held == needed), "held": float(held), "needed": float(needed)}


def ndcg(ranked: Sequence[str], gold: Collection[str]) -> float:
    """Discounted gain of the first ten over that of an ideal ranking."""
    gain = sum(
        1 / math.log2(place + 2) for place, item in enumerate(ranked[:NDCG_DEPTH]) if item in gold
    )
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(gold), NDCG_DEPTH)))


def mean(many: Iterable[Mapping[str, float]]) -> Marks:
    """The mean of each figure."""
    rows = list(many)
    if not rows:
        return {}
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


def damped(scores: Sequence[float]) -> float:
    """The best episode, and each further one for a quarter of the one before."""
    return float(sum(score * 0.25**place for place, score in enumerate(scores[:4])))


# How a session's episodes make its score; None: sessions stand in the order of their best hits.
SESSION_SCORES: Final[dict[str, SessionScore | None]] = {"best": None, "damped": damped}


def sessions(hits: Iterable[tuple[str, float]], score: SessionScore | None) -> list[str]:
    """Sessions in order, from hits that come best first, each as a session and a score.

    Sessions of one score keep the order in which they first appeared.
    """
    of: dict[str, list[float]] = {}
    for session, value in hits:
        of.setdefault(session, []).append(value)
    return list(of) if score is None else sorted(of, key=lambda session: -score(of[session]))
