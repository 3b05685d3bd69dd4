"""A real server for the tests: one that the environment names, or one that is started here."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from benchmarks.server import started
from recollect.memory import Memory
from recollect.proof.checkpoints import Checkpoint, sign
from recollect.proof.keys import LOG, PrivateKey
from recollect.proof.notes import render
from recollect.store.checkpoints import checkpoints
from recollect.store.entered import EnteredBackend
from recollect.store.postgres.db import Connection, run
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.schema import prepare
from recollect.store.postgres.tokens import PostgresTokens
from recollect.store.seam import REAL

SERVER_VARIABLE = "RECOLLECT_TEST_POSTGRES"


def keep_checkpoint(memory: Memory) -> None:
    """A checkpoint of what is there; nobody here looks at its signature."""
    space = memory._handle.space
    size = space.head().seq
    name = checkpoints.ring_of(space, Path(), REAL).ledger
    note = sign(Checkpoint(name, size, bytes(32)), [PrivateKey(name, LOG, bytes(32))])
    space.checkpoints().keep(size, render(note))
    space.checkpoints().keep_frontier(b"{}")


def keep_keys(database: str, space: str, word: str) -> None:
    """Rows of subjects: a key, and what stays of one that was destroyed."""
    with psycopg.connect(database, autocommit=True) as owner:
        for table, rest in (("subject_keys", "1, '', '', '', ''"), ("destroyed_keys", "'', 0")):
            owner.execute(
                f"INSERT INTO recollect.{table} SELECT id, %s, {rest}"
                " FROM recollect.spaces WHERE name = %s",
                (word, space),
            )
        owner.execute(
            "INSERT INTO recollect.cache_keys SELECT id, '' FROM recollect.spaces WHERE name = %s",
            (space,),
        )


def wait_for_lock(pool: Pool) -> None:
    """Returns once somebody waits for a lock in this database."""
    waits = "SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted"
    ours = f"{waits} AND datname = current_database()"
    end = monotonic() + 30
    with pool.connection() as connection:
        while not connection.execute(ours.encode()).fetchall():
            assert monotonic() < end, "nobody waits"


def make_token(database: str, label: str, *, space: str | None, **given: Any) -> str:
    """A new token, as the owner of the database makes one."""
    pool = Pool(database)
    try:
        return PostgresTokens(pool).create(label, space=space, **given).token
    finally:
        pool.close()


def entered(backend: PostgresBackend, token: str) -> EnteredBackend:
    """The same store for the holder of a token."""
    return backend.entered(token, backend.space)


def drop_space(connection: Connection, name: str) -> None:
    """Drops a space in the transaction of a connection."""
    found = connection.execute("SELECT id FROM recollect.spaces WHERE name = %s", (name,))
    params = {"at": "", "by": "owner", "first": None, "reason": None}
    for (id,) in found.fetchall():
        run(connection, "drop_space", {**params, "space": id})


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server where databases can be made."""
    named = os.environ.get(SERVER_VARIABLE)
    if named:
        yield named
        return
    with started(in_memory=True) as own:
        yield own.get_uri()


def at(server: str, database: str) -> str:
    """The address of another database on the same server."""
    return make_conninfo(server, dbname=database)


def as_address(database: str) -> str:
    """The same database in the form of an address."""
    parts = dict(part.split("=", 1) for part in database.split())
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}"


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """A database that has the schema and nothing else."""
    name = f"template_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        prepare(at(server, name))
        yield name
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def fresh_database(server: str, template: str) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        yield at(server, name)
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The address of a database without spaces."""
    with fresh_database(server, template) as address:
        yield address


@pytest.fixture(scope="module")
def shared_database(server: str, template: str) -> Iterator[str]:
    """One for all tests of a module that look only at spaces of their own. It takes less time."""
    with fresh_database(server, template) as address:
        yield address


@pytest.fixture
def url(database: str) -> str:
    """The same database as an address."""
    return as_address(database)


@pytest.fixture
def pool(database: str) -> Iterator[Pool]:
    """Connections to the same database."""
    pool = Pool(database)
    yield pool
    pool.close()
