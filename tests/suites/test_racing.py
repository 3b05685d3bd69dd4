"""Of many processes that expect the same version of a record, exactly one writes."""

from __future__ import annotations

from pathlib import Path

from tests.suites.conftest import Tell
from tests.suites.racing import problem, race

PROCESSES, ROUNDS = 16, 200


def test_one_of_sixteen_processes_wins_each_round(tmp_path: Path, tell: Tell) -> None:
    won = race(str(tmp_path), ROUNDS, PROCESSES)
    assert problem(str(tmp_path), ROUNDS, won) is None
    tell(f"racing: {PROCESSES} processes, {ROUNDS} rounds on one record in files: one winner each")


def test_control_looking_before_writing_is_not_enough(tmp_path: Path, tell: Tell) -> None:
    won = race(str(tmp_path), 20, PROCESSES, "look")  # each writes over what others have counted
    found = problem(str(tmp_path), 20, won)
    assert found is not None
    tell(f"racing: control: {found}")
