"""On a system without ``fcntl``, such as Windows, one line says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAID = "Recollect does not support Windows yet; use WSL"
WITHOUT = "import sys; sys.modules['fcntl'] = None\n"
PROGRAM = "from recollect.__main__ import main; sys.exit(main())"


def run(code: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env={"HOME": str(cwd), "PATH": "/usr/bin:/bin"},
        input='{"hook_event_name": "UserPromptSubmit", "prompt": "which port has staging?"}',
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "words", [["remember", "x"], ["recall", "x"], ["init"], ["--help"], ["mcp"], ["demo"]]
)
def test_every_verb_says_so(tmp_path: Path, words: list[str]) -> None:
    done = run(WITHOUT + PROGRAM, *words, cwd=tmp_path)
    assert done.returncode == 6
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first == f"recollect: {SAID}"
    assert "wsl --install" in second
    assert list(tmp_path.iterdir()) == []


def test_a_program_gets_it_as_json(tmp_path: Path) -> None:
    done = run(WITHOUT + PROGRAM, "recall", "x", "--json", cwd=tmp_path)
    assert f'"message":"{SAID}"' in done.stderr
    assert '"code":"unsupported"' in done.stderr


def test_python_says_so_too(tmp_path: Path) -> None:
    done = run(f"{WITHOUT}from recollect import Memory; Memory.open('m')", cwd=tmp_path)
    assert SAID in done.stderr.splitlines()[-1]


def test_with_fcntl_the_same_program_works(tmp_path: Path) -> None:
    done = run(f"import sys\n{PROGRAM}", "remember", "x", "--json", cwd=tmp_path)
    assert done.returncode == 0


@pytest.mark.parametrize("verb", ["context", "capture"])
def test_a_hook_on_windows_answers_nothing_and_does_not_fail(tmp_path: Path, verb: str) -> None:
    code = (
        "import sys, os; from recollect.interfaces.cli.assistants import hook; os.name = 'nt'\n"
        f"sys.exit(hook.run({verb!r}, [{verb!r}, '--hook']))"
    )
    done = run(code, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
