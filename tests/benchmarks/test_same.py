"""Both engines are compared as the report says, and a difference between them is seen."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.recall import same
from benchmarks.recall.same import Answer, Legs, Report, line, main, recalled, run, shares, stores
from benchmarks.recall.sets import QuestionSet
from benchmarks.recall.splits import Question
from benchmarks.server import started
from recollect import Memory
from tests.benchmarks.test_recall import rooms, write_data

THINGS = "cello violin piano flute harp drum horn bell lute gong oboe viola".split()
Disturb = Callable[[Answer], Answer]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with started(in_memory=True) as own:
        yield own.get_uri()


def test_every_set_gives_alike_but_for_small_ones() -> None:
    assert shares([1_986, 400, 100, 500], 1_000) == [300, 300, 100, 300]
    assert shares([5, 1], 100) == [5, 1]
    assert shares([9], 4) == [4]


def test_the_command_asks_both_engines_the_questions_of_every_set(
    tmp_path: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path)
    assert main(["--data", str(tmp_path), "--server", server, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["asked"] == {"A": 1, "B": 1, "C": 1, "D": 1}
    assert (report["same"], report["answered"], report["reached"]) == (4, 4, True)


@pytest.mark.parametrize("legs", ["text", "static"])
def test_both_engines_answer_alike(server: str, legs: Legs) -> None:
    report = _compared(server, legs)
    assert (report.questions, report.answered) == (len(THINGS), len(THINGS))
    assert report.reached
    assert report.overlap_least == 1.0


# Controls: each of these must be seen.


@pytest.mark.parametrize(
    ("disturb", "seen_in_order"),
    [
        (lambda answer: [answer[1], answer[0], *answer[2:]], True),
        (lambda answer: [(id, math.nextafter(relevance, 2)) for id, relevance in answer], False),
        (lambda answer: answer[:-1], True),
    ],
    ids=["order", "relevance", "length"],
)
def test_an_engine_with_another_order_is_told_from_the_first(
    server: str, disturb: Disturb, seen_in_order: bool
) -> None:
    report = _compared(server, "text", disturb)
    assert (report.same, report.reached) == (0, False)
    assert report.same_order == len(THINGS) * (not seen_in_order)
    assert ("q0" in report.differing) is seen_in_order
    assert "missed" in line(report)


def test_with_vectors_one_strange_hit_in_ten_misses_the_aim(server: str) -> None:
    report = _compared(server, "static", lambda answer: [("another", 1.0), *answer])
    assert report.overlap_mean == pytest.approx(0.9)
    assert not report.reached


@pytest.mark.parametrize("legs", ["text", "static"])
def test_two_engines_that_find_nothing_miss_the_aim(server: str, legs: Legs) -> None:
    with stores(legs, server) as (files, served):
        report = run([_set()], files, served, legs=legs, count=2, ask=lambda memory, question: [])
    assert (report.same, report.answered, report.reached) == (2, 0, False)


def test_the_command_fails_if_the_aim_is_missed(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data(tmp_path)
    monkeypatch.setattr(same, "OVERLAP_AIM", 1.1)
    assert main(["--data", str(tmp_path), "--server", server, "--legs", "static"]) == 1


def _compared(server: str, legs: Legs, disturb: Disturb | None = None) -> Report:
    def ask(memory: Memory, question: Question) -> Answer:
        answer = recalled(memory, question)
        if disturb is None or not memory.where.startswith("postgresql"):
            return answer
        return disturb(answer)

    with stores(legs, server) as (files, served):
        return run([_set()], files, served, legs=legs, count=100, ask=ask)


def _set() -> QuestionSet:
    return rooms(THINGS, ("test",), turns_each=3)
