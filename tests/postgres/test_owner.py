"""The owner of a database: for longer than a day, and without being a superuser."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.server import started
from recollect.errors import ConfigError, Forbidden
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres import schema
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import run
from recollect.store.postgres.migrate import migrate
from recollect.store.postgres.tokens import PostgresTokens
from recollect.store.tokens import hash_of
from tests.postgres.conftest import at
from tests.postgres.test_limited import tables


def expire(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("UPDATE recollect.tokens SET expires = now() - interval '1 second'")


def test_a_process_of_the_owner_renews_its_token(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = PostgresBackend(database)
    try:
        memory = Memory(Handle(backend.space("alice", create=True)))
        memory.remember("a plain fact")
        expire(database)
        with pytest.raises(
            Forbidden, match="expired"
        ):  # the control: by this clock it is not due yet
            memory.list()
        monkeypatch.setattr(schema, "SESSION_S", 0)  # from now on it always is
        monkeypatch.setattr(schema, "renew_session_token", renewed)
        assert memory.recall("fact").hits
        memory.remember("more")
        assert [record.text for record in memory.list()] == ["more", "a plain fact"]
        assert backend.spaces() == ["alice"]
    finally:
        backend.close()
    assert PostgresTokens(database).list() == []


def renewed(url: str, token: str) -> None:
    """For a minute, as the real one does for a day."""
    with schema.owner(url) as connection:
        run(connection, "put_session_token", {"hash": hash_of(token), "seconds": 60})


def test_a_token_of_the_owner_that_was_revoked_stays_revoked(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = PostgresBackend(database)
    try:
        memory = Memory(Handle(backend.space("alice", create=True)))
        memory.remember("a plain fact")
        assert PostgresTokens(database).revoke("session") == 1
        monkeypatch.setattr(schema, "SESSION_S", 0)
        monkeypatch.setattr(schema, "renew_session_token", renewed)
        with pytest.raises(Forbidden, match="revoked"):
            memory.list()
    finally:
        backend.close()


@pytest.fixture(scope="module")
def managed() -> Iterator[str]:
    """A server as one is rented: logins and databases are there, and no superuser afterwards."""
    with started(in_memory=True) as server:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as superuser:
            superuser.execute("CREATE ROLE owner LOGIN CREATEROLE")
            superuser.execute("CREATE ROLE other LOGIN")
            superuser.execute("CREATE ROLE service LOGIN")
            for name, owner in (("one", "owner"), ("two", "owner"), ("three", "other")):
                superuser.execute(f"CREATE DATABASE {name} OWNER {owner}")
        yield url


def login(managed: str, user: str, database: str) -> str:
    return psycopg.conninfo.make_conninfo(at(managed, database), user=user)


def uses(url: str, token: str | None = None) -> None:
    backend = PostgresBackend(url, token=token)
    try:
        memory = Memory(Handle(backend.space("alice", create=token is None))).scoped(origin="agent")
        memory.remember("the seat is by the window", key="seat")
        assert memory.recall("window").hits
        assert memory.list()
        assert memory.verify().ok
    finally:
        backend.close()


def test_owners_and_services_need_no_superuser(managed: str) -> None:
    uses(login(managed, "owner", "one"))
    uses(login(managed, "owner", "two"))  # where the role is there already
    assert migrate(login(managed, "owner", "two")).after == schema.REVISION
    token = PostgresTokens(login(managed, "owner", "one")).create("service", space="alice").token

    service = login(managed, "service", "one")
    with pytest.raises(Forbidden, match="'service' may not act as the role") as refusal:
        uses(service, token)
    assert 'GRANT recollect_app TO "service"' in str(refusal.value.hint)
    with psycopg.connect(login(managed, "owner", "one"), autocommit=True) as owner:
        owner.execute("GRANT recollect_app TO service")
    uses(service, token)
    with pytest.raises((Forbidden, ConfigError)):
        uses(service)  # a login that owns nothing gets no token

    other = login(managed, "other", "three")
    with pytest.raises(Forbidden, match="'other' may not act as the role") as refusal:
        uses(other)
    assert 'GRANT recollect_app TO "other"' in str(refusal.value.hint)
    with psycopg.connect(login(managed, "owner", "one"), autocommit=True) as owner:
        owner.execute("GRANT recollect_app TO other")
    uses(other)


def test_an_owner_without_a_superuser_drops_a_space(managed: str) -> None:
    """Row-level security holds for this owner too: what it hides would silently stay."""
    backend = PostgresBackend(login(managed, "owner", "one"))
    for name in ("leaves", "stays"):
        Memory(Handle(backend.space(name, create=True))).remember(f"{name} with words")
    before = backend.space("stays", create=False).digest()
    with psycopg.connect(at(managed, "one")) as superuser:
        row = superuser.execute("SELECT id FROM recollect.spaces WHERE name = 'leaves'")
        space = row.fetchall()[0][0]
    assert backend.drop("leaves", None).dropped is not None
    assert "leaves" not in backend.spaces()
    assert backend.space("stays", create=False).digest() == before
    backend.close()
    with psycopg.connect(at(managed, "one")) as superuser:
        for table in tables(at(managed, "one")):
            left = superuser.execute(f"SELECT 1 FROM recollect.{table} WHERE space = {space}")
            assert left.fetchall() == [], table
