"""What an owner of the database does: making the schema, and tokens.

Responsible for everything that runs with the login's own rights. Leaves the rest to the service's
role. Invariant: a token is stored as its hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import psycopg

from recollect.index.statements import postgres_schema
from recollect.model.events import Trust
from recollect.store.postgres.db import run

_HERE: Final = Path(__file__).parent / "sql"


def migrate(url: str) -> None:
    """Brings a database to the present schema; does nothing to one that has it."""
    with psycopg.connect(url, autocommit=True) as connection, connection.transaction():
        run(connection, "lock_schema", {})
        if not _has(connection, "recollect.events"):
            connection.execute((_HERE / "ledger.sql").read_bytes())
        if not _has(connection, "recollect.position"):
            connection.execute(postgres_schema().encode())


def make_token(
    url: str,
    token: str,
    *,
    label: str,
    space: str | None,
    verbs: Sequence[str] = ("read", "write"),
    origin: Trust = "agent",
    user: str | None = None,
    agent: str | None = None,
) -> None:
    """Lets a token into one space, or with None into every one."""
    with psycopg.connect(url, autocommit=True) as connection:
        if space is not None:
            run(connection, "add_space", {"name": space})
        params = {
            "hash": _hash(token),
            "label": label,
            "space": space,
            "verbs": list(verbs),
            "origin": origin,
            "user": user,
            "agent": agent,
        }
        run(connection, "add_token", params)


def revoke_token(url: str, label: str) -> int:
    """Ends every token of this label; returns how many."""
    with psycopg.connect(url, autocommit=True) as connection:
        return len(run(connection, "revoke_token", {"label": label}))


def session_token(url: str, token: str) -> str:
    """A token for one process of the database's owner; it opens every space for a day."""
    migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        run(connection, "add_session_token", {"hash": _hash(token)})
    return token


def drop_session_token(url: str, token: str) -> None:
    """Takes such a token back."""
    with psycopg.connect(url, autocommit=True) as connection:
        run(connection, "drop_token", {"hash": _hash(token)})


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _has(connection: psycopg.Connection[Any], table: str) -> bool:
    return bool(run(connection, "find_table", {"name": table})[0][0])
