"""The engines, each through the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.testing.store_suite import StoreSuite


class TestFiles(StoreSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        backend = FileBackend(tmp_path / "workspace")
        yield backend
        backend.close()


class TestMemory(StoreSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()
