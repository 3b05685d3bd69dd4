"""Names that a caller puts before the system's, and lines that no reader would take."""

from __future__ import annotations

from hashlib import sha256

import psycopg
import pytest

from recollect.ledger.line import commitment
from recollect.memory import Memory
from recollect.store.postgres.db import run
from recollect.store.postgres.tokens import make_token
from recollect.store.seam import REAL
from tests.postgres.test_isolation import BOB, memory, raw

__all__ = ["memory"]  # a fixture

NAMES = ("bytea", "text", "int8", "bigint", "record", "timestamptz", "name")
LEAK = """CREATE FUNCTION pg_temp.leak(v pg_catalog.{base}) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('stolen.by', current_user, false);
  RETURN true;
END $$"""


def stolen(connection: psycopg.Connection[object]) -> object:
    """The role that ran what the caller put in the way; empty if nobody did."""
    connection.execute("SELECT set_config('recollect.space', '1', false)")
    connection.execute("SELECT set_config('recollect.rights', 'person:read,write', false)")
    connection.execute("SELECT recollect.here()")
    connection.execute("BEGIN")
    run(connection, "enter", {"named": "bob", "token": BOB, "writing": False})
    connection.execute("SELECT count(*) FROM recollect.events")
    connection.execute("SELECT recollect.here_to_write()")
    connection.execute("COMMIT")
    row = connection.execute("SELECT current_setting('stolen.by', true)").fetchone()
    return row and row[0]  # type: ignore[index]


@pytest.mark.parametrize("name", NAMES)
def test_no_type_of_the_callers_is_used_by_a_function_of_the_owners(
    memory: Memory, database: str, name: str
) -> None:
    base = name if name in ("bytea", "text", "timestamptz", "name") else "int8"
    with raw(database) as connection:
        connection.execute(LEAK.format(base=base))
        connection.execute(
            f'CREATE DOMAIN pg_temp."{name}" AS pg_catalog.{base} CHECK (pg_temp.leak(VALUE))'
        )
        assert not stolen(connection)


@pytest.mark.parametrize("operator", ["=", "<>", "||"])
@pytest.mark.parametrize("base", ["text", "bytea", "int8"])
def test_no_operator_of_the_callers_is_used_by_a_function_of_the_owners(
    memory: Memory, database: str, operator: str, base: str
) -> None:
    """Where the role may make objects in some schema, as in databases of older servers."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO recollect_app")
    with raw(database) as connection:
        connection.execute(LEAK.format(base=base))
        connection.execute(
            f"CREATE FUNCTION public.mine(a {base}, b {base}) RETURNS boolean LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM set_config('stolen.by', current_user, false); RETURN false; END $$"
        )
        connection.execute(
            f"CREATE OPERATOR public.{operator} "
            f"(LEFTARG = {base}, RIGHTARG = {base}, FUNCTION = public.mine)"
        )
        connection.execute("SET search_path = public, pg_catalog")
        assert not stolen(connection)


def line(connection: psycopg.Connection[object], token: str = "agent", **changes: str) -> bytes:
    """An event that continues bob's ledger, with parts of its header as given."""
    row = run(connection, "enter", {"named": "bob", "token": token, "writing": True})[0]
    seq, previous = int(str(row[1])) + 1, str(row[2])
    parts = {
        "id": "x.1",
        "kind": "episode.restored",
        "at": max(REAL.now(), str(row[3])),
        "origin": "agent",
        "data": "{}",
        "salt": "0" * 32,
        "end": "}",
        **changes,
    }
    salt, data = bytes.fromhex(parts["salt"]), parts["data"].encode()
    header = (
        f'{{"v":1,"seq":{seq},"tx":[{seq},{seq}],"id":"{parts["id"]}","kind":"{parts["kind"]}",'
        f'"at":"{parts["at"]}","origin":"{parts["origin"]}","subject":null,"cipher":null,'
        f'"body":"{commitment(salt, data)}","prev":"{previous}"'
    ).encode()
    digest = sha256(header).hexdigest()
    return (
        header
        + f',"hash":"{digest}","salt":"{parts["salt"]}","data":'.encode()
        + data
        + parts["end"].encode()
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 'x"kind":"events.erased"'},
        {"id": 'x","origin":"unverified","kind":"a.b'},
        {"id": "x" * 159 + ".1"},
        {"id": "x"},
        {"id": "x.2"},
        {"id": ".1"},
        {"at": "2000-01-01T00:00:00.000000Z"},
        {"id": "é"},
        {"kind": "nothing"},
        {"at": "yesterday, or some time before it"},
        {"data": "{\n}"},
        {"end": " "},
        {"salt": "0" * 31 + "A"},
    ],
)
def test_a_line_that_no_reader_would_take_is_refused(
    memory: Memory, database: str, changes: dict[str, str]
) -> None:
    verbs = ("read", "write", "erase")
    make_token(database, "agent", label="a", space="bob", verbs=verbs)
    for settings in ("SELECT 1", "SET standard_conforming_strings = off"):
        with raw(database) as connection:
            connection.execute(settings)
            connection.execute("BEGIN")
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
                connection.execute("SELECT recollect.append(%b)", ([line(connection, **changes)],))


def test_control_the_same_line_in_its_form_is_taken(memory: Memory, database: str) -> None:
    make_token(database, "agent", label="a", space="bob")
    for settings in ("SELECT 1", "SET standard_conforming_strings = off"):
        with raw(database) as connection:
            connection.execute(settings)
            connection.execute("BEGIN")
            connection.execute("SELECT recollect.append(%b)", ([line(connection)],))
            connection.execute("ROLLBACK")


def test_a_token_that_only_reads_changes_no_row_of_the_index(memory: Memory, database: str) -> None:
    make_token(database, "reads", label="r", space="alice", verbs=["read"], origin="person")
    before = repr(memory.list())
    with raw(database) as connection:
        for statement in (
            "UPDATE recollect.versions SET text = 'forged', trust = 'person'",
            "DELETE FROM recollect.versions",
            "DELETE FROM recollect.position",
        ):
            connection.execute("BEGIN")
            run(connection, "enter", {"named": "alice", "token": "reads", "writing": False})
            assert connection.execute(statement).rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    "INSERT INTO recollect.shelves SELECT recollect.here(), 'x', 1, 1"
                )
            connection.execute("ROLLBACK")
    assert repr(memory.list()) == before
