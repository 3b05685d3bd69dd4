"""The awaited face on each engine, through the same suites as the plain one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing.memory_suite import MemorySuite
from recollect.testing.trust_suite import TrustSuite
from tests.aio.bridge import awaited


class TestFiles(MemorySuite, TrustSuite):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with awaited(str(tmp_path / "workspace")) as memory:
            yield memory


class TestMemory(MemorySuite, TrustSuite):
    @pytest.fixture
    def memory(self) -> Iterator[Memory]:
        with awaited(":memory:") as memory:
            yield memory
