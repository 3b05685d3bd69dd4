"""The table of kinds that the server reads, and a client on a server that is one revision ahead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from recollect.errors import ConfigError, Unsupported
from recollect.index.owners import owner_of
from recollect.index.statements import INDEX_VERSION
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.model.events import KINDS
from recollect.store.postgres import schema
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.migrate import migrate
from recollect.store.postgres.tokens import make_token
from tests.postgres.test_isolation import raw
from tests.postgres.test_shadow import line

AGENT: Final = "agent"
PERSON: Final = "person"
NEW = "review.decided"
ROW = "INSERT INTO recollect.kinds VALUES ('{}', '{}', {}, '{}', 'write', NULL)"
REVISION = '''
"""A kind of event that this release does not know."""

from recollect.store.postgres.migrate import execute

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
    execute(b"""{script}""")
'''


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """The owner's handle of bob's space, for which an agent and a person have a token."""
    backend = PostgresBackend(database)
    memory = Memory(Handle(backend.space("bob", create=True)))
    memory.remember("The seat is by the window.")
    for token in (AGENT, PERSON):
        make_token(
            database,
            token,
            label=token,
            space="bob",
            verbs=("read", "write", "erase"),
            origin=token,
        )
    yield memory
    backend.close()


def as_owner(database: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute(statement)
        return found.fetchall() if found.description else []


def append(database: str, token: str, *, move: bool = False, **parts: str) -> None:
    """Appends one event with SQL of the caller's own, as the service's role."""
    with raw(database) as connection:
        connection.execute("BEGIN")
        lines = [line(connection, token, **parts)]
        if move:  # as a client does that knows the kind: the index stands at the event
            connection.execute("SELECT recollect.append_and_move(%b, 0, 0)", (lines,))
        else:
            connection.execute("SELECT recollect.append(%b)", (lines,))
        connection.execute("COMMIT")


# The table.


def test_the_table_has_a_row_for_every_kind_that_the_model_has(database: str) -> None:
    rows = as_owner(database, "SELECT name, carries_trust, since FROM recollect.kinds")
    assert {str(name): trust for name, trust, _ in rows} == {
        kind: "trust" in body.__struct_fields__ for kind, body in KINDS.items()
    }
    assert all(str(since) in schema.REVISIONS for *_, since in rows)


def test_only_what_is_about_a_users_memory_may_be_encrypted(database: str) -> None:
    """As ``owner_of`` says; the store's own events must be readable without a key."""
    rows = as_owner(database, "SELECT name FROM recollect.kinds WHERE encrypts")
    owned = inspect.getsource(owner_of)
    named = {kind for kind, body in KINDS.items() if f"e.{body.__name__}()" in owned}
    assert {str(name) for (name,) in rows} == named


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name FROM recollect.kinds",
        "UPDATE recollect.kinds SET needs = 'unverified'",
        "DELETE FROM recollect.kinds",
        ROW.format(NEW, "0001", "false", "unverified"),
        "TRUNCATE recollect.kinds",
    ],
)
def test_the_role_of_the_service_does_not_touch_the_table(
    memory: Memory, database: str, statement: str
) -> None:
    with raw(database) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)
    as_owner(database, statement)  # the control: the statement itself is right


def test_a_kind_that_needs_a_person_is_refused_to_an_agents_token(
    memory: Memory, database: str
) -> None:
    as_owner(database, ROW.format(NEW, schema.REVISION, "false", "person"))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a writer"):
        append(database, AGENT, kind=NEW)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a writer"):
        append(database, AGENT, kind="events.erased", data='{"targets":[2]}')
    append(database, PERSON, kind=NEW)  # the controls: a person may, and the row alone decides
    as_owner(database, f"UPDATE recollect.kinds SET needs = 'agent' WHERE name = '{NEW}'")
    append(database, AGENT, kind=NEW)


SEAL = '{{"first":1,"count":{},"head":"{}","digest":"x","index_version":{}}}'


@pytest.mark.parametrize("origin", ["unverified", "agent", "system"])
def test_a_false_seal_is_refused_or_without_effect(
    memory: Memory, database: str, origin: str
) -> None:
    head = memory.verify()
    false = SEAL.format(head.events, head.head, INDEX_VERSION)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        append(database, AGENT, kind="ledger.sealed", origin=origin, data=false)
    if origin != "system":  # a person's token may say it, but only a store's own seal counts
        append(database, PERSON, kind="ledger.sealed", origin=origin, data=false)
    memory.rebuild()
    assert memory.verify(deep=True).ok
    assert "ledger.sealed" not in {change.kind for change in memory.events()}
    append(database, PERSON, kind="ledger.sealed", origin="system", data=false)  # the control
    memory.rebuild()
    assert not memory.verify(deep=True).ok


def test_the_trust_in_a_body_is_judged_for_the_kinds_that_carry_one(
    memory: Memory, database: str
) -> None:
    as_owner(database, ROW.format(NEW, schema.REVISION, "true", "unverified"))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="holds more trust"):
        append(database, AGENT, kind=NEW, data='{"trust":"person"}')
    append(database, AGENT, kind=NEW, data='{"trust":"agent"}')
    as_owner(database, f"UPDATE recollect.kinds SET carries_trust = false WHERE name = '{NEW}'")
    append(database, AGENT, kind=NEW, data='{"trust":"person"}')


def test_a_kind_without_a_row_is_refused(memory: Memory, database: str) -> None:
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
        append(database, PERSON, kind=NEW)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="claims more"):
        append(database, PERSON, kind="record.added", origin="system")


# A server that is one revision ahead.


def following(folder: Path, steps: int) -> Path:
    """A folder with so many further revisions; the first brings a kind."""
    for step in range(1, steps + 1):
        number = int(schema.REVISION) + step
        script = ROW.format(NEW, f"{number:04}", "false", "agent") if step == 1 else "SELECT 1"
        text = REVISION.format(revision=f"{number:04}", before=f"{number - 1:04}", script=script)
        (folder / f"r{number:04}.py").write_text(text)
    return folder


def test_a_client_works_on_a_server_one_revision_ahead(
    memory: Memory, database: str, tmp_path: Path
) -> None:
    done = migrate(database, more=following(tmp_path, 1))
    assert (done.before, done.index) == (schema.REVISION, False)
    for token in (None, AGENT):
        backend = PostgresBackend(database, token=token)
        mine = Memory(Handle(backend.space("bob", create=False)))
        mine.remember(f"The tea is green, says {token}.")
        assert mine.recall("tea").hits
        assert mine.verify(deep=True).ok
        backend.close()


def test_a_space_with_a_kind_that_is_not_known_refuses_alone(
    memory: Memory, database: str, tmp_path: Path
) -> None:
    migrate(database, more=following(tmp_path, 1))
    backend = PostgresBackend(database)
    alice = Memory(Handle(backend.space("alice", create=True)))
    alice.remember("Alice sits by the aisle.")
    bob = Memory(Handle(backend.space("bob", create=False)))
    assert bob.recall("window").hits  # the control: until the event is there
    append(database, AGENT, kind=NEW, move=True)
    agents, again = PostgresBackend(database, token=AGENT), PostgresBackend(database)
    calls: tuple[Callable[[], object], ...] = (
        lambda: bob.recall("window"),
        lambda: bob.remember("Later."),
        lambda: bob.verify(deep=True),
        lambda: Memory(Handle(agents.space("bob", create=False))),
        lambda: Memory(Handle(again.space("bob", create=False))).list(),
    )
    for call in calls:
        with pytest.raises(Unsupported, match="does not know") as refusal:
            call()
        assert refusal.value.hint == "update Recollect"
    agents.close()
    again.close()
    alice.remember("Alice likes tea.")
    assert len(alice.recall("Alice").hits) == 2
    assert alice.verify(deep=True).ok
    backend.close()


def test_a_release_that_knows_the_kinds_revision_enters(
    memory: Memory, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = migrate(database, more=following(tmp_path, 1))
    append(database, AGENT, kind=NEW, move=True)
    monkeypatch.setattr(schema, "REVISION", done.after)  # the release that comes with it
    assert memory.recall("window").hits


def test_a_server_two_revisions_ahead_is_refused(
    memory: Memory, database: str, tmp_path: Path
) -> None:
    migrate(database, more=following(tmp_path, 2))
    backend = PostgresBackend(database)
    with pytest.raises(ConfigError, match="works with") as refusal:
        backend.space("bob", create=False)
    assert "as new as the database" in str(refusal.value.hint)
    backend.close()


def test_a_server_that_is_older_is_migrated(
    memory: Memory, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "REVISION", f"{int(schema.REVISION) + 1:04}")
    backend = PostgresBackend(database)
    with pytest.raises(ConfigError) as refusal:
        backend.space("bob", create=False)
    assert "recollect admin migrate" in str(refusal.value.hint)
    backend.close()
