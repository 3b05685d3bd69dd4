"""The benchmark of rules runs and reports what it promises."""

from __future__ import annotations

from pathlib import Path

from benchmarks import beliefs


def test_a_small_run_reports_every_figure(tmp_path: Path) -> None:
    report = beliefs.run(beliefs.Sizes(small=40, large=120, rounds=1), tmp_path)
    assert report.second_run_made == 0
    assert report.consolidate_eps_10k > 0
    assert report.consolidate_eps_100k > 0
    assert 10 < report.consolidate_rss_mb < 500
    assert "second run made 0" in beliefs.table(report)


def test_both_passes_look_at_all_of_it(tmp_path: Path) -> None:
    beliefs.fill(tmp_path / "w", 400)
    done = beliefs.consolidate(tmp_path / "w")
    assert (done.applied, done.skipped, done.again) == (400, 0, 0)
