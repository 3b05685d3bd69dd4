"""The client through the suites that every memory passes, against a real ``recollect serve``."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from recollect import Memory, Store
from recollect.client import Store as Remote
from tests.http.test_process import Service, running
from tests.memory_suites.daily import MemorySuite
from tests.memory_suites.history.branches import BranchSuite
from tests.memory_suites.history.events import EventsSuite
from tests.memory_suites.recall.context import ContextSuite
from tests.memory_suites.records.writes import WritesSuite
from tests.memory_suites.review.review import ReviewSuite
from tests.memory_suites.trust.trust import TrustSuite


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


# Tests of the suites that hold for an engine alone.
DIFFERS = {
    "test_the_key_of_a_repeated_call_is_told": "a client makes a key for each write",
    "test_a_key_belongs_to_an_addition": "a number beyond 63 bits is refused, not lowered",
    "test_other_writes_are_refused_on_a_branch": "it submits to the engine's own port",
    "test_a_branch_has_room_for_so_many_changes": "it lowers a limit of its own process",
    "test_a_branch_is_opened_listed_and_shown": "a 404 of the service has one wording",
    "test_settling_names_changes_of_the_branch_once": "the service refuses with its own words",
}


NEEDS_RULE = (
    "test_a_rule_does_not_vouch",
    "test_no_agent_changes_what_a_person_vouched_for[rule]",
)


class Served:
    """``engine`` is a second process on the same folder: what only an engine can do, it does."""

    @pytest.fixture
    def memory(self, remote: Remote) -> Memory:
        memory = remote.space(f"s{uuid.uuid4().hex}")
        return cast(Memory, memory)

    @pytest.fixture
    def engine(self, memory: Memory, behind: Store) -> Memory:
        return behind.space(memory.scope.space)


class TestFiles(Served, MemorySuite, TrustSuite, ContextSuite):
    """The daily calls."""

    @pytest.fixture(autouse=True)
    def _needs_no_rule(self, request: pytest.FixtureRequest) -> None:
        """Skips what runs a rule, which is done where the store is."""
        if request.node.name in NEEDS_RULE:
            pytest.skip("a service has no operation for consolidate")

    @pytest.mark.nightly
    def test_recall_takes_any_question(self, memory: Memory) -> None:
        """More than 1,000 questions, each a request."""
        super().test_recall_takes_any_question(memory)


@pytest.mark.nightly
class TestFurther(Served, EventsSuite, ReviewSuite, WritesSuite, BranchSuite):
    """Events, reviews, branches, and keys and expectations of every write."""

    @pytest.fixture(autouse=True)
    def _may_differ(self, request: pytest.FixtureRequest) -> None:
        """Skips what cannot be the same for a client, and says why."""
        why = DIFFERS.get(request.node.originalname)
        if why is not None:
            pytest.skip(why)
