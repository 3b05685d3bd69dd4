"""``python -m benchmarks.recall.calibrate``: from scores to probabilities, from dev questions only.

Responsible for the three numbers of each configuration's ``Calibration``. Leaves the weights to
``fit`` and judging the result on test questions to ``reliability``. Invariant: everything here runs
inside ``splits.fitting``, where reading a test question raises.

Every dev question is asked of its whole haystack, of a small part of it that has an answer, and of
one that has none: people also have small memories, and ask them what they do not know.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from benchmarks.recall import sets
from benchmarks.recall.encoders import Chosen, Legs, chosen
from benchmarks.recall.fit import SETS, Numbers, descend, looked
from benchmarks.recall.run import HITS, Engine, memory_with
from benchmarks.recall.sets import QuestionSet, Turn
from benchmarks.recall.splits import Question, dev, fitting
from recollect.recall.relevance import Calibration, rivals_of, score_of
from recollect.recall.weights import WEIGHTS

# How much each kind of memory counts: the whole one, a part with the answer, a part without it.
_SHARES: Final = (1.0, 1.0, 0.3)
_PART_TURNS: Final = 60
_PART_TEXTS: Final = 12  # in set D, where a text is the head of a whole session
_PARTS_MAX_COUNT: Final = 60
_RIDGE: Final = 1e-5


class First(NamedTuple):
    """The first hit of one question: its score, its rivals, whether it was right, and where."""

    score: float
    rivals: float
    is_right: bool
    kind: int  # an index of _SHARES


def firsts(
    questions: QuestionSet, embedders: Chosen, configurations: Sequence[Legs]
) -> dict[Legs, list[First]]:
    """The first hits of one set's dev questions in these configurations."""
    found: dict[Legs, list[First]] = {legs: [] for legs in configurations}
    for turns, asked, is_whole in _memories(questions):
        refs = {turn.ref for turn in turns}
        with closing(Engine(turns, memory_with(embedders))) as engine:
            for question in asked:
                kind = 0 if is_whole else 1 if question.gold & refs else 2
                seen = looked(engine, question.text, HITS[questions.ranks])
                for legs in configurations:
                    places, rows = seen[legs]
                    if places:
                        scores = [score_of(row, WEIGHTS[legs].weights) for row in rows]
                        is_right = turns[places[0]].ref in question.gold
                        one = First(scores[0], rivals_of(scores[1:]), is_right, kind)
                        found[legs].append(one)
    return found


def _memories(questions: QuestionSet) -> Iterator[tuple[list[Turn], list[Question], bool]]:
    """Each haystack with its dev questions, whole and in small parts."""
    chance = random.Random(5)
    of: dict[str, list[Question]] = {}
    for question in dev(questions.questions):
        of.setdefault(question.haystack, []).append(question)
    for name, asked in of.items():
        whole = questions.haystacks[name]
        yield whole, asked, True
        size = _PART_TEXTS if questions.name == "D" else _PART_TURNS
        for part in _parts(whole, size)[:_PARTS_MAX_COUNT]:
            refs = {turn.ref for turn in part}
            known = [question for question in asked if question.gold & refs]
            unknown = [question for question in asked if not question.gold & refs]
            some = chance.sample(unknown, min(len(unknown), max(1, len(known))))
            if known or some:
                yield part, known + some, False


def _parts(turns: Sequence[Turn], size: int) -> list[list[Turn]]:
    """A haystack cut between sessions into parts of about this many turns."""
    parts: list[list[Turn]] = [[]]
    for place, turn in enumerate(turns):
        is_new = place == 0 or turn.session != turns[place - 1].session
        if is_new and len(parts[-1]) >= size:
            parts.append([])
        parts[-1].append(turn)
    return parts


def calibrated(many: Sequence[First]) -> Calibration:
    """The logistic curve of these first hits."""
    kinds = np.array([one.kind for one in many])
    counts = np.bincount(kinds, minlength=len(_SHARES))
    share = np.array([_SHARES[kind] / counts[kind] for kind in kinds])
    share /= share.sum()
    right = np.array([float(one.is_right) for one in many])
    plain = np.array([(one.score, one.score - one.rivals) for one in many])
    middle, spread = plain.mean(axis=0), plain.std(axis=0) + 1e-9
    rows = np.column_stack([(plain - middle) / spread, np.ones(len(plain))])

    def total(point: Numbers) -> tuple[float, Numbers]:
        raw = rows @ point
        off = (1 / (1 + np.exp(-raw)) - right) * share
        value = float((share * (np.logaddexp(0, raw) - right * raw)).sum())
        return value + _RIDGE * float(point @ point), off @ rows + 2 * _RIDGE * point

    point, _ = descend(total, np.zeros(3))
    slope, lead = point[:2] / spread
    offset = point[2] - slope * middle[0] - lead * middle[1]
    return Calibration(round(float(slope), 3), round(float(lead), 3), round(float(offset), 3))


def main(words: Sequence[str] | None = None) -> int:
    """Prints the calibration of each configuration that the given legs allow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.calibrate")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--legs", choices=("static", "full"), default="static")
    parser.add_argument("--sets", default=",".join(SETS), help="which sets, with commas between")
    parser.add_argument("--model", type=Path, help="folder of the sentence encoder")
    parser.add_argument("--cache", type=Path, help="folder that keeps its rows")
    options = parser.parse_args(words)
    several: dict[str, tuple[Legs, ...]] = {
        "static": ("text", "static"),
        "full": ("text", "static", "sentence", "full"),
    }
    embedders = chosen(options.legs, options.model, options.cache)
    with fitting():
        loaded = sets.load(options.data, options.sets.split(","))
        found = [firsts(one, embedders, several[options.legs]) for one in loaded]
    for legs in several[options.legs]:
        many = [one for of_set in found for one in of_set[legs]]
        print(f"{legs!r}: {calibrated(many)}, from {len(many)} first hits")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
