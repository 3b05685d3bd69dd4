"""What comes from another store follows the rules of a write: files and memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Store
from tests.memory.arriving import Arriving


class TestFiles(Arriving):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "store") as store:
            yield store


class TestMemory(Arriving):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        with Store.open(":memory:") as store:
            yield store
