"""The named statements: each one is used, and the server can prepare it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recollect.store.jobs import kept_jobs
from recollect.store.postgres import db
from recollect.store.postgres.pool import Pool

HERE = Path(db.__file__).parent
# What only sets something, which no server prepares.
SETTINGS = {"patience", "stand_still"}
PARAMETER = re.compile(r"%\((\w+)\)[sb]")


def texts_in(*modules: Path) -> set[str]:
    """Every text that stands in these modules by itself."""
    nodes = (node for path in modules for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def unused(statements: dict[str, str]) -> list[str]:
    used = texts_in(*HERE.glob("*.py"))
    used |= {f"job {name}" for name in texts_in(Path(kept_jobs.__file__))}
    return [name for name in statements if name not in used]


def test_every_statement_is_used() -> None:
    statements = db._statements()
    assert len(statements) > 50
    assert unused(statements) == []
    assert unused({**statements, "forgotten": "SELECT 1"}) == ["forgotten"]  # the control


def test_every_function_is_called(pool: Pool) -> None:
    with pool.connection() as connection:
        made = connection.execute(
            "SELECT proname, prorettype = 'trigger'::regtype FROM pg_proc"
            " WHERE pronamespace = 'recollect'::regnamespace"
        ).fetchall()
    schema = b"".join(db.script(name) for name in ("schema.sql", "jobs_schema.sql")).decode()
    called = "\n".join(db._statements().values())
    for name, is_trigger in made:
        calls = schema.count(f"recollect.{name}(") - 1 + called.count(f"recollect.{name}(")
        assert calls > 0, name
        assert not is_trigger or f"EXECUTE FUNCTION recollect.{name}()" in schema
    assert len(made) > 5


def prepared(text: str) -> str:
    """The statement as the server's own language has it."""
    names = list(dict.fromkeys(PARAMETER.findall(text)))
    found = PARAMETER.sub(lambda one: f"${names.index(one[1]) + 1}", text)
    return f"PREPARE tried AS {found.replace('%%', '%')}"


@pytest.fixture
def connection(shared_database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shared_database, autocommit=True) as made:
        yield made


@pytest.mark.parametrize("name", sorted(db._statements().keys() - SETTINGS))
def test_the_server_prepares_it(connection: psycopg.Connection, name: str) -> None:
    connection.execute(prepared(db._statements()[name]).encode())


def test_control_a_column_that_is_not_there_is_found(connection: psycopg.Connection) -> None:
    text = db._statements()["heads"].replace("seq > 0", "sequence > 0")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        connection.execute(prepared(text).encode())
    for name in SETTINGS:
        connection.execute(db._statements()[name].encode())
