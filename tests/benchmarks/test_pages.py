"""The benchmark of pages runs and reports what it promises."""

from __future__ import annotations

from pathlib import Path

from benchmarks import pages


def test_a_small_run_reports_every_figure(tmp_path: Path) -> None:
    report = pages.run(pages.QUICK, tmp_path)
    assert report.page_append_ms_few > 0
    assert 0 < report.page_append_ratio < 10
    assert report.sync_ratio > 0
    assert report.diff_files == 1
    assert 2 <= report.diff_lines <= pages.DIFF_AIM  # in the same second, `updated` is the same
    assert f"git diff shows {report.diff_lines} new lines" in pages.table(report)
