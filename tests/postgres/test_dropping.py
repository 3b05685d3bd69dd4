"""Dropping a space of a server: every row of it goes, no other does, and not everybody may."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from recollect.errors import Forbidden, InvalidInput, NotFound
from recollect.interfaces.cli import main
from recollect.lifecycle.commands import Name
from recollect.memory import Memory, Store
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.tokens import PostgresTokens
from tests.postgres.conftest import as_address, keep_checkpoint, keep_keys, make_token

CANARY = "canary91c2"
ALL = ("read", "write", "erase", "create", "drop")
# What belongs to the whole database. A new table is of a space, and has its column, or stands here.
OF_NO_SPACE = {"spaces", "tokens", "dropped", "revision"}


def fill(memory: Memory, user: str, word: str) -> None:
    """A little of everything that belongs to a user, and a checkpoint."""
    keep_checkpoint(memory)
    mine = memory.scoped(user=user)
    said = mine.observe(f"{word} was said", role="user", session="s", id=f"e-{user}")
    record = mine.remember(
        f"{word} holds", key=word, tags=[word], evidence=[said[0].id], id=f"r-{user}"
    )
    other = mine.remember(f"{word} too", about=word, id=f"s-{user}", idempotency_key=f"c-{word}")
    mine.link(record.id, other.id, "relates_to")
    mine.revise(record.id, f"{word} held")
    mine.forget(said[0].id)
    mine.context(word)
    mine.flush()


def tables(database: str) -> list[str]:
    """Every table of the schema that holds rows of spaces, from the catalogue."""
    with psycopg.connect(database, autocommit=True) as owner:
        found = owner.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " AND a.attname = 'space' WHERE c.relnamespace = 'recollect'::regnamespace"
            " AND c.relkind = 'r' AND NOT c.relname = ANY (%s) ORDER BY 1",
            [[*OF_NO_SPACE]],
        ).fetchall()
    return [str(name) for (name,) in found]


@pytest.fixture
def owner(database: str) -> Iterator[PostgresBackend]:
    """The owner's store, with a row of each of two spaces in every table."""
    backend = PostgresBackend(database)
    for name, word in (("alice", CANARY), ("bob", "ordinary")):
        memory = Memory(Handle(backend.space(name, create=True), name=Name(text="")))
        fill(memory, "ann", word)
        memory.frames.set({**memory.frames.get("task").to_dict(), "name": word})
        memory.rules.set(word)
        memory.observe(f"{word} passed by", metadata={"intent": "noop"})
        memory.consolidate(word)
        memory.erase(memory.remember("Gone.").id)
        make_token(database, f"{name}'s", label=name, space=name, verbs=ALL, origin="person")
        keep_keys(database, name, word)
    with Store.open(as_address(database), embedder="none") as store:
        for name in ("alice", "bob"):
            store.jobs.ask("verify", space=name)
            store.jobs.set_schedule("verify", space=name, every_s=86_400)
    yield backend
    backend.close()


def number(database: str, name: str) -> int:
    """The number of a space."""
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT id FROM recollect.spaces WHERE name = %s", [name])
        return int(row.fetchall()[0][0])


def rows(database: str, name: str, space: int) -> dict[str, list[str]]:
    """Every row of a space, whether a table has its name or its number."""
    with psycopg.connect(database) as connection:
        return {
            table: sorted(
                str(text)
                for (text,) in connection.execute(
                    f"SELECT t::text FROM recollect.{table} t WHERE space::text IN (%s, %s)",
                    [name, str(space)],
                )
            )
            for table in tables(database)
        }


def everything(database: str) -> str:
    """The whole database as text, but for the notes: their names stay."""
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
    """True if a word stands in any row, as text or in the bytes of a body."""
    found = everything(database)
    return word in found or word.encode().hex() in found


def opened(database: str, token: str) -> PostgresBackend:
    return PostgresBackend(database, token=token)


def test_every_table_is_of_a_space_or_listed(database: str) -> None:
    with psycopg.connect(database) as connection:
        every = connection.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace"
            " AND c.relkind IN ('r', 'p', 'm', 'f')"
        ).fetchall()
    assert {str(name) for (name,) in every} == {*tables(database), *OF_NO_SPACE}


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
    assert f"the rows in {len(tables(database))} tables" in done.places[0]
    assert any("recollect admin vacuum" in place for place in done.places)


def test_a_drop_that_fails_leaves_everything(owner: PostgresBackend, database: str) -> None:
    alice = number(database, "alice")
    before = everything(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION recollect.stops() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'stopped'; END $$;"
            "CREATE TRIGGER stops BEFORE DELETE ON recollect.subject_keys FOR EACH ROW"
            " EXECUTE FUNCTION recollect.stops()"
        )
    with pytest.raises(Exception, match="RaiseException"):
        owner.drop("alice", None)
    assert everything(database) == before
    assert (owner.spaces(), owner.dropped()) == (["alice", "bob"], [])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP TRIGGER stops ON recollect.subject_keys")
    owner.drop("alice", None)
    assert not any(rows(database, "alice", alice).values())


# Who may.


REFUSED: dict[str, dict[str, Any]] = {
    "another space": {"space": "bob", "verbs": ALL, "origin": "person"},
    "no drop": {"space": "alice", "verbs": ALL[:4], "origin": "person"},
    "only read": {"space": "alice", "verbs": ("read", "drop"), "origin": "person"},
    "an agent's trust": {"space": "alice", "verbs": ALL, "origin": "agent"},
    "unverified": {"space": "alice", "verbs": ALL, "origin": "unverified"},
    "an agent": {"space": "alice", "verbs": ALL, "origin": "person", "agent": "helper"},
    "one user": {"space": "alice", "verbs": ALL, "origin": "person", "user": "ann"},
    "every space, no drop": {"space": None, "verbs": ALL[:4], "origin": "person"},
    "every space, one user": {"space": None, "verbs": ALL, "origin": "person", "user": "ann"},
    "expired": {"space": "alice", "verbs": ALL, "origin": "person", "expires": "2020-01-01"},
}
ALLOWED: dict[str, dict[str, Any]] = {
    "its space": {"space": "alice", "verbs": ALL, "origin": "person"},
    "every space": {"space": None, "verbs": ALL, "origin": "person"},
}


def test_a_token_that_may_not_drops_nothing(owner: PostgresBackend, database: str) -> None:
    for why, given in REFUSED.items():
        make_token(database, why, label=why, **given)
    before = everything(database)
    for why in REFUSED:
        backend = opened(database, why)
        with pytest.raises((Forbidden, NotFound)):
            backend.drop("alice", None)
        with pytest.raises((Forbidden, NotFound)):
            backend.would_drop("alice")
        backend.close()
        assert everything(database) == before, why


@pytest.mark.parametrize("why", ALLOWED)
def test_control_a_token_that_may_drops_with_the_same_calls(
    owner: PostgresBackend, database: str, why: str
) -> None:
    make_token(database, "t", label=why, **ALLOWED[why])
    backend = opened(database, "t")
    note = backend.drop("alice", None).dropped
    assert note is not None
    assert note.by.startswith(f"{why} (token ")
    backend.close()
    assert owner.spaces() == ["bob"]


# Nothing is added while a space is dropped.


# What stays.


def test_tokens_of_the_space_are_revoked_and_stay_listed(
    owner: PostgresBackend, database: str
) -> None:
    backend = opened(database, "alice's")
    memory = Memory(Handle(backend.space("alice", create=False)))
    memory.list()
    done = owner.drop("alice", None)
    assert "tokens of this space: 1 revoked" in done.places
    with pytest.raises(Forbidden, match="revoked"):
        memory.list()
    backend.close()
    listed = {token.label: token for token in PostgresTokens(database).list()}
    assert (listed["alice"].space, listed["alice"].live) == ("alice", False)
    assert (listed["bob"].space, listed["bob"].live) == ("bob", True)
    Memory(Handle(owner.space("alice", create=True))).remember("A new one.")
    backend = opened(database, "alice's")
    with pytest.raises(Forbidden, match="revoked"):
        backend.space("alice", create=False).head()
    backend.close()


def test_notes_are_seen_by_tokens_for_every_space_alone(
    owner: PostgresBackend, database: str
) -> None:
    make_token(database, "every", label="e", space=None, verbs=["read"])
    make_token(database, "ann", label="a", space=None, verbs=["read"], user="ann")
    owner.drop("alice", "left")
    for token, names in (("every", ["alice"]), ("ann", []), ("bob's", [])):
        backend = opened(database, token)
        assert [note.space for note in backend.dropped()] == names
        backend.close()
    backend = opened(database, "nobody's")
    with pytest.raises(Forbidden):
        backend.dropped()
    backend.close()


def test_the_owner_too_changes_no_note_and_no_event(owner: PostgresBackend, database: str) -> None:
    owner.drop("alice", "left")
    with psycopg.connect(database, autocommit=True) as superuser:
        for statement in (
            "UPDATE recollect.dropped SET reason = 'x'",
            "DELETE FROM recollect.dropped",
            "TRUNCATE recollect.dropped",
            "DELETE FROM recollect.events",
        ):
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
                superuser.execute(statement)


def test_what_no_token_can_have_is_refused(database: str) -> None:
    tokens = PostgresTokens(database)
    right: dict[str, Any] = {"verbs": ("read", "write", "erase", "drop"), "origin": "person"}
    wrong: list[dict[str, Any]] = [
        {"origin": "agent"},
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
