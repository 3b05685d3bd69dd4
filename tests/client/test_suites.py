"""The client through the suites that every memory passes, against a real ``recollect serve``."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from recollect import Memory, Store
from recollect.client import Store as Remote
from recollect.testing.context_suite import ContextSuite
from recollect.testing.memory_suite import MemorySuite
from recollect.testing.trust_suite import TrustSuite
from tests.http.test_process import Service, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served") / "w"
    with Memory.open(place) as memory:
        memory.remember("The first one.")
    return place


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with running(folder) as service:
        yield service


@pytest.fixture(scope="module")
def remote(service: Service) -> Iterator[Remote]:
    with Remote.open(service.url, token=service.token) as remote:
        yield remote


@pytest.fixture(scope="module")
def behind(folder: Path) -> Iterator[Store]:
    with Store.open(folder) as store:
        yield store


class TestFiles(MemorySuite, TrustSuite, ContextSuite):
    """``engine`` is a second process on the same folder: what only an engine can do, it does."""

    @pytest.fixture
    def memory(self, remote: Remote) -> Memory:
        memory = remote.space(f"s{uuid.uuid4().hex}")
        return cast(Memory, memory)

    @pytest.fixture
    def engine(self, memory: Memory, behind: Store) -> Memory:
        return behind.space(memory.name)

    @pytest.mark.slow
    def test_recall_takes_any_question(self, memory: Memory) -> None:
        """More than 1,000 questions, each a request."""
        super().test_recall_takes_any_question(memory)
