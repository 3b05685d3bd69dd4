"""``python -m benchmarks.recall.fit``: the weights of each configuration, from dev questions only.

Responsible for the listwise loss and its minimum. Leaves signals to the engine, which gives the
rows, the calibration to ``calibrate`` and the guard on test questions to ``splits``. Invariant:
everything here runs inside ``splits.fitting``, where reading a test question raises.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import commit
from benchmarks.recall import sets
from benchmarks.recall.encoders import Chosen, Legs, chosen
from benchmarks.recall.metrics import marks
from benchmarks.recall.run import HITS, MACRO, Engine, memory_with
from benchmarks.recall.sets import QuestionSet
from benchmarks.recall.splits import Question, dev, fitting
from recollect.finding.candidates import CandidateSearch
from recollect.finding.search import first_depth
from recollect.recall.relevance import RANKING_SIGNALS, Features
from recollect.recall.weights import WEIGHTS, RankingWeights

Numbers = NDArray[np.float64]
SETS: Final = ("A", "B", "C", "D")  # each weighs alike
_RIDGE: Final = 3e-3  # on weights in units of their feature's spread
_STEPS: Final = 100
_PLACES: Final = 5  # among which a gold item does well enough
# Dev questions are about conversations, which have no keys, subjects or tags, so the weight of
# names is not fitted: any from 2.5 to 4 gives the same answers to everyday questions.
_NAMES_WEIGHT: Final = 3.0

# The grains of the vectors that each configuration looks with.
CONFIGURATIONS: Final[dict[Legs, frozenset[str]]] = {
    "full": frozenset({"sentence", "chunk"}),
    "sentence": frozenset({"sentence"}),
    "static": frozenset({"chunk"}),
    "text": frozenset(),
}
# Signals a configuration has no leg for, or no use; their weights are 0.
WITHOUT: Final[dict[Legs, frozenset[str]]] = {
    "full": frozenset({"session_chunk"}),
    "sentence": frozenset({"chunk", "session_chunk"}),
    "static": frozenset({"sentence", "session_sentence"}),
    "text": frozenset({"sentence", "session_sentence", "chunk", "session_chunk"}),
}


class Without(NamedTuple):
    """A set's figure over its dev questions: by a fit on all sets, and by one on the others."""

    whole: float
    without: float
    questions: int


class Asked(NamedTuple):
    """One dev question: candidates' features, the item each belongs to, and which are gold."""

    rows: Numbers
    item: NDArray[np.int64]
    gold: Numbers


def observe(questions: QuestionSet, embedders: Chosen) -> dict[Legs, list[Asked]]:
    """The dev questions of one set in every configuration, if their candidates hold any gold."""
    found: dict[Legs, list[Asked]] = {legs: [] for legs in CONFIGURATIONS}
    k = HITS[questions.ranks]
    by_haystack: dict[str, list[Question]] = {}
    for question in dev(questions.questions):
        by_haystack.setdefault(question.haystack, []).append(question)
    for name, asked in by_haystack.items():
        turns = questions.haystacks[name]
        with closing(Engine(turns, memory_with(embedders))) as engine:
            for question in asked:
                for legs, (places, rows) in looked(engine, question.text, k).items():
                    refs = [turns[place].ref for place in places]
                    one = _asked(refs, rows, question.gold)
                    if one.gold.any():
                        found[legs].append(one)
    return found


def looked(engine: Engine, text: str, k: int) -> dict[Legs, tuple[list[int], list[Features]]]:
    """The candidates that recall would rank and their signals, with each configuration's legs."""
    memory = engine.memory
    question = memory._handle.ask(text)
    wish = memory._handle.wish("episode", (), None, None)
    found: dict[Legs, tuple[list[int], list[Features]]] = {}
    with memory._handle.space.reading() as reads:
        for legs, grains in CONFIGURATIONS.items():
            some = tuple(leg for leg in question.legs if leg.grain in grains)
            with_some = question._replace(legs=some)
            look = CandidateSearch(reads, with_some, wish)
            order = look.ranked(look(first_depth(with_some, k)).rows)
            found[legs] = (
                [engine.place(one.row.id) for one in order],
                [one.features for one in order],
            )
    return found


def _asked(refs: Sequence[str], rows: Sequence[Sequence[float]], gold: frozenset[str]) -> Asked:
    """Candidates of one item (a session, or a turn alone) stand together."""
    numbers: dict[str, int] = {}
    item = np.array([numbers.setdefault(ref, len(numbers)) for ref in refs], np.int64)
    order = np.argsort(item, kind="stable")
    return Asked(
        np.array(rows, np.float64).reshape(len(refs), len(RANKING_SIGNALS))[order],
        item[order],
        np.array([float(ref in gold) for ref in numbers]),
    )


def loss(asked: Asked, weights: Numbers) -> tuple[float, Numbers]:
    """Minus the mean log chance of a gold item to be among the first, and its slope.

    It contends with the items that are not gold for one of the first places, not with gold ones
    and not for the very first. An item's score is the soft maximum of its candidates' scores.
    """
    scores = asked.rows @ weights
    starts = np.flatnonzero(np.diff(asked.item, prepend=-1))
    top = np.maximum.reduceat(scores, starts)
    part = np.exp(scores - top[asked.item])
    sums = np.add.reduceat(part, starts)
    items = top + np.log(sums)
    force = np.exp(items - items.max()) + 1e-300
    others = force * (asked.gold == 0)
    chance = force / (force + others.sum() / _PLACES)
    wanted = asked.gold / asked.gold.sum()
    missed = wanted * (1 - chance)
    pull = missed.sum() * others / (others.sum() or 1.0) - missed
    slope = pull[asked.item] * part / sums[asked.item]
    return float(-(wanted * np.log(chance)).sum()), slope @ asked.rows


def fit(of_sets: Sequence[Sequence[Asked]], used: Sequence[bool]) -> tuple[Numbers, float]:
    """The weights with the least loss, each set weighing alike, and that loss."""
    mask = np.array(used, np.float64)
    spread = np.sqrt(np.mean([np.var(np.vstack([a.rows for a in s]), axis=0) for s in of_sets], 0))
    scale = mask / np.maximum(spread, 1e-6)

    def total(point: Numbers) -> tuple[float, Numbers]:
        value, slope = _RIDGE * float(point @ point), 2 * _RIDGE * point
        for asked in of_sets:
            found = [loss(one, point * scale) for one in asked]
            value += float(np.mean([each for each, _ in found])) / len(of_sets)
            slope = slope + np.mean([each for _, each in found], axis=0) * scale / len(of_sets)
        return value, slope

    point, value = descend(total, np.zeros(len(RANKING_SIGNALS)))
    return point * scale, value


def descend(
    total: Callable[[Numbers], tuple[float, Numbers]], point: Numbers
) -> tuple[Numbers, float]:
    """The BFGS method with a backtracking line search."""
    inverse = np.eye(len(point))
    value, slope = total(point)
    for step in range(_STEPS):
        way = -inverse @ slope
        reach = 1.0 if step else 1.0 / max(1.0, float(np.linalg.norm(way)))
        next_value, next_slope = total(point + reach * way)
        while next_value > value + 1e-4 * reach * float(slope @ way) and reach > 1e-6:
            reach /= 2
            next_value, next_slope = total(point + reach * way)
        moved, turned = reach * way, next_slope - slope
        gained = value - next_value
        if gained <= 0:
            break
        point, value, slope = point + moved, next_value, next_slope
        inverse = _update(inverse, moved, turned)
        if gained < 1e-6:
            break
    return point, value


def _update(inverse: Numbers, moved: Numbers, turned: Numbers) -> Numbers:
    along = float(moved @ turned)
    if along <= 1e-12:
        return inverse
    left = np.eye(len(moved)) - np.outer(moved, turned) / along
    return left @ inverse @ left.T + np.outer(moved, moved) / along


def weights_of(legs: Legs, of_sets: Sequence[Sequence[Asked]]) -> RankingWeights:
    """One configuration's weights; its calibration is the present one."""
    used = [name not in WITHOUT[legs] for name in RANKING_SIGNALS]
    found, least = fit(of_sets, used)
    found[RANKING_SIGNALS.index("names")] = _NAMES_WEIGHT
    curve = WEIGHTS[legs].calibration
    count = sum(map(len, of_sets))
    where = f"{commit()}, dev loss {least:.4f} over {count} questions"
    return RankingWeights(tuple(round(float(value), 3) for value in found), curve, where)


def figure(of_set: Sequence[Asked], weights: Numbers, name: str) -> float:
    """The mean of a macro figure over dev questions, of the gold that is among the candidates."""
    found: list[float] = []
    for asked in of_set:
        best = np.full(len(asked.gold), -np.inf)
        np.maximum.at(best, asked.item, asked.rows @ weights)
        ranked = [str(item) for item in np.argsort(-best, kind="stable")]
        gold = {str(item) for item in np.flatnonzero(asked.gold)}
        found.append(marks(ranked, gold)[name])
    return float(np.mean(found))


def without_each(legs: Legs, of_sets: Mapping[str, Sequence[Asked]]) -> dict[str, Without]:
    """What each set loses if its own dev questions take no part in the fit."""
    used = [name not in WITHOUT[legs] for name in RANKING_SIGNALS]
    whole, _ = fit(list(of_sets.values()), used)
    found: dict[str, Without] = {}
    for name, own in of_sets.items():
        rest, _ = fit([asked for other, asked in of_sets.items() if other != name], used)
        found[name] = Without(
            whole=figure(own, whole, MACRO[name]),
            without=figure(own, rest, MACRO[name]),
            questions=len(own),
        )
    return found


def main() -> int:
    """Prints the weights as the text of the table in ``recollect.recall.weights``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.fit", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder of the sentence encoder")
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps its rows")
    parser.add_argument(
        "--without-each", type=Path, help="where to write the figures of fits without one set"
    )
    options = parser.parse_args()
    embedders = chosen("full", options.model, options.cache)
    with fitting():
        observed = [observe(one, embedders) for one in sets.load(options.data, SETS)]
        print("WEIGHTS: Final[dict[Configuration, RankingWeights]] = {")
        for legs in CONFIGURATIONS:
            found = weights_of(legs, [of_set[legs] for of_set in observed])
            print(f"    {legs!r}: {found},", flush=True)
        print("}")
        if options.without_each:
            left = {
                legs: without_each(legs, {n: o[legs] for n, o in zip(SETS, observed, strict=True)})
                for legs in CONFIGURATIONS
            }
            options.without_each.write_bytes(msgspec.json.encode(left))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
