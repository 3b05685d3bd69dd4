"""``python -m benchmarks.recall.contexts``: how much of the evidence is in a context of N tokens.

Responsible for asking ``Memory.context`` questions with several budgets, and for the share of them
whose whole evidence is packed, the tokens used, and the evidence in 1,000 tokens. Leaves the sets
to ``sets`` and what may be known to ``splits``. Invariant: a context is judged by the texts that it
packed, never by what was only found.

Of a set that ranks sessions, evidence is a session, and any of its texts counts for it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.machine import commit
from benchmarks.recall import sets
from benchmarks.recall.encoders import Chosen, chosen
from benchmarks.recall.metrics import mean
from benchmarks.recall.run import APART, Engine, memory_with
from benchmarks.recall.same import spread
from benchmarks.recall.sets import QuestionSet
from benchmarks.recall.splits import Question

BUDGETS: Final = (500, 1_000, 2_000, 4_000)
_MANY: Final = 4  # places of evidence, from which on questions are counted together

Say = Callable[[str], None]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The contexts of one budget: means over all questions."""

    whole: float  # the share of questions whose whole evidence is inside
    used: float  # tokens
    per_1000: float  # pieces of evidence in 1,000 tokens
    by_places: dict[str, float]  # places of evidence -> the share with all of them inside


class WidthReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found: of each set, the figures of each budget."""

    commit: str
    legs: str
    asked: dict[str, int]
    sets: dict[str, dict[str, Held]]


def measure(
    questions: QuestionSet, asked: Sequence[Question], embedders: Chosen, budgets: Sequence[int]
) -> dict[str, Held]:
    """Asks each question of its haystack with every budget."""
    of: dict[str, list[Question]] = defaultdict(list)
    for question in asked:
        of[question.haystack].append(question)
    rows: dict[int, list[dict[str, float]]] = defaultdict(list)
    for name, some in of.items():
        turns = questions.haystacks[name]
        with closing(Engine(turns, memory_with(embedders))) as engine:
            for question in some:
                for budget in budgets:
                    packed = engine.memory.context(question.text, tokens=budget, receipt=False)
                    refs = [turns[engine.place(id)].ref for id in packed.ids]
                    marks = question.judge_context(refs)
                    rows[budget].append({**marks, "used": float(packed.tokens)})
    return {str(budget): _held(found) for budget, found in rows.items()}


def _held(rows: Sequence[dict[str, float]]) -> Held:
    means = mean(rows)
    by_places: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        by_places[min(_MANY, int(row["needed"]))].append(row["whole"])
    return Held(
        whole=means["whole"],
        used=means["used"],
        per_1000=1_000 * means["held"] / (means["used"] or 1.0),
        by_places={str(n): sum(each) / len(each) for n, each in sorted(by_places.items())},
    )


def of_test(questions: QuestionSet, count: int | None, haystacks: Sequence[str]) -> list[Question]:
    """So many test questions of these haystacks, evenly over the whole; all by default."""
    apart = APART.get(questions.name, frozenset())
    found = [
        question
        for question in questions.questions
        if question.part == "test"
        and question.category not in apart
        and (not haystacks or question.haystack in haystacks)
    ]
    return found if count is None else spread(found, count)


def run(
    found: Iterable[QuestionSet],
    embedders: Chosen,
    *,
    legs: str,
    count: int | None = None,
    haystacks: Sequence[str] = (),
    budgets: Sequence[int] = BUDGETS,
    say: Say = lambda text: None,
) -> WidthReport:
    """The figures of each set."""
    asked: dict[str, int] = {}
    figures: dict[str, dict[str, Held]] = {}
    for questions in found:
        some = of_test(questions, count, haystacks)
        asked[questions.name] = len(some)
        figures[questions.name] = measure(questions, some, embedders, budgets)
        say(f"{questions.name}: {len(some)} questions")
    return WidthReport(commit=commit(), legs=legs, asked=asked, sets=figures)


def table(report: WidthReport) -> str:
    """The report for people."""
    lines = [f"{'set':4}{'tokens':>8}{'whole':>8}{'used':>8}{'per 1,000':>11}"]
    for name, budgets in report.sets.items():
        for budget, held in budgets.items():
            figures = f"{held.whole:>8.3f}{held.used:>8.0f}{held.per_1000:>11.2f}"
            lines.append(f"{name:4}{budget:>8}{figures}")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Runs what was asked for and prints the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.contexts")
    parser.add_argument("--data", type=Path, required=True, help="folder with the question sets")
    parser.add_argument("--sets", default="A,B,C,D", help="which ones, with commas between")
    parser.add_argument("--legs", choices=("text", "static", "full"), default="static")
    parser.add_argument("--model", type=Path, help="folder of the sentence encoder")
    parser.add_argument("--cache", type=Path, help="folder that keeps the sentence encoder's rows")
    parser.add_argument("--questions", type=int, help="how many of each set; all by default")
    parser.add_argument("--haystacks", default="", help="which ones, with commas between")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(words)
    report = run(
        sets.load(options.data, options.sets.split(",")),
        chosen(options.legs, options.model, options.cache),
        legs=options.legs,
        count=options.questions,
        haystacks=[name for name in options.haystacks.split(",") if name],
        say=lambda text: print(text, file=sys.stderr),
    )
    print(msgspec.json.encode(report).decode() if options.json else table(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
