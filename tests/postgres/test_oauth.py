"""Assistants are let in by a person, on a service in front of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Store
from tests.http.test_process import Service, running
from tests.oauth.test_client import (  # noqa: F401 - the same test
    OPTIONS,
    test_the_sdks_client_gets_in_and_is_refused_after_revocation,
)


@pytest.fixture
def where(url: str) -> str:
    return url


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with Store.open(where, embedder="none") as store:
        store.space("main").remember("Tea is at four.")
        yield store


@pytest.fixture
def service(where: str, store: Store) -> Iterator[Service]:
    with running(where, *OPTIONS) as service:
        yield service
