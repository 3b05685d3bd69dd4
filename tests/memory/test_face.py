"""The public face on each engine, through the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing.context_suite import ContextSuite
from recollect.testing.memory_suite import MemorySuite
from recollect.testing.trust_suite import TrustSuite


class TestFiles(MemorySuite, TrustSuite, ContextSuite):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with Memory.open(tmp_path / "workspace") as memory:
            yield memory


class TestMemory(MemorySuite, TrustSuite, ContextSuite):
    @pytest.fixture
    def memory(self) -> Iterator[Memory]:
        with Memory.open(":memory:") as memory:
            yield memory
