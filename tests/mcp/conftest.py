"""A project and a home for each test, and a way to tell a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mcp.talking import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Folder(project=tmp_path / "home" / "project", home=tmp_path / "home")


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201 - the figure that a run reports

    return say
