"""The public API on each engine, through the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.testing.beliefs_suite import BeliefsSuite
from recollect.testing.branch_suite import BranchSuite
from recollect.testing.context_suite import ContextSuite
from recollect.testing.documents_suite import DocumentsSuite
from recollect.testing.events_suite import EventsSuite
from recollect.testing.memory_suite import MemorySuite
from recollect.testing.policy_suite import PolicySuite
from recollect.testing.proposer_suite import ProposerSuite
from recollect.testing.retract_suite import RetractSuite
from recollect.testing.review_suite import ReviewSuite
from recollect.testing.sessions_suite import SessionsSuite
from recollect.testing.settle_suite import SettleSuite
from recollect.testing.trust_suite import TrustSuite
from recollect.testing.writes_suite import WritesSuite


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
        agent = memory.scoped(origin="agent")
        assert (memory.trust, agent.trust) == ("person", "agent")
        assert (agent.remember("Tea is served").trust, agent.scoped(user="ann").trust) == (
            "agent",
            "agent",
        )
