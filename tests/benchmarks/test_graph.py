"""The benchmark of the graph runs and reports what it promises."""

from __future__ import annotations

from pathlib import Path

from benchmarks import graph


def test_the_quick_form_runs(tmp_path: Path) -> None:
    report = graph.run(graph.QUICK, tmp_path)
    assert 900 < report.links <= 1_000
    assert report.records == 301
    assert 10 < report.found <= 120
    assert report.neighbours_ratio > 0
    assert f"ratio {report.neighbours_ratio} (aim 3.0 or less)" in graph.table(report)
