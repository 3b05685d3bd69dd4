"""Dropping a space of a server: every row of it goes, no other does, and not every token may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from recollect.errors import Forbidden, InvalidInput, NotFound, Unavailable
from recollect.finding.vectors import catch_up
from recollect.interfaces.cli import main
from recollect.lifecycle.commands import Name
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.indexed.ledger import Block, Snapshot
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.tokens import PostgresTokens
from recollect.testing.jobs_suite import ask, plan
from tests.postgres.conftest import (
    as_address,
    drop_space,
    entered,
    keep_checkpoint,
    keep_keys,
    make_token,
    wait_for_lock,
)
from tests.postgres.test_vectors import leg_of

CANARY = "canary91c2"
ALL = ("read", "write", "erase", "create", "drop")
# What has the number of a space in its column "space".
OF_A_SPACE = (
    "events",
    "checkpoints",
    "subject_keys",
    "destroyed_keys",
    "snapshots",
    "blocks",
    "cache_keys",
)
# What has the name of one there, and what belongs to the whole database.
BY_NAME = ("jobs", "schedules")
UNTIL_NOTICED = {"holders"}  # each process removes its own, when it notices that the space is gone
OF_NO_SPACE = {"spaces", "tokens", "dropped", "revision"}


@pytest.fixture
def owner(database: str) -> Iterator[PostgresBackend]:
    """The owner's store, with a row of each of two spaces in every table."""
    backend = PostgresBackend(database)
    for name, word in (("alice", CANARY), ("bob", "ordinary")):
        memory = Memory(Handle(backend.space(name, create=True), name=Name(text="")))
        for number in range(40):  # enough for a snapshot
            memory.remember(f"{word} holds {number}", key=f"{word}.{number}")
        memory.erase(memory.remember("Gone.").id)
        memory.remember(f"{word} too")
        catch_up(memory._handle.space, leg_of(memory._handle.space))
        keep_checkpoint(memory)
        make_token(database, name, space=name, verbs=("write", "erase", "drop"), trust="person")
        ask(backend.jobs(), name)
        backend.jobs().set_schedule(plan(name))
        keep_keys(database, name, word)
    yield backend
    backend.close()


def rows(database: str, name: str, id: int) -> dict[str, list[str]]:
    """Every row of a space."""
    with psycopg.connect(database) as connection:
        return {
            table: sorted(
                str(text)
                for (text,) in connection.execute(
                    f"SELECT t::text FROM recollect.{table} t WHERE space::text = %s", [str(which)]
                )
            )
            for tables, which in ((OF_A_SPACE, id), (BY_NAME, name))
            for table in tables
        }


def number(database: str, name: str) -> int:
    """The number of a space."""
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT id FROM recollect.spaces WHERE name = %s", [name])
        return int(row.fetchall()[0][0])


def everything(database: str) -> str:
    """The whole database as text."""
    with psycopg.connect(database) as connection:
        names = connection.execute(
            "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm')"
            " AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        return "".join(
            str(connection.execute(f"SELECT t::text FROM {name} t ORDER BY 1").fetchall())
            for (name,) in sorted(names)
        )


def holds(database: str, word: str) -> bool:
    """True if a word stands in any row, as text or in the bytes of a line."""
    found = everything(database)
    return word in found or word.encode().hex() in found


def test_every_table_is_of_a_space_or_listed(database: str) -> None:
    with psycopg.connect(database) as connection:
        every = connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace"
            " AND c.relkind IN ('r', 'p', 'm', 'f')"
        ).fetchall()
    assert {str(name) for (name,) in every} == {*OF_A_SPACE, *BY_NAME, *UNTIL_NOTICED, *OF_NO_SPACE}


def test_every_row_goes_and_no_other(owner: PostgresBackend, database: str) -> None:
    alice, bob = number(database, "alice"), number(database, "bob")
    before = rows(database, "bob", bob)
    assert [table for table, found in rows(database, "alice", alice).items() if not found] == []
    assert holds(database, CANARY)
    digest = owner.space("bob", create=False).digest()
    done = owner.drop("alice", "left")
    assert [table for table, found in rows(database, "alice", alice).items() if found] == []
    assert not holds(database, CANARY)
    assert rows(database, "bob", bob) == before
    bobs = owner.space("bob", create=False)
    assert (bobs.digest(), bobs.index_problem()) == (digest, None)
    assert done.places


def test_control_a_table_that_was_forgotten_is_found(owner: PostgresBackend, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE recollect.memos (space bigint, note text)")
        connection.execute("INSERT INTO recollect.memos VALUES (1, %s)", [CANARY])
    owner.drop("alice", None)
    assert holds(database, CANARY)
    with pytest.raises(AssertionError):
        test_every_table_is_of_a_space_or_listed(database)


def test_a_drop_that_fails_leaves_everything(owner: PostgresBackend, database: str) -> None:
    alice = number(database, "alice")
    before = everything(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION recollect.stops() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'stopped'; END $$;"
            "CREATE TRIGGER stops BEFORE DELETE ON recollect.checkpoints FOR EACH ROW"
            " EXECUTE FUNCTION recollect.stops()"
        )
    with pytest.raises(Unavailable, match="RaiseException"):
        owner.drop("alice", None)
    assert everything(database) == before
    assert (owner.spaces(), owner.dropped()) == (["alice", "bob"], [])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP TRIGGER stops ON recollect.checkpoints")
    owner.drop("alice", None)
    assert not any(rows(database, "alice", alice).values())


def test_a_process_that_dies_in_a_drop_leaves_everything(
    owner: PostgresBackend, database: str
) -> None:
    before = everything(database)
    dying = psycopg.connect(database)
    drop_space(dying, "alice")
    with psycopg.connect(database, autocommit=True) as superuser:
        superuser.execute("SELECT pg_terminate_backend(%s, 5000)", [dying.info.backend_pid])
    dying.close()
    assert everything(database) == before
    assert Memory(Handle(owner.space("alice", create=False))).admin.verify(deep=True).ok


# Who may.

REFUSED: dict[str, dict[str, Any]] = {
    "another space": {"space": "bob", "verbs": ALL, "trust": "person"},
    "no drop": {"space": "alice", "verbs": ALL[:4], "trust": "person"},
    "only read": {"space": "alice", "verbs": ("read", "drop"), "trust": "person"},
    "an agent's trust": {"space": "alice", "verbs": ALL, "trust": "agent"},
    "unverified": {"space": "alice", "verbs": ALL, "trust": "unverified"},
    "an agent": {"space": "alice", "verbs": ALL, "trust": "person", "agent": "helper"},
    "one user": {"space": "alice", "verbs": ALL, "trust": "person", "user": "ann"},
    "every space, no drop": {"space": None, "verbs": ALL[:4], "trust": "person"},
    "every space, one user": {"space": None, "verbs": ALL, "trust": "person", "user": "ann"},
    "expired": {"space": "alice", "verbs": ALL, "trust": "person", "expires": "2020-01-01"},
}
ALLOWED: dict[str, dict[str, Any]] = {
    "its space": {"space": "alice", "verbs": ALL, "trust": "person"},
    "every space": {"space": None, "verbs": ALL, "trust": "person"},
}


def test_a_token_that_may_not_drops_nothing(owner: PostgresBackend, database: str) -> None:
    tokens = {why: given_token(database, why, **given) for why, given in REFUSED.items()}
    before = everything(database)
    for why, token in tokens.items():
        theirs = entered(owner, token)
        with pytest.raises((Forbidden, NotFound)):
            theirs.drop("alice", None)
        with pytest.raises((Forbidden, NotFound)):
            theirs.would_drop("alice")
        assert everything(database) == before, why


def given_token(database: str, why: str, *, space: str | None, **given: Any) -> str:
    """A token that the command refuses to make, too: it was made in another way."""
    expires = given.pop("expires", None)
    token = make_token(database, why, space=space)
    with psycopg.connect(database, autocommit=True) as connection:
        given = {"user": None, "agent": None, "expires": expires, **given}
        connection.execute(
            "UPDATE recollect.tokens SET verbs = %(verbs)s, origin = %(trust)s,"
            ' "user" = %(user)s, agent = %(agent)s, expires = %(expires)s::timestamptz'
            " WHERE label = %(label)s",
            {**given, "verbs": [*given["verbs"]], "label": why},
        )
    return token


@pytest.mark.parametrize("why", ALLOWED)
def test_control_a_token_that_may_drops_with_the_same_calls(
    owner: PostgresBackend, database: str, why: str
) -> None:
    theirs = entered(owner, given_token(database, "t", **ALLOWED[why]))
    assert theirs.would_drop("alice").dropped is None
    assert theirs.drop("alice", None).dropped is not None
    assert owner.spaces() == ["bob"]


# Nothing is added while a space is dropped.


def test_a_writer_that_waited_for_a_drop_finds_nothing(
    owner: PostgresBackend, database: str, pool: Pool
) -> None:
    alice = number(database, "alice")
    memory = Memory(Handle(owner.space("alice", create=False)))
    memory.list()
    with psycopg.connect(database) as dropping, ThreadPoolExecutor(1) as threads:
        drop_space(dropping, "alice")
        late = threads.submit(memory.remember, "Too late.")
        wait_for_lock(pool)
        dropping.commit()
        with pytest.raises(NotFound, match="dropped"):
            late.result(timeout=30)
    assert not any(rows(database, "alice", alice).values())


@pytest.mark.parametrize("what", ["snapshot", "block", "checkpoint"])
def test_nothing_is_kept_for_a_space_that_is_dropped_meanwhile(
    owner: PostgresBackend, database: str, pool: Pool, what: str
) -> None:
    alice = number(database, "alice")
    space = owner.space("alice", create=False)
    seq, ledger = space.head().seq, space.ledger
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DELETE FROM recollect.subject_keys")  # with keys nothing is kept
    keeping: dict[str, Callable[[], object]] = {
        "snapshot": lambda: ledger.keep_snapshot(space.epoch, "v", Snapshot(seq, b"x")),
        "block": lambda: ledger.keep_block(space.epoch, Block("e", 0, seq, b"x")),
        "checkpoint": lambda: ledger.checkpoints().keep(seq, b"x"),
    }
    with psycopg.connect(database) as dropping, ThreadPoolExecutor(1) as threads:
        drop_space(dropping, "alice")
        late = threads.submit(keeping[what])
        wait_for_lock(pool)
        dropping.commit()
        if what == "checkpoint":
            with pytest.raises(NotFound):
                late.result(timeout=30)
        else:
            assert late.result(timeout=30) is False
    assert not any(rows(database, "alice", alice).values())


# What stays.


def test_tokens_of_the_space_are_revoked_and_stay_listed(
    owner: PostgresBackend, database: str
) -> None:
    token = make_token(database, "a", space="alice")
    memory = Memory(Handle(entered(owner, token).space("alice", create=False)))
    memory.list()
    owner.drop("alice", None)
    with pytest.raises(Forbidden, match="revoked"):
        memory.list()
    listed = {token.label: token for token in owner.tokens().list()}
    assert (listed["alice"].space, listed["alice"].live) == ("alice", False)
    assert (listed["bob"].space, listed["bob"].live) == ("bob", True)
    Memory(Handle(owner.space("alice", create=True))).remember("A new one.")
    with pytest.raises(Forbidden, match="revoked"):
        entered(owner, token).space("alice", create=False).head()


def test_notes_are_seen_by_tokens_for_every_space_alone(
    owner: PostgresBackend, database: str
) -> None:
    every = make_token(database, "every", space=None, verbs=["read"])
    ann = make_token(database, "ann", space=None, verbs=["read"], user="ann")
    bob = make_token(database, "b", space="bob")
    owner.drop("alice", "left")
    for token, names in ((every, ["alice"]), (ann, []), (bob, [])):
        assert [note.space for note in entered(owner, token).dropped()] == names
    with pytest.raises(Forbidden):
        entered(owner, "rct_nobodys").dropped()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE recollect.dropped SET by = 'another'",
        "DELETE FROM recollect.dropped",
        "TRUNCATE recollect.dropped",
    ],
)
def test_plain_sql_changes_and_removes_no_note(
    owner: PostgresBackend, database: str, change: str
) -> None:
    owner.drop("alice", "left")
    before = owner.dropped()
    with psycopg.connect(database, autocommit=True) as operator:
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="only ever added"):
            operator.execute(change.encode())
        assert owner.dropped() == before
        operator.execute("ALTER TABLE recollect.dropped DISABLE TRIGGER keep_notes")
        operator.execute(change.encode())
    assert owner.dropped() != before  # the control


def test_what_no_token_can_have_is_refused(database: str, pool: Pool) -> None:
    tokens = PostgresTokens(pool)
    right: dict[str, Any] = {"verbs": ("read", "write", "erase", "drop"), "trust": "person"}
    wrong: list[dict[str, Any]] = [
        {"trust": "agent"},
        {"user": "ann"},
        {"agent": "helper"},
        {"verbs": ("read", "write", "drop")},
    ]
    for given in wrong:
        with pytest.raises(InvalidInput, match="the verb drop needs"):
            tokens.create("t", space="alice", **right | given)
    assert tokens.create("t", space="alice", **right).verbs == right["verbs"]


def test_the_command_drops_a_space_of_a_server(
    owner: PostgresBackend, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", as_address(database))
    assert main([*store, "admin", "drop-space", "alice", "--dry-run"]) == 0
    assert "Would drop the space alice" in capsys.readouterr().out
    assert main([*store, "admin", "drop-space", "alice", "--yes", "--reason", "left"]) == 0
    assert "Dropped the space alice." in capsys.readouterr().out
    assert main([*store, "admin", "dropped"]) == 0
    assert capsys.readouterr().out.startswith("alice  ")
    assert main([*store, "admin", "drop-space", "alice", "--yes"]) == 3
    assert "name one of: bob" in capsys.readouterr().err


def test_the_first_calls_of_many_threads_create_one_space(database: str) -> None:
    backend = PostgresBackend(database)
    memory = Memory(Handle(backend.space("busy", create=True)))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: memory.remember(f"Sentence {n}"), range(16)))
    assert len(memory.list()) == 16
    backend.close()
