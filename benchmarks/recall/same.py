"""``python -m benchmarks.recall.same``: whether files and PostgreSQL answer alike.

Responsible for asking benchmark questions of both engines and for comparing the answers. Leaves
the questions to ``sets`` and how good an answer is to ``run``. Each haystack is observed in files
and carried to the server, so both hold the same events with the same ids. Invariant: an answer is
the same only if ids, order and relevance are all equal, to the last bit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Final, Literal

import msgspec

from benchmarks.machine import commit
from benchmarks.postgres import server
from benchmarks.recall import sets
from benchmarks.recall.run import DEPTH, Engine, Say
from benchmarks.recall.sets import QuestionSet, Turn
from benchmarks.recall.splits import Question
from recollect import Memory, Store
from recollect.config import MEMORY, Settings
from recollect.store.files.backend import FileBackend
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.schema import prepare

Legs = Literal["text", "static"]
Answer = list[tuple[str, float]]
Ask = Callable[[Memory, Question], Answer]

SETS: Final = "A,B,C,D"
HITS: Final = 50  # compared for each question
OVERLAP_AIM: Final = 0.98  # of the first ten, with vectors
_EMBEDDER: Final = {"text": "none", "static": "static"}
_SHOWN_MAX_COUNT: Final = 20


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found. ``differing`` names the first questions whose hits differ in order."""

    legs: Legs
    asked: dict[str, int]
    questions: int
    same: int
    same_order: int
    answered: int
    overlap_mean: float
    overlap_least: float
    reached: bool
    differing: tuple[str, ...]
    commit: str


def recalled(memory: Memory, question: Question) -> Answer:
    """What a memory finds, with how relevant it holds it to be."""
    found = memory.recall(question.text, k=HITS, unit="episode", valid_at=question.asked_at)
    if found.degraded is not None:
        raise RuntimeError(f"{memory.where} answers with less: {found.degraded}")
    return [(hit.id, hit.relevance) for hit in found.hits]


def spread(questions: Sequence[Question], count: int) -> list[Question]:
    """So many of them, evenly over the whole."""
    count = min(count, len(questions))
    return [questions[place * len(questions) // count] for place in range(count)]


def shares(sizes: Sequence[int], count: int) -> list[int]:
    """How many to take of each set: alike, but for those that have fewer."""
    taken = [0] * len(sizes)
    for number, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        alike = (count - sum(taken)) // (len(sizes) - number)
        taken[place] = min(sizes[place], alike)
    return taken


def ids(answer: Answer) -> list[str]:
    """What was found, in its order."""
    return [id for id, _ in answer]


def overlap(ours: Answer, theirs: Answer) -> float:
    """How much of the first ten both share."""
    one, other = (set(ids(answer)[:DEPTH]) for answer in (ours, theirs))
    return len(one & other) / max(len(one), len(other)) if one or other else 1.0


def pairs(
    found: QuestionSet, count: int, files: Store, served: Store, ask: Ask, say: Say
) -> Iterator[tuple[Question, Answer, Answer]]:
    """Both answers to each question that is taken of a set."""
    by_haystack: dict[str, list[Question]] = defaultdict(list)
    for question in spread(found.questions, count):
        by_haystack[question.haystack].append(question)
    for number, (name, questions) in enumerate(by_haystack.items(), start=1):
        space = f"{found.name} {name}"
        with both(files, served, space, found.haystacks[name]) as (ours, theirs):
            for question in questions:
                yield question, ask(ours, question), ask(theirs, question)
        say(f"{found.name}: {number} of {len(by_haystack)} haystacks")


@contextmanager
def both(
    files: Store, served: Store, space: str, turns: Sequence[Turn]
) -> Iterator[tuple[Memory, Memory]]:
    """A haystack in files, and the same events on the server."""
    with files.space(space) as ours, served.space(space) as theirs:
        Engine(turns, ours)
        ours.admin.copy_to(theirs)
        theirs.admin.embed()
        yield ours, theirs


def run(
    found: Iterable[QuestionSet],
    files: Store,
    served: Store,
    *,
    legs: Legs,
    count: int,
    ask: Ask = recalled,
    say: Say = lambda text: None,
) -> Report:
    """Asks and compares."""
    every = list(found)
    asked: dict[str, int] = {}
    overlaps: list[float] = []
    same = same_order = answered = 0
    differing: list[str] = []
    counts = shares([len(one.questions) for one in every], count)
    for one, taken in zip(every, counts, strict=True):
        asked[one.name] = 0
        for question, ours, theirs in pairs(one, taken, files, served, ask, say):
            asked[one.name] += 1
            answered += bool(ours)
            overlaps.append(overlap(ours, theirs))
            same += ours == theirs
            same_order += ids(ours) == ids(theirs)
            if ids(ours) != ids(theirs):
                differing.append(question.id)
    alike = same == len(overlaps) if legs == "text" else mean(overlaps) >= OVERLAP_AIM
    return Report(
        legs=legs,
        asked=asked,
        questions=len(overlaps),
        same=same,
        same_order=same_order,
        answered=answered,
        overlap_mean=round(mean(overlaps), 4),
        overlap_least=min(overlaps),
        reached=alike and answered > 0,  # two engines that find nothing agree about nothing
        differing=tuple(differing[:_SHOWN_MAX_COUNT]),
        commit=commit(),
    )


def line(report: Report) -> str:
    """The report for people."""
    return (
        f"same, {report.legs}: {report.questions:,} questions, {report.answered:,} with hits: "
        f"{report.same_order:,} with the same ids in the same order, {report.same:,} with the very "
        f"same relevance too; first ten shared "
        f"{report.overlap_mean:.4f} in the mean, {report.overlap_least:.2f} at least; "
        f"aim {'reached' if report.reached else 'missed'}"
    )


@contextmanager
def stores(legs: Legs, named: str | None) -> Iterator[tuple[Store, Store]]:
    """One in a folder and one on a server, both gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, server(named) as url:
        prepare(url)
        settings = Settings(where=MEMORY, why="measured", embedder=_EMBEDDER[legs])
        with (
            Store(FileBackend(Path(folder)), settings) as files,
            Store(PostgresBackend(url), settings) as served,
        ):
            yield files, served


def main(words: Sequence[str] | None = None) -> int:
    """The command; 1 if the aim is missed."""
    options = _parser().parse_args(words)
    with stores(options.legs, options.server) as (files, served):
        report = run(
            sets.load(options.data, options.sets.split(",")),
            files,
            served,
            legs=options.legs,
            count=options.questions,
            say=lambda text: print(text, file=sys.stderr),
        )
    print(msgspec.json.encode(report).decode() if options.json else line(report))
    return 0 if report.reached else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.same", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the question sets")
    parser.add_argument("--sets", default=SETS, help="which ones, with commas between")
    parser.add_argument("--legs", choices=tuple(_EMBEDDER), default="text")
    parser.add_argument("--questions", type=int, default=1_000, help="how many, over all sets")
    parser.add_argument(
        "--server", help="an existing server; a database is created there and dropped"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
