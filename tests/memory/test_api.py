"""The public API on each engine, through the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from tests.memory_suites.daily import MemorySuite
from tests.memory_suites.history.branches import BranchSuite
from tests.memory_suites.history.events import EventsSuite
from tests.memory_suites.history.sessions import SessionsSuite
from tests.memory_suites.pages.documents import DocumentsSuite
from tests.memory_suites.recall.context import ContextSuite
from tests.memory_suites.records.writes import WritesSuite
from tests.memory_suites.review.beliefs import BeliefsSuite
from tests.memory_suites.review.policy import PolicySuite
from tests.memory_suites.review.proposer import ProposerSuite
from tests.memory_suites.review.retract import RetractSuite
from tests.memory_suites.review.review import ReviewSuite
from tests.memory_suites.review.settle import SettleSuite
from tests.memory_suites.trust.trust import TrustSuite


class TestFiles(
    MemorySuite,
    TrustSuite,
    ContextSuite,
    EventsSuite,
    DocumentsSuite,
    SessionsSuite,
    ReviewSuite,
    BranchSuite,
    SettleSuite,
    RetractSuite,
    PolicySuite,
    ProposerSuite,
    BeliefsSuite,
    WritesSuite,
):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with Memory.open(tmp_path / "workspace") as memory:
            yield memory


@pytest.mark.nightly
class TestMemory(
    MemorySuite,
    TrustSuite,
    ContextSuite,
    EventsSuite,
    DocumentsSuite,
    SessionsSuite,
    ReviewSuite,
    BranchSuite,
    SettleSuite,
    RetractSuite,
    PolicySuite,
    ProposerSuite,
    BeliefsSuite,
    WritesSuite,
):
    @pytest.fixture
    def memory(self) -> Iterator[Memory]:
        with Memory.open(":memory:") as memory:
            yield memory


def test_a_handle_says_with_which_trust_it_writes() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        agent = memory.scoped(trust="agent")
        assert (memory.scope.trust, agent.scope.trust) == ("person", "agent")
        assert (agent.remember("Tea is served").trust, agent.scoped(user="ann").scope.trust) == (
            "agent",
            "agent",
        )
