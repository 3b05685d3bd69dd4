"""The schema of a database: made once, and refused if it is of another release."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recollect import Memory, Store
from recollect.errors import ConfigError, Forbidden
from recollect.store.postgres import schema
from tests.postgres.conftest import as_address, at
from tests.postgres.test_command import recollect

LATER = "9999"  # a revision that no release has


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = f"e{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield at(server, name)
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def shape(database: str) -> list[object]:
    """Tables, functions, constraints and indexes of the schema."""
    with psycopg.connect(database, autocommit=True) as owner:
        return [
            row
            for question in (
                "SELECT table_name, column_name, data_type, is_nullable, column_default"
                " FROM information_schema.columns WHERE table_schema = 'recollect' ORDER BY 1, 2",
                "SELECT proname, md5(prosrc), proconfig::text FROM pg_proc"
                " WHERE pronamespace = 'recollect'::regnamespace ORDER BY 1",
                "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'recollect'::regnamespace ORDER BY 1",
                "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recollect' ORDER BY 1",
            )
            for row in owner.execute(question)
        ]


def tables(database: str) -> int:
    """How many tables of ours a database has."""
    question = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'recollect'"
    with psycopg.connect(database, autocommit=True) as owner:
        return len(owner.execute(question).fetchall())


def test_an_empty_database_is_migrated_or_just_opened_to_the_same_schema(
    empty: str, database: str
) -> None:
    assert recollect(as_address(empty), "admin", "migrate")[0] == 0
    assert shape(empty) == shape(database)
    with Memory.open(as_address(empty), embedder="none") as memory:
        memory.remember("One.")
    before = shape(empty)
    assert recollect(as_address(empty), "admin", "migrate")[0] == 0
    assert shape(empty) == before
    with Memory.open(as_address(empty), embedder="none") as memory:
        assert [record.text for record in memory.list()] == ["One."]


def test_a_database_of_another_revision_is_refused_with_the_next_step(
    url: str, database: str
) -> None:
    with Memory.open(url, embedder="none") as memory:
        memory.remember("One.")
    with psycopg.connect(database, autocommit=True) as owner:
        (column,) = owner.execute(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_schema = 'recollect' AND table_name = 'revision'"
        ).fetchone() or ("",)
        owner.execute(f"UPDATE recollect.revision SET {column} = '{LATER}'")
    with (
        pytest.raises(ConfigError, match=f"at revision {LATER}") as refusal,
        Memory.open(url, embedder="none") as memory,
    ):
        memory.list()
    assert "as new as the database" in str(refusal.value.hint)
    assert recollect(url, "admin", "migrate")[0] != 0
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"UPDATE recollect.revision SET {column} = '{schema.REVISION}'")
    with Memory.open(url, embedder="none") as memory:
        assert [record.text for record in memory.list()] == ["One."]


def test_a_token_opens_nothing_in_an_empty_database(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it make anything there; then the owner opens the same address."""
    with monkeypatch.context() as limited:
        limited.setenv("RECOLLECT_TOKEN", "rct_whatever")
        with (
            pytest.raises(ConfigError, match="does not contain a memory yet") as refusal,
            Store.open(as_address(empty), embedder="none") as store,
        ):
            store.spaces()
    assert "recollect admin migrate" in str(refusal.value.hint)
    assert tables(empty) == 0
    with Store.open(as_address(empty), embedder="none") as store:
        assert store.spaces() == []
    assert tables(empty) > 0
    monkeypatch.setenv("RECOLLECT_TOKEN", "rct_whatever")
    with (
        pytest.raises(Forbidden, match="not one of this store"),
        Store.open(as_address(empty), embedder="none") as store,
    ):
        store.spaces()


def test_the_command_says_from_where_to_where(empty: str, tmp_path: Path) -> None:
    url = as_address(empty)
    code, said = recollect(url, "admin", "migrate")
    assert (code, said) == (0, f"Migrated from nothing to revision {schema.REVISION}.\n")
    code, said = recollect(url, "admin", "migrate")
    assert code == 0
    assert said.startswith(f"The database is already at revision {schema.REVISION}.\n")
    code, said = recollect(str(tmp_path), "admin", "migrate", "--store", url, "--json")
    told = json.loads(said)
    assert (code, told["before"], told["after"]) == (0, schema.REVISION, schema.REVISION)
    code, said = recollect(str(tmp_path), "admin", "migrate")
    assert code == 2
    assert "postgresql://" in said
