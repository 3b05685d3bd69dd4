"""The benchmark of vectors runs, finds what the bare product finds, and skips what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import vectors
from benchmarks.vectors import Figure, Skipped, lines, measure


def test_it_measures_a_size(tmp_path: Path) -> None:
    found = measure(tmp_path, 600, 3, dimensions=16)
    assert isinstance(found, Figure)
    assert found.rows == 600
    assert min(found.bare_p50_ms, found.ours_p50_ms, found.refusing_p50_ms, found.ratio) > 0
    assert "600" in list(lines([found]))[1]
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_skipped_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "free_bytes", lambda: 1_000)
    found = measure(tmp_path, 600, 3)
    assert isinstance(found, Skipped)
    assert "skipped" in list(lines([found]))[1]
