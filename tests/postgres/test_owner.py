"""The owner of a database is no superuser, and a login that owns nothing gets nothing."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.server import started
from recollect import Store
from recollect.errors import ConfigError, Forbidden
from tests.postgres.conftest import as_address, at
from tests.postgres.test_command import recollect


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
    return as_address(psycopg.conninfo.make_conninfo(at(managed, database), user=user))


def uses(url: str) -> None:
    with Store.open(url, embedder="none") as store:
        memory = store.space("alice").scoped(trust="agent")
        memory.remember("the seat is by the window", key="seat")
        assert memory.recall("window").hits
        assert memory.list()
        assert memory.admin.verify(deep=True).ok


def test_owners_need_no_superuser(managed: str) -> None:
    for user, database in (("owner", "one"), ("owner", "two"), ("other", "three")):
        uses(login(managed, user, database))
        assert recollect(login(managed, user, database), "admin", "migrate")[0] == 0


def test_a_login_that_owns_nothing_gets_nothing(managed: str) -> None:
    uses(login(managed, "owner", "one"))
    for user in ("service", "other"):
        with pytest.raises((Forbidden, ConfigError)):
            uses(login(managed, user, "one"))
    uses(login(managed, "owner", "one"))  # the control


def test_an_owner_without_a_superuser_drops_a_space(managed: str) -> None:
    with Store.open(login(managed, "owner", "two"), embedder="none") as store:
        for name in ("leaves", "stays"):
            store.space(name).remember(f"{name} with words")
        before = store.space("stays").admin.digest()
        assert store.drop("leaves").dropped is not None
        assert "leaves" not in store.spaces()
        assert store.space("stays").admin.digest() == before
