"""The named SQL statements, read from the `.sql` files beside this module.

Responsible for loading them and for the version of what they describe. Leaves running them to a
``Db``. Invariant: SQL text exists in those files only, one name for each statement, bound
parameters only; the settings of a connection stand with the engine that opens it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

# Raise it with any change to schema or fold: every index of another version is rebuilt. What makes
# tokens has a stamp of its own, `index.text.made_with`.
INDEX_VERSION: Final = 6

# "Still so", in columns named `until`; the .sql files spell it out because partial indexes want
# a literal.
STILL: Final = 9_007_199_254_740_991

# The present: the position past every event.
NOW: Final = STILL - 1

_HERE: Final = Path(__file__).parent / "sql"


def schema() -> str:
    """The script that makes an empty index on SQLite, but for its lookups."""
    return (_HERE / "schema.sql").read_text("utf-8")


def lookups() -> str:
    """The script that makes the lookups; when many rows are to come, run it after them."""
    return (_HERE / "lookups.sql").read_text("utf-8")


@cache
def statements() -> dict[str, str]:
    """Every statement for SQLite by its name."""
    return {**_load("shared.sql"), **_load("sqlite.sql")}


@cache
def postgres_statements() -> dict[str, str]:
    """Every statement for PostgreSQL by its name."""
    return {**_load("shared.sql"), **_load("postgres.sql")}


@cache
def limited_statements() -> dict[str, str]:
    """Those that a token for one user asks in place of PostgreSQL's others."""
    return _load("postgres_limited.sql")


@cache
def scratch_statements() -> dict[str, str]:
    """Those for SQLite, and what an index that is only compared with has in place of full text."""
    return {**statements(), **_load("scratch.sql")}


def postgres_schema() -> str:
    """The script that makes the tables of all indexes on PostgreSQL, each one locked."""
    return _guarded("postgres_schema.sql") + (_HERE / "postgres_views.sql").read_text("utf-8")


def postgres_vectors() -> str:
    """The script that makes the tables of all vectors on PostgreSQL, with its extension."""
    return _guarded("postgres_vectors.sql")


def _guarded(file: str) -> str:
    """A script that makes tables of spaces, and those that lock them."""
    names = (file, "postgres_limits.sql", "postgres_guard.sql")
    return "\n".join((_HERE / name).read_text("utf-8") for name in names)


def _load(file: str) -> dict[str, str]:
    """Statements stand below lines of the form ``-- name: the_name``."""
    found: dict[str, str] = {}
    for piece in (_HERE / file).read_text("utf-8").split("-- name: ")[1:]:
        name, _, body = piece.partition("\n")
        if name in found:
            raise ValueError(f"{file} defines {name} twice")
        found[name.strip()] = body.strip().removesuffix(";")
    return found
