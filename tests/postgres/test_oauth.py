"""Assistants are let in by a person, on a service in front of a PostgreSQL server."""

from __future__ import annotations

import pytest

from tests.oauth.test_client import (  # noqa: F401 - the same test, with the same fixtures
    service,
    store,
    test_the_sdks_client_gets_in_and_is_refused_after_revocation,
)


@pytest.fixture
def where(url: str) -> str:
    return url
