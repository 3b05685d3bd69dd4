"""The benchmark of signing and proving runs, and signs as often as it says."""

from __future__ import annotations

import json
import os

import pytest

from benchmarks import proof


def test_it_prints_its_figures_and_leaves_the_home_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = os.environ["HOME"]
    assert proof.main(["--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["checkpoints"] == proof.QUICK.rounds + 2  # one for each block, and the first
    assert found["sign_cost_ratio"] > 0
    assert found["prove_ms_1m"] > 0
    assert found["encrypt_cost_ratio"] > 0
    assert os.environ["HOME"] == before
    assert proof.main(["--quick"]) == 0
    assert "of those without" in capsys.readouterr().out
