"""The client through the published suites, in front of a PostgreSQL server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import cast

import pytest

from recollect import Memory, Store
from recollect.client import Store as Remote
from recollect.store.tokens.grants import VERBS
from tests.http.serving import served
from tests.memory_suites.daily import MemorySuite
from tests.memory_suites.recall.context import ContextSuite
from tests.memory_suites.trust.trust import TrustSuite
from tests.postgres.conftest import as_address


@pytest.fixture(scope="module")
def behind(shared_database: str) -> Iterator[Store]:
    with Store.open(as_address(shared_database)) as store:
        yield store


@pytest.fixture(scope="module")
def remote(behind: Store) -> Iterator[Remote]:
    token = behind.tokens.create("t", space=None, verbs=VERBS, trust="person").token
    with served(behind) as port, Remote.open(f"http://127.0.0.1:{port}", token=token) as remote:
        yield remote


@pytest.mark.nightly
class TestServer(MemorySuite, TrustSuite, ContextSuite):
    """The service runs in a thread of this process; on files it is a process of its own."""

    @pytest.fixture
    def memory(self, remote: Remote) -> Memory:
        return cast(Memory, remote.space(f"s{uuid.uuid4().hex}"))

    @pytest.fixture
    def engine(self, memory: Memory, behind: Store) -> Memory:
        return behind.space(memory.scope.space)

    @pytest.mark.nightly
    def test_recall_takes_any_question(self, memory: Memory) -> None:
        """More than 1,000 questions, each a request."""
        super().test_recall_takes_any_question(memory)
