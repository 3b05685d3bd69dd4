"""What people and other memories wrote into a workspace is never lost, whatever is done to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.contracts.graph.shown_files import ShownFiles
from tests.suites.workspaces import rounds

ROUNDS = 1_000


def test_nothing_of_a_person_or_of_another_memory_is_lost(tmp_path: Path) -> None:
    words, lost, steps = rounds(tmp_path, 12, seed=1)
    assert lost == []
    assert words > 12
    assert steps


@pytest.mark.ci
@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_nothing_is_lost_in_25_rounds(tmp_path: Path, seed: int) -> None:
    words, lost, steps = rounds(tmp_path, 25, seed)
    assert lost == []
    assert words > 100
    assert len(steps) == 17, "every way in, and everything that people do"


@pytest.mark.nightly
def test_nothing_is_lost_in_many_rounds(tmp_path: Path) -> None:
    words, lost, _ = rounds(tmp_path, ROUNDS, seed=6)
    assert lost == []
    assert words > 5 * ROUNDS


def test_the_rounds_find_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with the guard off, every file counts as written by the memory."""

    def all_known(self: ShownFiles, files: dict[str, bytes | None]) -> dict[str, frozenset[str]]:
        return {file: frozenset({str(self._digest(file))}) for file in files}

    monkeypatch.setattr(ShownFiles, "_known", all_known)
    _, lost, _ = rounds(tmp_path, 12, seed=1)
    assert len(lost) > 12
