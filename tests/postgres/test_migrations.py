"""Migrating: ledgers and tokens are kept, indexes are rebuilt."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from recollect.errors import ConfigError, NotFound, RecollectError
from recollect.lifecycle.commands import Actor, Command, SetFrame
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.model.frames import BUILT_IN
from recollect.store.postgres import schema
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.migrate import migrate
from recollect.store.postgres.tokens import make_token
from tests.postgres.conftest import as_address, at
from tests.postgres.test_command import recollect

KEPT = ("spaces", "events", "tokens")
LATER = "9999"  # the revision after the newest
NEXT = f'''
"""A colour for every space."""

from recollect.store.postgres.migrate import execute

revision = "{LATER}"
down_revision = "{schema.REVISION}"


def upgrade() -> None:
    execute(b"ALTER TABLE recollect.spaces ADD colour text NOT NULL DEFAULT 'grey'; {{more}}")
'''


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = f"e{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield at(server, name)
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A folder with a revision that no release has."""
    (tmp_path / "r9999_colour.py").write_text(NEXT.format(more=""))
    return tmp_path


@pytest.fixture
def digests(database: str) -> dict[str, str]:
    """Two spaces with every kind of event, and two tokens; the digest of each space."""
    make_token(database, "alice's token", label="alice", space="alice", verbs=["read", "write"])
    make_token(database, "bob's token", label="bob", space="bob", verbs=["read"])
    return {name: filled(database, name) for name in ("alice", "bob")}


def filled(database: str, name: str) -> str:
    backend = PostgresBackend(database)
    try:
        memory = Memory(Handle(backend.space(name, create=True)))
        said = memory.observe(f"{name} said so", role="user")
        record = memory.remember(f"{name} sits by the window", key="seat", evidence=[said[0].id])
        other = memory.remember("gone for good")
        memory.revise(record.id, f"{name} sits by the aisle")
        memory.link(record.id, other.id, "relates_to")
        memory.erase(other.id)
        return backend.space(name, create=False).digest()
    finally:
        backend.close()


def digest(database: str, name: str) -> str:
    backend = PostgresBackend(database)
    try:
        return backend.space(name, create=False).digest()
    finally:
        backend.close()


def kept(database: str, *, tables: tuple[str, ...] = KEPT) -> dict[str, list[str]]:
    """Every row of what cannot be rebuilt, without columns that are new."""
    with psycopg.connect(database, autocommit=True) as owner:
        return {
            table: sorted(
                str(row)
                for (row,) in owner.execute(
                    f"SELECT to_jsonb(t) - 'colour' - 'since' FROM recollect.{table} t"
                )
            )
            for table in tables
        }


def columns(database: str) -> list[object]:
    """The shape of everything in the schemas."""
    with psycopg.connect(database, autocommit=True) as owner:
        return [
            *owner.execute(
                "SELECT table_schema, table_name, column_name, data_type, is_nullable,"
                " column_default FROM information_schema.columns"
                " WHERE table_schema LIKE 'recollect%' ORDER BY 1, 2, 3"
            ),
            *owner.execute(
                "SELECT grantee, table_name, privilege_type"
                " FROM information_schema.role_table_grants"
                " WHERE table_schema LIKE 'recollect%' ORDER BY 1, 2, 3"
            ),
            *owner.execute(
                "SELECT proname, md5(prosrc), proconfig::text, proacl::text FROM pg_proc"
                " WHERE pronamespace = 'recollect'::regnamespace ORDER BY 1"
            ),
            *owner.execute(
                "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'recollect'::regnamespace ORDER BY 1"
            ),
        ]


def refused(database: str) -> ConfigError:
    with pytest.raises(ConfigError) as refusal:
        digest(database, "alice")
    return refusal.value


def test_an_empty_database_is_migrated_or_just_opened_to_the_same_schema(
    empty: str, database: str
) -> None:
    done = migrate(empty)
    assert (done.before, done.after) == (None, schema.REVISION)
    again = migrate(empty)
    assert (again.before, again.after, again.index) == (schema.REVISION, schema.REVISION, False)
    assert columns(empty) == columns(database)
    assert migrate(database).before == schema.REVISION


def test_a_database_that_is_full_keeps_everything(
    database: str, digests: dict[str, str], versions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept(database)
    assert len(before["events"]) > 10
    done = migrate(database, more=versions)
    assert (done.before, done.after, done.index) == (schema.REVISION, LATER, False)
    assert kept(database) == before
    with psycopg.connect(database) as owner:
        assert owner.execute("SELECT DISTINCT colour FROM recollect.spaces").fetchall() == [
            ("grey",)
        ]
    monkeypatch.setattr(schema, "REVISION", LATER)  # the release that comes with it
    assert {name: digest(database, name) for name in digests} == digests
    backend = PostgresBackend(database, token="alice's token")
    try:
        alice = Memory(Handle(backend.space("alice", create=False)))
        assert alice.verify(deep=True).ok
        assert "aisle" in str(alice.recall("where does alice sit"))
        alice.remember("alice likes tea", key="tea")
        assert "tea" in str(alice.recall("tea"))
        assert alice.verify(deep=True).ok
        with pytest.raises(NotFound):
            Memory(Handle(backend.space("bob", create=False))).list()
    finally:
        backend.close()


def test_a_revision_that_fails_leaves_nothing_behind(
    database: str, digests: dict[str, str], versions: Path
) -> None:
    (versions / "r9999_colour.py").write_text(NEXT.format(more="SELECT 1 / 0"))
    before = kept(database)
    shape = columns(database)
    with pytest.raises(RecollectError, match="changed nothing"):
        migrate(database, more=versions)
    assert kept(database) == before
    assert columns(database) == shape
    assert {name: digest(database, name) for name in digests} == digests


def test_a_database_of_another_revision_is_refused_with_the_next_step(
    database: str, digests: dict[str, str], versions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = schema.REVISION
    with monkeypatch.context() as later:
        later.setattr(schema, "REVISION", LATER)
        error = refused(database)
        assert f"at revision {now}" in error.message
        assert "recollect admin migrate" in str(error.hint)
    migrate(database, more=versions)
    for backend in (PostgresBackend(database), PostgresBackend(database, token="alice's token")):
        with pytest.raises(ConfigError, match=f"at revision {LATER}") as refusal:
            backend.space("alice", create=False).digest()
        assert "as new as the database" in str(refusal.value.hint)
        backend.close()
    with pytest.raises(ConfigError, match="does not know"):
        migrate(database)
    assert kept(database)["events"]


def of_an_earlier_release(empty: str, database: str, revision: str) -> None:
    """The same spaces and events in a database that an earlier release made, without an index."""
    with psycopg.connect(empty) as old, psycopg.connect(database) as new:
        for each in schema.REVISIONS:
            if each <= revision:
                old.execute(schema.script(each))
        old.execute("INSERT INTO recollect.revision VALUES (%s)", (revision,))
        old.execute("SET session_replication_role = replica")  # the rows are what others wrote
        for table, given in (("spaces", "OVERRIDING SYSTEM VALUE "), ("events", "")):
            for (row,) in new.execute(f"SELECT to_jsonb(t)::text FROM recollect.{table} t"):
                old.execute(
                    f"INSERT INTO recollect.{table} {given}SELECT * FROM"
                    f" jsonb_populate_record(NULL::recollect.{table}, %s)",
                    (row,),
                )


def test_a_full_database_of_the_first_revision_takes_frames_after_the_last(
    empty: str, database: str
) -> None:
    before = {name: filled(database, name) for name in ("alice", "bob")}
    of_an_earlier_release(empty, database, "0001")
    rows = kept(empty, tables=("events", "spaces"))
    assert rows == kept(database, tables=("events", "spaces"))
    done = migrate(empty)
    assert (done.before, done.after) == ("0001", schema.REVISION)
    assert kept(empty, tables=("events", "spaces")) == rows
    assert {name: digest(empty, name) for name in before} == before
    set_a_frame(empty, "alice")
    assert digest(empty, "alice") != before["alice"]
    assert migrate(empty).before == schema.REVISION


def set_a_frame(database: str, name: str) -> None:
    backend = PostgresBackend(database)
    frame = msgspec.structs.replace(BUILT_IN["task"], name="mine")
    command = Command(id="f", actor=Actor(trust="person"), acts=(SetFrame(frame=frame),))
    try:
        backend.space(name, create=False).submit(command, lambda reads, outcome: None)
        assert Memory(Handle(backend.space(name, create=False))).verify(deep=True).ok
    finally:
        backend.close()


def test_a_token_does_not_make_a_schema(empty: str, database: str) -> None:
    backend = PostgresBackend(empty, token="whatever")
    try:
        with pytest.raises(ConfigError, match="does not contain a memory yet"):
            backend.spaces()
    finally:
        backend.close()


@pytest.mark.parametrize("version", [1, 999])
def test_an_index_of_another_version_is_rebuilt_to_the_same_state(
    database: str, digests: dict[str, str], version: int
) -> None:
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("UPDATE recollect.index_version SET version = %s", (version,))
        owner.execute("ALTER TABLE recollect.versions ADD COLUMN of_another text DEFAULT 'x'")
        owner.execute("CREATE TABLE recollect.outdated (space bigint)")
        owner.execute("CREATE VIEW recollect_here.outdated AS SELECT 1")
    assert f"has version {version}" in refused(database).message
    before = kept(database, tables=("spaces", "events", "tokens"))
    done = migrate(database)
    assert (done.before, done.after, done.index) == (schema.REVISION, schema.REVISION, True)
    assert kept(database, tables=("spaces", "events", "tokens")) == before
    with psycopg.connect(database, autocommit=True) as owner:
        assert owner.execute("SELECT to_regclass('recollect.outdated')").fetchone() == (None,)
        assert owner.execute("SELECT count(*) FROM recollect.versions").fetchone() == (0,)
    assert {name: digest(database, name) for name in digests} == digests


def test_a_process_that_continues_across_a_migration_rebuilds_its_index(
    database: str, digests: dict[str, str]
) -> None:
    backend = PostgresBackend(database)
    try:
        memory = Memory(Handle(backend.space("alice", create=False)))
        assert memory.recall("aisle").hits
        with psycopg.connect(database, autocommit=True) as owner:
            owner.execute("UPDATE recollect.index_version SET version = 1")
        assert migrate(database).index
        with pytest.raises(RecollectError, match="index"):
            memory.list()
        assert memory.recall("aisle").hits
    finally:
        backend.close()
    assert digest(database, "alice") == digests["alice"]


def test_the_command_says_from_where_to_where(empty: str, tmp_path: Path) -> None:
    url = as_address(empty)
    code, said = recollect(url, "admin", "migrate")
    assert (code, said) == (0, f"Migrated from nothing to revision {schema.REVISION}.\n")
    with psycopg.connect(empty, autocommit=True) as owner:
        owner.execute("UPDATE recollect.index_version SET version = 1")
    code, said = recollect(url, "admin", "migrate")
    assert code == 0
    assert said.startswith(f"The database is already at revision {schema.REVISION}.\n")
    assert "The index was reset" in said
    code, said = recollect(str(tmp_path), "admin", "migrate", "--store", url, "--json")
    assert code == 0
    assert json.loads(said) == {
        "before": schema.REVISION,
        "after": schema.REVISION,
        "index": False,
    }
    code, said = recollect(str(tmp_path), "admin", "migrate")
    assert code == 2
    assert "postgresql://" in said


def test_opening_a_store_loads_no_alembic(database: str) -> None:
    program = (
        "import sys; from recollect import Memory\n"
        "with Memory.open(sys.argv[1], space='alice') as memory: memory.remember('x')\n"
        "heavy = {'alembic', 'sqlalchemy', 'mako'} & {n.partition('.')[0] for n in sys.modules}\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, as_address(database)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_without_alembic_only_migrating_is_refused(url: str) -> None:
    program = (
        "import sys; sys.modules['alembic'] = None\n"
        "from recollect.interfaces.cli import main; sys.exit(main())"
    )
    for arguments, code in ((("admin", "migrate"), 6), (("remember", "One."), 0)):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments, "--store", url],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert ("recollect[migrate]" in done.stderr) == (code == 6)
