"""Asking a memory every question of a set, and judging what it finds.

Responsible for filling memories through the public API and for the report. Leaves reading the
data to ``sets`` and what may be known to ``splits``. Invariant: a ranker sees a question's text
and the instant it was asked at, never its gold; ``macro`` counts test questions only.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol

import msgspec

from benchmarks.recall.metrics import Marks, SessionScore, mean, sessions
from benchmarks.recall.sets import Grain, QuestionSet, Turn, whole_sessions
from benchmarks.recall.splits import Question
from recollect import Memory
from recollect.compose import Embedders
from recollect.finding.vectors import embed_all
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.backend import MemoryBackend

# What macro is made of: of each set's test questions, one figure.
MACRO: Final = {"A": "all@5", "B": "all@10", "C": "any@10", "D": "all@5"}
# LoCoMo's fifth category asks for things never said: reported separately, not in B's figures.
APART: Final = {"B": frozenset({"5"})}
DEPTH: Final = 10  # places of a ranking that are judged
HITS: Final = {"turn": DEPTH, "session": 150}  # enough episodes for ten sessions
_BATCH: Final = 5_000

Row = dict[str, object]
Say = Callable[[str], None]


class Ranker(Protocol):
    """Answers the questions about one haystack."""

    def rank(self, text: str, asked_at: str | None, k: int) -> Sequence[tuple[int, float]]:
        """Places of turns in the haystack with their scores, best first."""

    def close(self) -> None:
        """Releases what it holds."""


Fill = Callable[[Sequence[Turn]], Ranker]


def memory_with(embedders: Embedders) -> Memory:
    """An empty memory that looks with these embedders."""
    return Memory(Handle(MemoryBackend().space("main", create=True), embedders=embedders))


class Engine:
    """A memory behind its public API."""

    def __init__(self, turns: Sequence[Turn], memory: Memory) -> None:
        self.memory = memory
        self._place: dict[str, int] = {}
        for start in range(0, len(turns), _BATCH):
            self._observe(turns[start : start + _BATCH], start)
        embed_all(memory._handle.space, memory._handle.embedders)

    def rank(self, text: str, asked_at: str | None, k: int) -> list[tuple[int, float]]:
        """Through ``recall``; a question is asked at its own instant, if it has one."""
        found = self.memory.recall(text, k=k, unit="episode", valid_at=asked_at)
        return [(self._place[hit.id], hit.relevance) for hit in found.hits]

    def place(self, id: str) -> int:
        """Where an episode stands in the haystack."""
        return self._place[id]

    def close(self) -> None:
        """Closes the memory."""
        self.memory.close()

    def _observe(self, turns: Sequence[Turn], start: int) -> None:
        with self.memory.batch() as batch:
            for turn in turns:
                speaker = None if turn.speaker is None else {"speaker": turn.speaker}
                batch.observe(
                    turn.text,
                    role=turn.role,
                    session=turn.session,
                    said_at=turn.at,
                    metadata=speaker,
                )
        for place, episode in enumerate(batch.results, start=start):
            self._place.setdefault(episode.id, place)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found. ``sets`` has the figures of each set, part and category."""

    commit: str
    legs: str
    grain: str
    session_score: str
    limit: int | None
    macro: float | None
    macro_of: dict[str, float]
    sets: dict[str, dict[str, dict[str, Marks]]]
    asked: dict[str, int]
    seconds: dict[str, float]


def ask(
    questions: QuestionSet,
    fill: Fill,
    *,
    grain: Grain,
    score: SessionScore | None,
    limit: int | None,
    say: Say,
) -> Iterator[Row]:
    """One row for each question, with what was found and its marks."""
    by_haystack: dict[str, list[Question]] = defaultdict(list)
    for question in questions.questions[:limit]:
        by_haystack[question.haystack].append(question)
    for count, (name, asked) in enumerate(by_haystack.items(), start=1):
        turns = _grained(questions, name, grain)
        with closing(fill(turns)) as ranker:
            for question in asked:
                yield _row(question, questions.ranks, turns, ranker, score)
        say(f"{questions.name}: {count} of {len(by_haystack)} haystacks")


def _grained(questions: QuestionSet, name: str, grain: Grain) -> list[Turn]:
    """The turns verbatim, or each session as one text of what people said."""
    turns = questions.haystacks[name]
    if grain == "session" and questions.ranks == "session":
        return whole_sessions(turns, frozenset({"user"}))
    return turns


def _row(
    question: Question,
    ranks: Grain,
    turns: Sequence[Turn],
    ranker: Ranker,
    score: SessionScore | None,
) -> Row:
    began = time.perf_counter()
    hits = ranker.rank(question.text, question.asked_at, HITS[ranks])
    took = time.perf_counter() - began
    found = [(turns[place].ref, value) for place, value in hits]
    ranked = sessions(found, score) if ranks == "session" else [ref for ref, _ in found]
    return {
        "id": question.id,
        "part": question.part,
        "category": question.category,
        "question": question.text,
        "ranked": ranked[:DEPTH],
        "top": found[0][1] if found else 0.0,
        "ms": round(1_000 * took, 3),
        "marks": question.judge(ranked),
    }


def summary(name: str, rows: Iterable[Row]) -> dict[str, dict[str, Marks]]:
    """Means for each part, over all categories that count and for each one."""
    of: dict[str, dict[str, list[Marks]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        marks: Marks = row["marks"]  # type: ignore[assignment]
        category = str(row["category"])
        for part in ("all", str(row["part"])):
            of[part][category].append(marks)
            if category not in APART.get(name, ()):
                of[part]["*"].append(marks)
    return {
        part: {category: mean(many) for category, many in sorted(found.items())}
        for part, found in of.items()
    }


def macro(sets: dict[str, dict[str, dict[str, Marks]]]) -> dict[str, float]:
    """The figures macro is the mean of, as far as their sets were asked."""
    return {
        name: sets[name]["test"]["*"][figure]
        for name, figure in MACRO.items()
        if "test" in sets.get(name, {})
    }


def write(path: Path, rows: Iterable[Row]) -> None:
    """One JSON line for each question."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def run(
    sets: Iterable[QuestionSet],
    fill: Fill,
    *,
    about: dict[str, str],
    grain: Grain = "turn",
    score: SessionScore | None = None,
    limit: int | None = None,
    out: Path | None = None,
    say: Say = lambda text: None,
) -> Report:
    """Asks every question of every set."""
    figures: dict[str, dict[str, dict[str, Marks]]] = {}
    asked: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for questions in sets:
        began = time.perf_counter()
        rows = list(ask(questions, fill, grain=grain, score=score, limit=limit, say=say))
        seconds[questions.name] = round(time.perf_counter() - began, 2)
        asked[questions.name] = len(rows)
        figures[questions.name] = summary(questions.name, rows)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            write(out / f"{questions.name.replace(chr(39), '-sessions')}.jsonl", rows)
    of = macro(figures)
    whole = sum(of.values()) / len(of) if len(of) == len(MACRO) else None
    return Report(
        **about,
        grain=grain,
        limit=limit,
        macro=whole,
        macro_of=of,
        sets=figures,
        asked=asked,
        seconds=seconds,
    )
