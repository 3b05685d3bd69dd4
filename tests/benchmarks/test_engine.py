"""The engine's benchmark runs, reports what it promises, and cannot drift from what is written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks import bare, engine, growth, measures, report
from benchmarks.bare import rows_of
from benchmarks.ledgers import write_ledger
from benchmarks.report import Report
from benchmarks.sentences import sentences
from benchmarks.timing import Paired, in_turns
from recollect import Memory

TINY = measures.Sizes(
    write_rounds=2,
    writes=2,
    bulk_rounds=1,
    batch=20,
    verify_rounds=1,
    verify_events=60,
    rebuild_rounds=1,
    rebuild_events=60,
    cold_rounds=1,
    read_rounds=1,
    reads=2,
    group_rounds=1,
    group_writes=8,
    records=(100, 300),
    growth_rounds=1,
    growth_writes=2,
    growth_recalls=1,
    growth_reads=1,
)
AIMED = (
    "write_ratio",
    "bulk_ratio",
    "verify_ratio",
    "rebuild_ratio",
    "cold_cli_ratio",
    "write_growth_ratio",
    "recall_growth_ratio",
    "open_growth",
    "group_commit_gain_8_threads",
    "rss_mb_rebuild_1m",
)


class Counting(engine.Steps):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.done = 0

    def begin(self, what: str) -> None:
        self.said.append(what)

    def advance(self) -> None:
        self.done += 1


def test_a_run_reports_every_figure(tmp_path: Path) -> None:
    steps = Counting()
    found = engine.run(TINY, tmp_path, steps)
    assert set(found.aims) == set(found.reached) == set(AIMED)
    for aim in report.RATIOS:
        figure = found.figure(aim)
        if aim.name in found.skipped:
            assert figure is None
            continue
        assert figure is not None
        assert 0 < figure < 1_000
        low, high = found.quartiles[aim.name]
        assert 0 < low <= high
        assert found.medians_us[aim.name]["bare"] > 0
        assert found.medians_us[aim.name]["ours"] > 0
        assert found.rounds[aim.name] >= 1
    assert set(found.skipped) <= {"cold_cli_ratio"}
    assert set(found.machine) == {
        *("python", "sqlite", "system", "cpu_count", "memory_gb", "file_system")
    }
    assert found.sizes == TINY.records
    assert set(found.growth) == {operation.name for operation in growth.OPERATIONS}
    assert all(curve.records == TINY.records for curve in found.growth.values())
    assert 10 < found.rss_mb_rebuild_1m < 1_000
    assert steps.done == engine.steps_of(TINY) or found.skipped
    assert {aim.what for aim in report.RATIOS} <= set(steps.said)
    assert all(aim.what in report.table(found) for aim in report.AIMS)


def test_the_command_prints_json_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "QUICK", TINY)
    assert engine.main(["--json", "--quick", "--dir", str(tmp_path)]) == 0
    printed = msgspec.json.decode(capsys.readouterr().out)
    assert set(AIMED) | {"aims", "reached", "machine", "rounds", "medians_us"} <= set(printed)
    assert msgspec.convert(printed, Report).sizes == TINY.records
    assert list(tmp_path.iterdir()) == []


def test_another_row_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(*given: object) -> bare.Rows:
        rows = rows_of(*given)  # type: ignore[arg-type]  # passed on as they came
        return rows._replace(texts=[(doc, "other words") for doc, _ in rows.texts])

    monkeypatch.setattr(bare, "rows_of", too_few)
    with pytest.raises(AssertionError, match="out of date: recallable"):
        bare.check_row_set(tmp_path, sentences(5, seed=0))


def test_a_made_ledger_is_one_that_a_memory_goes_on_from(tmp_path: Path) -> None:
    write_ledger(tmp_path / "made", 2_500, seed=1)
    with Memory.open(tmp_path / "made") as memory:
        assert memory.position == memory.verify().events == 2_500
        newest = memory.list(limit=1)[0]
        added = memory.remember("Something that comes after all of it.")
        assert added.at > newest.at
        assert added.id > newest.id


def test_growth_is_taken_round_by_round() -> None:
    seconds = {
        (0, "bare"): [[1.0, 1.0, 9.0], [10.0, 10.0, 90.0]],
        (1, "bare"): [[2.0, 2.0, 8.0], [20.0, 20.0, 80.0]],
        (0, "ours"): [[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]],
        (1, "ours"): [[3.0, 3.0, 3.0], [30.0, 30.0, 30.0]],
    }
    curve = growth._curve([10, 1_000], seconds)
    assert (curve.bare_growth, curve.ours_growth, curve.growth_ratio) == (2.0, 3.0, 1.5)
    assert curve.bare_us == (5.5e6, 11e6)
    assert curve.bare_mean_us[0] == pytest.approx(121 / 6 * 1e6)


def test_an_aim_is_reached_from_its_better_side() -> None:
    speed, cost = report.Aim("s", "", 0.5), report.Aim("c", "", 2.0, is_cost=True)
    assert [speed.reached(figure) for figure in (0.4, 0.5, None)] == [False, True, None]
    assert [cost.reached(figure) for figure in (2.0, 2.1)] == [True, False]
    assert report.Aim("i", "", None).reached(1.0) is None


def test_sentences_are_fresh_and_repeatable() -> None:
    made = sentences(500, seed=7)
    assert len(set(made)) == 500
    assert made == sentences(500, seed=7)
    assert all(len(sentence.split()) == 15 for sentence in made)


def test_ratios_are_taken_round_by_round() -> None:
    paired = Paired(bare_s=(1.0, 10.0, 1.0), ours_s=(2.0, 20.0, 4.0), operations=10)
    assert paired.speed == 0.5
    assert paired.cost == 2.0
    assert paired.quartiles == (0.375, 0.5)
    assert paired.medians_us == {"bare": 1e5, "ours": 4e5}


def test_both_sides_take_turns() -> None:
    order: list[tuple[str, int]] = []
    paired = in_turns(
        bare=lambda n: order.append(("bare", n)),
        ours=lambda n: order.append(("ours", n)),
        rounds=2,
        operations=1,
    )
    assert [side for side, _ in order] == ["ours", "bare", "bare", "ours", "ours", "bare"]
    assert [number for _, number in order] == [0, 0, 1, 1, 2, 2]
    assert len(paired.bare_s) == len(paired.ours_s) == 2
