"""MCP on the port of a service in front of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Store
from tests.http.test_mcp import (  # noqa: F401 - the same tests
    test_a_token_that_is_revoked_in_the_middle_ends_it,
    test_another_users_memory_is_not_shown,
    test_every_daily_tool_works,
    test_sigterm_ends_with_0_while_a_client_is_connected,
    test_who_may_not_come_in_reaches_no_protocol,
)
from tests.http.test_process import Service, running


@pytest.fixture
def where(url: str) -> str:
    return url


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with Store.open(where, embedder="none") as store:
        store.space("main").remember("The first one.")
        store.space("other").remember("A secret of others.")
        yield store


@pytest.fixture
def service(where: str, store: Store) -> Iterator[Service]:
    with running(where) as service:
        yield service
