"""A memory with a little of everything, and an inspector in front of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Memory, Store
from recollect.interfaces.web.demo import told
from tests.web.visiting import Served, Visitor, served


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with told() as store:
        yield store


@pytest.fixture(scope="module")
def memory(store: Store) -> Memory:
    return store.space("demo")


@pytest.fixture(scope="module")
def inspector(store: Store) -> Iterator[Served]:
    with served(store) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(inspector: Served) -> Visitor:
    return inspector.enter()
