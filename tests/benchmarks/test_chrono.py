"""The benchmark of the chrono contract finds tampering, and finds none where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import chrono


def test_the_quick_form_runs(tmp_path: Path) -> None:
    report = chrono.run(chrono.QUICK, tmp_path)
    assert (report.found, report.kinds) == (4, 4)
    assert (report.kept, report.written) == (20, 20)
    assert report.records == (20, 40)
    assert len(report.writes_per_s) == 2
    told = chrono.table(report)
    assert f"last to first {report.last_to_first}" in told
    assert "tampering found: 4 of 4\n" in told


def test_what_was_not_tampered_with_is_not_found(tmp_path: Path) -> None:
    """The control."""
    assert not chrono.is_found(tmp_path, lambda home: None)


def test_a_missed_kind_is_named_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chrono, "TAMPERING", {"nothing at all": lambda home: None})
    assert chrono.main(["--quick"]) == 1
    assert "tampering found: 0 of 1; not nothing at all" in capsys.readouterr().out
