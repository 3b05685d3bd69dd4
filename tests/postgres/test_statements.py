"""Every named statement is known to a real server, and used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import recollect
from recollect.index.rows import EpisodeRow, LinkRow, PositionRow, VersionRow
from recollect.index.statements import postgres_statements, statements
from recollect.store.postgres.db import _INSERT, _inserting, _text, adapt, run

SOURCE = Path(recollect.__file__).parent
OWNERS = "lock_schema stamp_revision stamp_index add_space".split()  # and all about tokens
PREPARED = psycopg.pq.ExecStatus.COMMAND_OK
Raw = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def connections(server: str, template: str) -> Iterator[tuple[Raw, Raw]]:
    """One as the service's role, as the pool makes it, and one as the owner."""
    address = psycopg.conninfo.make_conninfo(server, dbname=template)
    with (
        psycopg.connect(address, autocommit=True) as service,
        psycopg.connect(address, autocommit=True) as owner,
    ):
        for name in ("sync_commits", "see_one_space", "take_indexes", "give_up_rights"):
            run(service, name, {})
        adapt(service)
        yield service, owner


def is_owners(name: str) -> bool:
    return name in OWNERS or "token" in name


def numbered(text: str) -> str:
    """A statement with its parameters as the driver sends them: each name once, in order."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found[1] or f"place {len(names)}"
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return re.sub(r"%(?:\((\w+)\))?s", number, text).replace("%%", "%")


def prepare(connection: Raw, text: str) -> tuple[int, str]:
    done = connection.pgconn.prepare(b"", text.encode())
    return done.status, done.error_message.decode()


@pytest.mark.parametrize("name", sorted(postgres_statements()))
def test_every_statement_is_prepared(connections: tuple[Raw, Raw], name: str) -> None:
    service, owner = connections
    if is_owners(name):
        text, connection = _text(name), owner
    else:  # what is added to a space names the space
        adds = _INSERT.match(postgres_statements()[name])
        text, connection = _inserting(name, 2) if adds else _text(name), service
    status, problem = prepare(connection, numbered(text))
    assert status == PREPARED, problem


@pytest.mark.parametrize(
    "text",
    [
        "SELECT no_such_column FROM versions",
        "SELECT * FROM spaces",  # no view: not for the service
        "INSERT INTO recollect.tags (space, tag) VALUES (%s, %s, %s)",
        "SELECT %(a)s FROM versions WHERE",
    ],
)
def test_control_a_statement_that_is_wrong_is_seen(connections: tuple[Raw, Raw], text: str) -> None:
    assert prepare(connections[0], numbered(text))[0] != PREPARED


def test_every_statement_of_the_server_is_used() -> None:
    code = "\n".join(
        path.read_text() for path in SOURCE.rglob("*.py") if path.name != "statements.py"
    )
    for name in postgres_statements().keys() - statements().keys():
        built = name.startswith("empty_") and 'f"empty_' in code
        assert built or f'"{name}"' in code, name


def test_both_engines_know_every_statement_that_one_face_asks_for() -> None:
    """But for what each engine runs from its own modules, and the full text's families."""
    index = "\n".join(path.read_text() for path in (SOURCE / "index").glob("*.py"))
    asked = {name for name in statements() if f'"{name}"' in index}
    assert len(asked) > 30
    shelves = {name for name in asked if name.startswith(("match_", "shelve_", "unshelve_"))}
    assert asked - shelves <= postgres_statements().keys()


def test_rows_stand_in_the_order_of_the_tables(connections: tuple[Raw, Raw]) -> None:
    def columns(view: str) -> list[str]:
        found = connections[0].execute(f"SELECT * FROM {view}").description
        return [column.name for column in found or ()]

    assert columns("versions") == columns("full_versions") == list(VersionRow._fields)
    assert columns("episodes") == list(EpisodeRow._fields)[:-1]
    assert columns("links") == list(LinkRow._fields)
    assert [name.replace("name", "space") for name in columns("position")] == list(
        PositionRow._fields
    )


def test_no_table_of_an_index_lacks_its_view_or_its_guard(connections: tuple[Raw, Raw]) -> None:
    _, owner = connections
    guarded = {"events", "checkpoints", "frontiers", "subject_keys", "destroyed_keys"}
    ledger = {
        "spaces",
        "tokens",
        "revision",
        "index_version",
        "kinds",
        "dropped",
        "jobs",
        "schedules",
        *guarded,
    }
    tables = {
        str(name): (secured, forced)
        for name, secured, forced in owner.execute(
            "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class"
            " WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'"
        )
    }
    views = {
        str(name)
        for (name,) in owner.execute(
            "SELECT viewname FROM pg_views WHERE schemaname = 'recollect_here'"
        )
    }
    assert tables.keys() - ledger == views - {"full_versions"}  # which reads two of the others
    assert {name for name, guards in tables.items() if guards != (True, True)} == ledger - guarded


def test_every_function_that_looks_at_a_mark_has_one_path(
    connections: tuple[Raw, Raw],
) -> None:
    """Called by turns under two paths, each call would plan again."""
    found = {
        str(name): settings
        for name, settings, body in connections[1].execute(
            "SELECT proname, proconfig, prosrc FROM pg_proc"
            " WHERE pronamespace = 'recollect'::regnamespace"
        )
        if re.search(r"recollect\.(sign|here|here_to_write|require)\(", body)
        or name in ("sign", "here")
    }
    assert {"sign", "here", "here_to_write", "require", "enter", "append"} <= found.keys()
    assert {str(settings) for settings in found.values()} == {"['search_path=pg_catalog, pg_temp']"}
