"""A memory of its own for each test; each file says what is in its ``store``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Memory, Store
from tests.web.visiting import Visitor, served


@pytest.fixture
def memory(store: Store) -> Memory:
    return store.space("demo")


@pytest.fixture
def visitor(store: Store) -> Iterator[Visitor]:
    with served(store) as inspector:
        yield inspector.enter()
