"""Memories of every engine for the integrations: files, memory, and one database for them all."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recollect import Memory
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


@pytest.fixture(params=["files", "postgres", pytest.param("memory", marks=pytest.mark.nightly)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory, empty, on each engine."""
    if request.param == "postgres":
        place: str | Path = request.getfixturevalue("shared")
    else:
        place = ":memory:" if request.param == "memory" else tmp_path / "workspace"
    with Memory.open(place, space=uuid.uuid4().hex) as memory:
        yield memory
