"""The benchmark of the inspector reports every figure."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks import inspector


def test_a_small_run_reports_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspector.main(["--quick", "--json"]) == 0
    report = msgspec.json.decode(capsys.readouterr().out, type=inspector.Report)
    assert set(report.figures) == {aim.name for aim in inspector.AIMS} == set(report.reached)
    assert all(report.figures[f"{name}_ratio"] > 1 for name in inspector.PAGES)
    assert set(report.page_ms) == set(inspector.PAGES)
