"""The async API on each engine, through the same suites as the plain one.

It is generated: ``test_same_api.py`` compares its text in every run, so this is for the night.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from tests.aio.bridge import async_memory
from tests.memory_suites.daily import MemorySuite
from tests.memory_suites.review.beliefs import BeliefsSuite
from tests.memory_suites.review.proposer import ProposerSuite
from tests.memory_suites.trust.trust import TrustSuite

pytestmark = pytest.mark.nightly


class TestFiles(MemorySuite, TrustSuite, ProposerSuite, BeliefsSuite):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with async_memory(str(tmp_path / "workspace")) as memory:
            yield memory


class TestMemory(MemorySuite, TrustSuite):
    @pytest.fixture
    def memory(self) -> Iterator[Memory]:
        with async_memory(":memory:") as memory:
            yield memory
