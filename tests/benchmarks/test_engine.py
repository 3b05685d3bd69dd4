"""The engine's benchmark runs, reports what it promises, and cannot drift from what is written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks import bare, engine, measures
from benchmarks.bare import rows_of
from benchmarks.sentences import sentences
from benchmarks.timing import Paired, in_turns

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
)
AIMED = ("write_ratio", "bulk_ratio", "verify_ratio", "rebuild_ratio", "cold_cli_ratio")


def test_a_run_reports_every_figure(tmp_path: Path) -> None:
    said: list[str] = []
    report = engine.run(TINY, tmp_path, said.append)
    found = msgspec.to_builtins(report)
    assert set(report.aims) == set(report.reached) == set(AIMED)
    for figure in engine.FIGURES:
        if figure.name in report.skipped:
            assert found[figure.name] is None
            continue
        assert 0 < found[figure.name] < 1_000
        low, high = report.quartiles[figure.name]
        assert 0 < low <= high
        assert report.medians_us[figure.name]["bare"] > 0
        assert report.medians_us[figure.name]["ours"] > 0
        assert report.rounds[figure.name] >= 1
    assert set(report.skipped) <= {"cold_cli_ratio"}
    assert set(report.machine) == {"python", "sqlite", "system", "cpu_count", "file_system"}
    assert any("round" in line for line in said)
    assert all(figure.what in engine.table(report) for figure in engine.FIGURES)


def test_the_command_prints_json_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "QUICK", TINY)
    assert engine.main(["--json", "--quick", "--dir", str(tmp_path)]) == 0
    printed = msgspec.json.decode(capsys.readouterr().out)
    assert set(AIMED) | {"aims", "reached", "machine", "rounds", "medians_us"} <= set(printed)
    assert list(tmp_path.iterdir()) == []


def test_another_row_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(*given: object) -> bare.Rows:
        rows = rows_of(*given)  # type: ignore[arg-type]  # passed on as they came
        return rows._replace(texts=[(doc, "other words") for doc, _ in rows.texts])

    monkeypatch.setattr(bare, "rows_of", too_few)
    with pytest.raises(AssertionError, match="out of date: recallable"):
        bare.check_row_set(tmp_path, sentences(5, seed=0))


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
