"""S3: the published suite, on every engine and at a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.pages import MemoryFiles
from recollect.testing.memory_files_suite import MemoryFilesSuite
from tests.contract.conftest import memory

__all__ = ["memory"]


class TestOverEveryEngine(MemoryFilesSuite):
    @pytest.fixture
    def memory(self, memory: Memory) -> Memory:
        return memory


class TestAtAPath(MemoryFilesSuite):
    @pytest.fixture
    def memory(self, files: MemoryFiles, tmp_path: Path) -> Iterator[Memory]:
        with Memory.open(tmp_path / "root") as memory:
            yield memory

    @pytest.fixture
    def files(self, tmp_path: Path) -> Iterator[MemoryFiles]:
        with MemoryFiles(tmp_path / "root") as files:
            yield files
