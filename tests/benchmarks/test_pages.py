"""The benchmark of pages runs and reports what it promises."""

from __future__ import annotations

from pathlib import Path

from benchmarks import pages


def test_a_small_run_reports_every_figure(tmp_path: Path) -> None:
    report = pages.run(pages.QUICK, tmp_path)
    assert report.page_append_ms_few > 0
    assert 0 < report.page_append_ratio < 10
    assert (report.diff_lines, report.diff_files) == (pages.DIFF_AIM, 1)
    assert f"git diff shows {pages.DIFF_AIM} new lines" in pages.table(report)
