"""A service without rights: it enters the store with each caller's token, and nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect.config import load
from recollect.errors import Forbidden, RecollectError
from recollect.memory import Store
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.tokens import hash_of
from tests.postgres.conftest import as_address
from tests.postgres.test_isolation import raw
from tests.suites.conftest import Tell, tell
from tests.suites.test_token_probes import probed, report

__all__ = ["tell"]  # a fixture of the other suites


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """The store of the database's owner."""
    with Store(PostgresBackend(database), load(as_address(database), embedder="none")) as store:
        yield store


@pytest.fixture
def service(server: str, database: str, store: Store) -> Iterator[Store]:
    """A store of a login that may do nothing but act as the service's role."""
    name = f"service_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f'CREATE ROLE "{name}" LOGIN')
        owner.execute(f'GRANT recollect_app TO "{name}" WITH SET TRUE, INHERIT FALSE')
    address = make_conninfo(database, user=name)
    settings = load(as_address(database), embedder="none")
    with Store(PostgresBackend(address), settings) as service:
        yield service
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute(f'DROP ROLE "{name}"')


def test_strangers_learn_nothing(store: Store, tell: Tell) -> None:
    report(probed(store, 1_000), "PostgreSQL", 1_000, tell)


def test_a_service_has_the_rights_of_its_callers_and_none_of_its_own(
    store: Store, service: Store
) -> None:
    for call in (
        service.spaces,
        lambda: service.space("alice").list(),
        service.tokens.list,
        lambda: service.tokens.create("x", space="alice"),
    ):
        with pytest.raises(Forbidden):
            call()
    verbs = ["read", "write", "create", "admin"]
    admin = store.tokens.create("admin", space=None, verbs=verbs, origin="person").token
    operator = service.entered(admin)
    made = operator.tokens.create("ann's", space="alice", user="ann")
    assert service.entered(made.token).space("alice").remember("One.").scope.user == "ann"
    new = operator.tokens.rotate("ann's")
    assert service.entered(new.token).spaces() == ["alice"]
    assert operator.tokens.revoke("ann's") == 2
    with pytest.raises(Forbidden, match="revoked"):
        service.entered(new.token).spaces()
    with pytest.raises(RecollectError, match="login"):
        operator.tokens.create("x", space="alice", login="postgres")


ATTACKS = (
    "SELECT * FROM recollect.shown_tokens",
    "SELECT recollect.admin_of(%(token)s)",
    "SELECT * FROM recollect.tokens_for('rct_')",
    "SELECT * FROM recollect.tokens_for(%(token)s)",
    "SELECT * FROM recollect.create_token(%(token)s, %(hash)s, 'x', 'alice', '{read}', 'agent',"
    " NULL, NULL, NULL)",
    "SELECT recollect.rotate_token(%(token)s, 1, %(hash)s, 0)",
    "SELECT recollect.revoke_tokens(%(token)s, '{1,2,3}')",
)
ESCALATIONS = (
    ("'alice'", "'{read,write,erase}'", "'person'"),
    ("'alice'", "'{write}'", "'person'"),  # a token that does not read
    ("NULL", "'{read}'", "'person'"),
    ("'alice'", "'{read,admin}'", "'agent'"),
    ("'bob'", "'{read}'", "'agent'"),
    ("'nobody'", "'{read}'", "'agent'"),
)


def refused(connection: psycopg.Connection[object], statement: str, token: str) -> bool:
    try:
        params = {"token": token, "hash": hash_of(statement)}
        connection.execute(statement.encode(), params)
    except psycopg.errors.InsufficientPrivilege:
        return True
    except psycopg.errors.NoDataFound:
        return True
    return False


def test_sql_of_a_callers_own_gets_no_further(store: Store, database: str) -> None:
    store.tokens.create("bob's", space="bob")
    plain = store.tokens.create("w", space="alice", origin="person").token
    verbs = ["read", "write", "admin"]
    admin = store.tokens.create("a", space="alice", verbs=verbs, origin="person").token
    with raw(database) as connection:
        for attack in ATTACKS:
            assert refused(connection, attack, plain), attack
        for space, may, origin in ESCALATIONS:
            statement = (
                f"SELECT * FROM recollect.create_token(%(token)s, %(hash)s, 'x', {space}, {may}, "
                f"{origin}, NULL, NULL, NULL)"
            )
            assert refused(connection, statement, admin), statement
    assert {token.label for token in store.tokens.list()} - {"session"} == {"bob's", "w", "a"}


def test_control_without_the_look_at_the_verb_any_token_is_an_admin(
    store: Store, database: str
) -> None:
    plain = store.tokens.create("w", space="alice", origin="person").token
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute("SELECT pg_get_functiondef('recollect.admin_of'::regproc)").fetchone()
        text = str(found[0] if found else "").replace("'admin' = ANY (t.verbs)", "true")
        owner.execute(text.encode())
    with raw(database) as connection:
        assert not refused(connection, ATTACKS[3], plain)
        assert not refused(connection, ATTACKS[4], plain)


def approve(store: Store, verbs: list[str]) -> None:
    held = store.space("alice").scoped(origin="unverified").remember(f"Held for {verbs}.")
    token = store.tokens.create("p", space="alice", verbs=verbs, origin="person").token
    memory = store.entered(token).space("alice")
    memory.review.approve(held.id, memory.review.show(held.id).digest)


def test_the_server_refuses_a_review_that_a_dishonest_client_would_write(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.grants.Grant.check", lambda self, command: None)
    with pytest.raises(RecollectError):
        approve(store, ["read", "write"])
    approve(store, ["read", "write", "review"])  # the control
    assert len(store.space("alice").list()) == 1
