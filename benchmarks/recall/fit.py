"""``python -m benchmarks.recall.fit``: the weights of each configuration, from dev questions only.

Responsible for the listwise loss, its minimum, and the calibration. Leaves features to
``relevance`` and the guard on test questions to ``splits``. Invariant: everything here runs inside
``splits.fitting``, where reading a test question raises.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import commit
from benchmarks.recall import sets
from benchmarks.recall.legs import Cached, sentence_encoder, static_encoder
from benchmarks.recall.prototype import Encoders, Prototype
from benchmarks.recall.relevance import FEATURES, Calibration
from benchmarks.recall.sets import QuestionSet
from benchmarks.recall.splits import Question, dev, fitting
from benchmarks.recall.weights import Weights

Numbers = NDArray[np.float64]
SETS: Final = ("A", "B", "C", "D")  # each weighs alike
_RIDGE: Final = 1e-3  # on weights in units of their feature's spread
_STEPS: Final = 100
_JUDGED: Final = 10  # places from which the calibration learns

# Features a configuration has no leg for; their weights are 0.
WITHOUT: Final = {
    "full": frozenset({"session_chunk"}),
    "static": frozenset({"sentence", "session_sentence"}),
    "text": frozenset({"sentence", "session_sentence", "chunk", "session_chunk"}),
}


class Asked(NamedTuple):
    """One dev question: candidates' features, the item each belongs to, and which are gold."""

    rows: Numbers
    item: NDArray[np.int64]
    gold: Numbers


def observe(questions: QuestionSet, encoders: Encoders) -> list[Asked]:
    """The dev questions of one set, as far as their candidates hold any gold."""
    found: list[Asked] = []
    by_haystack: dict[str, list[Question]] = {}
    for question in dev(questions.questions):
        by_haystack.setdefault(question.haystack, []).append(question)
    for name, asked in by_haystack.items():
        turns = questions.haystacks[name]
        memory = Prototype(turns, encoders, _NO_WEIGHTS)
        for question in asked:
            looked = memory.look(question.text)
            one = _asked([turns[place].ref for place in looked.places], looked.rows, question.gold)
            if one.gold.any():
                found.append(one)
    return found


def _asked(refs: Sequence[str], rows: Sequence[Sequence[float]], gold: frozenset[str]) -> Asked:
    """Candidates of one item (a session, or a turn alone) stand together."""
    numbers: dict[str, int] = {}
    item = np.array([numbers.setdefault(ref, len(numbers)) for ref in refs], np.int64)
    order = np.argsort(item, kind="stable")
    return Asked(
        np.array(rows, np.float64).reshape(len(refs), len(FEATURES))[order],
        item[order],
        np.array([float(ref in gold) for ref in numbers]),
    )


def loss(asked: Asked, weights: Numbers) -> tuple[float, Numbers]:
    """Minus the mean log chance of the gold items, and its slope.

    An item's score is the soft maximum of its candidates' scores.
    """
    scores = asked.rows @ weights
    starts = np.flatnonzero(np.diff(asked.item, prepend=-1))
    top = np.maximum.reduceat(scores, starts)
    part = np.exp(scores - top[asked.item])
    sums = np.add.reduceat(part, starts)
    items = top + np.log(sums)
    chance = np.exp(items - items.max())
    chance /= chance.sum()
    wanted = asked.gold / asked.gold.sum()
    slope = (chance - wanted)[asked.item] * part / sums[asked.item]
    return float(-(wanted * np.log(chance + 1e-300)).sum()), slope @ asked.rows


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

    point, value = descend(total, np.zeros(len(FEATURES)))
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


def calibrate(of_sets: Sequence[Sequence[Asked]], weights: Numbers) -> Calibration:
    """A logistic curve from the scores of the best hits to whether they were gold."""
    scores, gold, share = [], [], []
    for asked in of_sets:
        for one in asked:
            value = one.rows @ weights
            best = np.argsort(-value)[:_JUDGED]
            scores.append(value[best])
            gold.append(one.gold[one.item[best]])
            share.append(np.full(len(best), 1 / len(best) / len(asked)))
    x, y, each = (np.concatenate(many) for many in (scores, gold, share))
    middle = float(x.mean())

    def total(point: Numbers) -> tuple[float, Numbers]:
        raw = point[0] * (x - middle) + point[1]
        off = (1 / (1 + np.exp(-raw)) - y) * each
        value = float((each * (np.logaddexp(0, raw) - y * raw)).sum())
        return value, np.array([off @ (x - middle), off.sum()])

    (slope, offset), _ = descend(total, np.zeros(2))
    return Calibration(round(float(slope), 4), round(float(offset - slope * middle), 4))


def weights_of(questions: Iterable[QuestionSet], encoders: Encoders) -> Weights:
    """One configuration's weights and calibration."""
    with fitting():
        of_sets = [observe(one, encoders) for one in questions]
        used = [name not in WITHOUT[encoders.legs] for name in FEATURES]
        found, least = fit(of_sets, used)
        curve = calibrate(of_sets, found)
    count = sum(map(len, of_sets))
    where = f"{commit()}, dev loss {least:.4f} over {count} questions"
    return Weights(tuple(round(float(value), 3) for value in found), curve, where)


_NO_WEIGHTS: Final = Weights((0.0,) * len(FEATURES), Calibration(1.0, 0.0), "none")


def main() -> int:
    """Prints the weights as the text of ``weights.py``'s table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.fit", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder of the sentence encoder")
    parser.add_argument("--cache", type=Path, required=True, help="folder for vectors")
    options = parser.parse_args()
    chunk = Cached(static_encoder(), options.cache, "static")
    sentence = Cached(sentence_encoder(options.model), options.cache, "sentence")
    questions = list(sets.load(options.data, SETS))
    print("WEIGHTS: Final[dict[str, Weights]] = {")
    for encoders in (Encoders(sentence, chunk), Encoders(None, chunk), Encoders()):
        print(f"    {encoders.legs!r}: {weights_of(questions, encoders)},", flush=True)
    print("}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
