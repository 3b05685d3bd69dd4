"""The engines, each through the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.files import FileBackend
from recollect.store.memory import MemoryBackend
from recollect.store.port import Backend, Space
from recollect.testing.store_suite import StoreSuite


class TestFiles(StoreSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return FileBackend(tmp_path / "workspace")

    @pytest.fixture
    def space(self, backend: Backend) -> Iterator[Space]:
        space = backend.space("main", create=True)
        yield space
        space.close()


class TestMemory(StoreSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()
