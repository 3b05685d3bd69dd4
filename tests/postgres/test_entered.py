"""A store on a server as it is entered with the token of each caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from time import monotonic

import pytest

from recollect.config import load
from recollect.errors import Forbidden, NotFound
from recollect.memory import Memory, Store
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.tokens import PostgresTokens
from tests.postgres.conftest import as_address, entered, make_token
from tests.suites.conftest import Tell, tell
from tests.suites.test_token_probes import probed, report

__all__ = ["tell"]  # a fixture of the other suites


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store(PostgresBackend(database), load(as_address(database), embedder="none")) as store:
        yield store


def test_strangers_learn_nothing(store: Store, tell: Tell) -> None:
    report(probed(store, 1_000), "PostgreSQL", 1_000, tell)


def test_a_token_of_the_environment_limits_the_process(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address alone would open everything."""
    for user in ("ann", "ben"):
        with Memory.open(url, space="team", embedder="none") as owner:
            owner.scoped(user=user).remember(f"{user} keeps the spare key.")
    with Memory.open(url, space="other", embedder="none") as other:
        other.remember("A key of others.")
    assert len(texts(url)) == 2  # the control
    monkeypatch.setenv("RECOLLECT_TOKEN", make_token(url, "ann", space="team", user="ann"))
    assert texts(url) == ["ann keeps the spare key."]
    with Store.open(url, embedder="none") as store:
        assert store.spaces() == ["team"]
        with pytest.raises(Forbidden, match="may not erase"):
            store.space("team").erase(store.space("team").list()[0].id)
        with pytest.raises((Forbidden, NotFound)):
            store.space("other").list()
        with pytest.raises(Forbidden):
            store.drop("team")
        with pytest.raises(Forbidden):
            store.tokens.create("more", space="team")


def texts(url: str) -> list[str]:
    with Memory.open(url, space="team", embedder="none") as memory:
        return [record.text for record in memory.list()]


def test_a_stranger_makes_a_process_fold_nothing(database: str, url: str, pool: Pool) -> None:
    """What takes long for a space that is there, and not for another, would tell which are."""
    with Memory.open(url, space="alice", embedder="none") as owner:
        owner.remember("Tea is at four.")
    bobs = make_token(database, "bob", space="bob")
    revoked = make_token(database, "gone", space="alice")
    PostgresTokens(pool).revoke("gone")
    with closing(PostgresBackend(database)) as backend:
        space = backend.space("alice", create=False)
        for token in ("rct_unknown", bobs, revoked):
            with pytest.raises((Forbidden, NotFound)):
                entered(backend, token).space("alice", create=False).head()
            assert space.index is None
        live = make_token(database, "alice", space="alice")
        assert entered(backend, live).space("alice", create=False).head().seq == 2
        assert space.index is not None  # the control
        for token in ("rct_unknown", bobs, revoked):
            with pytest.raises((Forbidden, NotFound)):
                entered(backend, token).space("alice", create=False).head()
            assert space.index is not None  # nor does one throw away what others use


def test_a_memory_that_was_entered_closes_its_connections(
    url: str, monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    with Memory.open(url, space="team", embedder="none") as owner:
        owner.remember("Tea is at four.")
    monkeypatch.setenv("RECOLLECT_TOKEN", make_token(url, "t", space="team"))
    with Memory.open(url, space="team", embedder="none") as memory:
        memory.list()
        wait_for_others(pool, 1)
    wait_for_others(pool, 0)


def wait_for_others(pool: Pool, count: int) -> None:
    """Returns once so many other connections to this database are open."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    end = monotonic() + 30
    with pool.connection() as connection:
        while connection.execute(asked).fetchall() != [(count,)]:
            assert monotonic() < end, "others stay"
