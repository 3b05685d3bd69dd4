"""One fixture: a shell in an empty folder, with an empty home."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.config import STORE_VARIABLE
from recollect.interfaces.cli import main
from tests.cli.running import Ran, Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    """Runs in this process unless a test asks for more."""
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv(STORE_VARIABLE, raising=False)

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(words)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return Shell(folder, home, run)


@pytest.fixture
def store(shell: Shell) -> Shell:
    """The same, with a memory in the folder."""
    assert shell.run("init").code == 0
    return shell
