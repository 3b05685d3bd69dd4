"""The benchmark of answers runs, and its figures are about what it says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import latency
from benchmarks.latency import filled, main, matrix, measure, report
from recollect.embed.static import StaticEmbedder


def test_it_measures_a_size_and_leaves_nothing(tmp_path: Path) -> None:
    found = measure(tmp_path, 60, 3)
    assert found.records == 60
    assert min(found.bare_p50_ms, found.recall_p50_ms, found.context_p50_ms) > 0
    assert found.recall_ratio == pytest.approx(found.recall_p50_ms / found.bare_p50_ms, abs=0.01)
    assert list(tmp_path.iterdir()) == []


def test_the_bare_rows_are_those_of_the_memory(tmp_path: Path) -> None:
    embedder = StaticEmbedder()
    with filled(tmp_path / "of", 20) as memory:
        texts = [record.text for record in reversed(memory.list())]
        rows = matrix(tmp_path / "of", embedder)
    assert np.array_equal(rows, embedder.embed(texts))


def test_a_report_names_the_figures_that_aims_are_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(latency, "QUICK", (30, 60))
    main(["--quick", "--rounds", "2", "--json", "--folder", str(tmp_path)])
    told = json.loads(capsys.readouterr().out)
    assert [figure["records"] for figure in told["figures"]] == [30, 60]
    assert told["recall_ratio_100k"] is None
    small, large = told["figures"]
    ours = large["recall_p50_ms"] / small["recall_p50_ms"]
    bare = large["bare_p50_ms"] / small["bare_p50_ms"]
    assert told["recall_growth_ratio"] == pytest.approx(ours / bare, abs=0.01)


def test_the_ratio_is_that_of_a_hundred_thousand(tmp_path: Path) -> None:
    figures = [
        latency.Figure(
            records=records,
            bare_p50_ms=bare,
            bare_p99_ms=9,
            recall_p50_ms=ours,
            recall_p99_ms=9,
            recall_ratio=ours / bare,
            many_ms=1,
            context_p50_ms=7,
            context_p99_ms=9,
        )
        for records, bare, ours in [(10_000, 1, 4), (100_000, 10, 12), (1_000_000, 100, 100)]
    ]
    found = report(figures, 3, tmp_path)
    assert found.recall_ratio_100k == pytest.approx(1.2)
    assert found.context_ms_100k == 7
    assert found.recall_growth_ratio == 0.3
