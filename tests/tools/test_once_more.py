"""What failed runs once more, with the same seed; a suite that failed does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

UNSTEADY = """
from pathlib import Path

def test_unsteady():
    seen = Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""
DRAWN = """
import random
from pathlib import Path

def test_drawn():
    with Path("drawn").open("a") as file:
        print(random.random(), file=file)
    assert False
"""
FAILING = "def test_failing():\n    assert False\n"


def twice(folder: Path, tests: dict[str, str], code: int = 1) -> tuple[int, str]:
    """Run pytest on `tests`, then what is tested here, as if pytest had ended with `code`."""
    for name, source in tests.items():
        path = folder / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    run = [
        subprocess.run(
            [sys.executable, "-m", *what, "-p", "no:schemathesis"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        for what in (["pytest"], ["tools.once_more", str(code)])
    ]
    assert run[0].returncode == 1, run[0].stdout
    return run[1].returncode, run[1].stdout


def test_what_passes_the_second_time_is_named(tmp_path: Path) -> None:
    code, said = twice(tmp_path, {"test_a.py": UNSTEADY})
    assert code == 0
    assert "UNSTEADY" in said
    assert said.endswith("tests/test_a.py::test_unsteady\n")


def test_what_fails_twice_fails_and_draws_the_same(tmp_path: Path) -> None:
    code, said = twice(tmp_path, {"test_a.py": UNSTEADY, "test_b.py": DRAWN})
    assert code == 1
    assert "UNSTEADY" not in said
    first, second = (tmp_path / "drawn").read_text().splitlines()
    assert first == second


@pytest.mark.parametrize(
    "tests",
    [
        {"suites/test_a.py": UNSTEADY},
        {"test_a.py": UNSTEADY, "suites/test_b.py": FAILING},
        {f"test_{number}.py": FAILING for number in range(6)},
    ],
)
def test_a_suite_and_many_tests_are_not_run_again(tmp_path: Path, tests: dict[str, str]) -> None:
    assert twice(tmp_path, tests) == (1, "")


@pytest.mark.parametrize("code", [2, 3, 139])
def test_a_run_that_was_interrupted_stays_failed(tmp_path: Path, code: int) -> None:
    assert twice(tmp_path, {"test_a.py": UNSTEADY}, code) == (code, "")
