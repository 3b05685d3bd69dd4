"""Memories of every engine for the integrations: files, memory, and one database for them all."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from recollect import Memory, Store
from tests.postgres.conftest import as_address, at, server, template

__all__ = ["server", "template"]


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database that the tests of a module share, a space for each."""
    server, template = (request.getfixturevalue(name) for name in ("server", "template"))
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        yield as_address(at(server, name))
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def connected(request: pytest.FixtureRequest) -> Iterator[Store]:
    """That database as an open store: connecting anew takes longer than most tests."""
    with Store.open(request.getfixturevalue("shared")) as store:
        yield store


@contextmanager
def opened(request: pytest.FixtureRequest, folder: Path) -> Iterator[Memory]:
    """A memory, empty, on the engine that a fixture's parameter names."""
    if request.param == "postgres":
        store: Store = request.getfixturevalue("connected")
        with store.space(uuid.uuid4().hex) as memory:
            yield memory
        return
    place = ":memory:" if request.param == "memory" else folder / "workspace"
    with Memory.open(place, space=uuid.uuid4().hex) as memory:
        yield memory


@pytest.fixture(params=["files", "postgres", pytest.param("memory", marks=pytest.mark.nightly)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory, empty, on each engine."""
    with opened(request, tmp_path) as memory:
        yield memory
