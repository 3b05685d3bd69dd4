"""The comparison with the page fails on what is below half twice, and on nothing else."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest

from benchmarks import compare
from benchmarks.compare import Figures, below, beside, figures, judge, table
from benchmarks.report import Report
from tests.benchmarks.test_page import FOUND

PAGE = figures(msgspec.json.encode(FOUND))


def run(**changed: float | None) -> Report:
    return msgspec.structs.replace(FOUND, **changed)


def judged(*runs: Report) -> tuple[list[str], list[Collection[str] | None]]:
    asked: list[Collection[str] | None] = []
    left = list(runs)

    def measure(only: Collection[str] | None) -> Report:
        asked.append(only)
        return left.pop(0)

    return judge(PAGE, measure, lambda said: None), asked


@pytest.mark.parametrize(
    ("page", "found", "is_below"),
    [
        (0.8, 0.4, False),
        (0.8, 0.39, True),
        (0.8, 8.0, False),
        (None, 0.1, False),
        (0.8, None, False),
    ],
)
def test_a_ratio_is_below_if_it_is_less_than_half(
    page: float | None, found: float | None, is_below: bool
) -> None:
    rows = beside(_only("write_ratio", page), _only("write_ratio", found))
    assert below(rows) == (["write_ratio"] if is_below else [])


@pytest.mark.parametrize(("found", "is_below"), [(4.0, False), (4.1, True), (0.2, False)])
def test_a_cost_is_below_if_it_is_more_than_double(found: float, is_below: bool) -> None:
    rows = beside(_only("context_cost", 2.0), _only("context_cost", found))
    assert bool(below(rows)) is is_below


def test_figures_of_different_sizes_are_shown_and_not_judged() -> None:
    page = Figures({"recall_ratio": 0.8}, {"recall_ratio": 10_000})
    other = Figures({"recall_ratio": 0.1}, {"recall_ratio": 100})
    same = Figures({"recall_ratio": 0.1}, {"recall_ratio": 10_000})
    assert below(beside(page, other)) == []
    assert "sizes" in table(beside(page, other))
    assert below(beside(page, same)) == ["recall_ratio"]
    assert "0.12 !" in table(beside(page, same))


def test_an_average_is_shown_and_not_judged() -> None:
    rows = beside(_only("write_mean_ratio", 0.9), _only("write_mean_ratio", 0.1))
    assert below(rows) == []
    assert "average" in table(rows)


def test_only_what_is_below_half_twice_in_a_row_fails() -> None:
    slow = run(write_ratio=0.1, context_cost=9.0)
    assert judged(FOUND) == ([], [None])
    assert judged(slow, FOUND) == ([], [None, ["write_ratio", "context_cost"]])
    assert judged(slow, run(write_ratio=0.1))[0] == ["write_ratio"]
    assert judged(slow, slow)[0] == ["write_ratio", "context_cost"]


def test_what_is_below_half_only_the_second_time_does_not_fail() -> None:
    assert judged(run(write_ratio=0.1), run(bulk_ratio=0.1))[0] == []


def test_the_figures_of_a_server_are_compared_by_their_own_names() -> None:
    assert FOUND.postgres is not None
    served = msgspec.structs.replace(FOUND.postgres, remember_ratio=0.01)
    slow = msgspec.structs.replace(FOUND, postgres=served)
    failed, asked = judged(slow, slow)
    assert failed == ["postgres.remember_ratio"]
    assert asked == [None, ["postgres.remember_ratio"]]


def test_a_report_of_before_is_read_as_far_as_it_goes() -> None:
    found = figures(b'{"write_ratio": 0.5, "bulk_ratio": null, "machine": {"cpu_count": 2}}')
    assert found == Figures({"write_ratio": 0.5}, {})
    assert below(beside(found, PAGE)) == []


def test_the_command_fails_and_names_what_became_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "benchmarks.json"
    kept.write_bytes(msgspec.json.encode(FOUND))
    assert compare.main([str(kept)], lambda only: FOUND) == 0
    assert compare.main([str(kept)], lambda only: run(get_ratio=0.01)) == 1
    told = capsys.readouterr()
    assert "get_ratio" in told.out
    assert "twice in a row: get_ratio." in told.err


def test_without_a_page_there_is_nothing_to_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare.main([str(tmp_path / "none.json")], lambda only: FOUND) == 0
    assert "write_ratio" in capsys.readouterr().out


def _only(name: str, figure: float | None) -> Figures:
    return Figures({} if figure is None else {name: figure}, {})
