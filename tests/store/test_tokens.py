"""Tokens of files and of memory, each through the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import load
from recollect.memory import Store
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.testing.admins_suite import AdminsSuite
from recollect.testing.tokens_suite import EnteredSuite, TokensSuite


class TestFiles(TokensSuite, EnteredSuite, AdminsSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        backend = FileBackend(tmp_path / "workspace")
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend, tmp_path: Path) -> Store:
        return Store(backend, load(tmp_path / "workspace", embedder="none"))

    def test_an_entered_store_opens_again_what_the_other_closed(self, store: Store) -> None:
        mine = store.entered(store.tokens.create("a", space="alice").token)
        mine.space("alice").list()
        store.space("alice").close()
        assert mine.space("alice").list() == []


class TestMemory(TokensSuite, EnteredSuite, AdminsSuite):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        backend = MemoryBackend()
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend) -> Store:
        return Store(backend, load(":memory:", embedder="none"))
