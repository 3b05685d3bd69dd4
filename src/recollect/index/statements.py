"""The named SQL statements, read from the `.sql` files beside this module.

Responsible for loading them and for the version of the index. Leaves running them to a ``Db``.
Invariant: SQL text exists only in those files, each statement has one name, and values are always
bound parameters; connection settings are in the engine that opens the connection.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from recollect.index.columns import expand

# Raise it with any change to the schema or the fold: every index of another version is rebuilt. The
# tokenizer has its own version, `index.text.made_with`.
INDEX_VERSION: Final = 27

# "Still current", in columns named `until`; the .sql files repeat the number, because partial
# indexes need a literal.
STILL: Final = 9_007_199_254_740_991

# The present: a position after every event.
NOW: Final = STILL - 1

_HERE: Final = Path(__file__).parent / "sql"

# A subselect in parentheses, and what a token for one user asks in its place.
_LIMITED: Final = re.compile(r"\([^()]*\)\s*/\* limited: (.*?) \*/")


def schema() -> str:
    """The script that creates an empty index on SQLite, without its lookups."""
    return _script("schema.sql")


def lookups() -> str:
    """The script that creates the lookups; run it after inserting many rows."""
    return _script("lookups.sql")


@cache
def statements() -> dict[str, str]:
    """Every statement for SQLite by its name."""
    return {**_load("shared.sql"), **_event_lists(), **_load("sqlite.sql")}


@cache
def postgres_statements() -> dict[str, str]:
    """Every statement for PostgreSQL by its name."""
    return {**_load("shared.sql"), **_event_lists(), **_load("postgres.sql")}


@cache
def limited_statements() -> dict[str, str]:
    """The statements that a token for one user runs instead of the general ones."""
    lists = {
        name: _LIMITED.sub(r"\1", text)
        for name, text in _event_lists().items()
        if _LIMITED.search(text)
    }
    return {**lists, **_load("postgres_limited.sql")}


@cache
def scratch_statements() -> dict[str, str]:
    """The statements for SQLite, with replacements for full text in an index made to compare."""
    return {**statements(), **_load("scratch.sql")}


@cache
def job_statements() -> dict[str, str]:
    """The statements of jobs on SQLite, which are in a database of their own."""
    return _load("jobs.sql")


def postgres_schema() -> str:
    """The script that creates the index tables on PostgreSQL, with row-level security."""
    return _guarded("postgres_schema.sql") + _script("postgres_views.sql")


def postgres_vectors() -> str:
    """The script that creates the vector tables on PostgreSQL, with the extension."""
    return _guarded("postgres_vectors.sql")


def _guarded(file: str) -> str:
    """A script that creates tables of spaces, followed by the one that secures them."""
    names = (file, "postgres_limits.sql", "postgres_guard.sql")
    return "\n".join(_script(name) for name in names)


def _event_lists() -> dict[str, str]:
    """The lists of events: of all, of one id, of one user, of both; each from either end."""
    found = _load("events.sql")
    lists = {"list_events": found["list_events"]}
    lists |= {f"{name}_of": _narrowed(text, "of", "ID") for name, text in lists.items()}
    lists |= {f"{name}_for_user": _narrowed(text, "user", "USER") for name, text in lists.items()}
    for name, text in lists.items():
        found[name] = text
        found[name.replace("list", "list_last")] = text.replace(" ASC", " DESC")
    return found


def _narrowed(text: str, mark: str, word: str) -> str:
    """A list whose parts ask what their marks say; a comment cannot hold the parameter itself."""
    return re.sub(
        rf"TRUE /\* {mark}: (.*?) \*/",
        lambda part: part[1].replace(word, f":{word.lower()}"),
        text,
        flags=re.DOTALL,
    )


def _script(file: str) -> str:
    """A file of SQL, with the lists of columns that it asks for."""
    return expand((_HERE / file).read_text("utf-8"))


def _load(file: str) -> dict[str, str]:
    """Loads statements, each below a line of the form ``-- name: the_name``."""
    found: dict[str, str] = {}
    for piece in _script(file).split("-- name: ")[1:]:
        name, _, body = piece.partition("\n")
        if name in found:
            raise ValueError(f"{file} defines {name} twice")
        found[name.strip()] = body.strip().removesuffix(";")
    return found
