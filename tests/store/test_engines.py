"""The engines, each through the one suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.testing.shared_suite import SharedSuite
from recollect.testing.store_suite import StoreSuite


class TestFiles(StoreSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        backend = FileBackend(tmp_path / "workspace")
        yield backend
        backend.close()


class TestSharedFiles(SharedSuite):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], Backend]]:
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(FileBackend(tmp_path / "workspace")))


class TestMemory(StoreSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()
