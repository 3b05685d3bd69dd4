"""The benchmark of cold starts runs and reports what it promises."""

from __future__ import annotations

from pathlib import Path

import msgspec

from benchmarks import cold


def test_a_small_run_reports_every_figure(tmp_path: Path) -> None:
    report = cold.run(cold.Sizes(records=30, rounds=2, imports=1), tmp_path)
    assert report.reached == (report.cold_hook_ratio <= report.aim)
    assert report.cold_hook_ratio > 1
    assert 0 < report.import_ms < report.hook_ms["median"]
    assert report.hook_ms["median"] <= report.hook_ms["p95"]
    assert report.slowest_imports
    assert "ratio" in cold.table(report)
    slow = msgspec.structs.replace(report, reached=False)
    assert report.slowest_imports[0][0] in cold.table(slow)
