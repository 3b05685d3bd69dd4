"""A service without rights: it enters the store with each caller's token, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.config import load
from recollect.memory import Store
from recollect.store.postgres.backend import PostgresBackend
from tests.postgres.conftest import as_address
from tests.suites.conftest import Tell, tell
from tests.suites.test_token_probes import probed, report

__all__ = ["tell"]  # a fixture of the other suites


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """The store of the database's owner."""
    with Store(PostgresBackend(database), load(as_address(database), embedder="none")) as store:
        yield store


def test_strangers_learn_nothing(store: Store, tell: Tell) -> None:
    report(probed(store, 1_000), "PostgreSQL", 1_000, tell)
