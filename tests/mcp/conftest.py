"""A project and a home for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp.talking import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Folder(project=tmp_path / "home" / "project", home=tmp_path / "home")
