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
INDEX_VERSION: Final = 28

# "Still current", in columns named `until`; the .sql files repeat the number, because partial
# indexes need a literal.
STILL: Final = 9_007_199_254_740_991

# The present: a position after every event.
NOW: Final = STILL - 1

_HERE: Final = Path(__file__).parent / "sql"

# The files that hold statements of an index, by what they are about; `events.sql` is read apart.
_FILES: Final = (
    "position.sql",
    "writes.sql",
    "commands.sql",
    "records.sql",
    "evidence.sql",
    "episodes.sql",
    "links.sql",
    "settings.sql",
    "sessions.sql",
    "proposals.sql",
    "selections.sql",
    "searches.sql",
    "tallies.sql",
    "digests.sql",
)


def schema() -> str:
    """The script that creates an empty index, without its lookups."""
    return _script("schema.sql")


def lookups() -> str:
    """The script that creates the lookups; run it after inserting many rows."""
    return _script("lookups.sql")


@cache
def statements() -> dict[str, str]:
    """Every statement of an index by its name."""
    return {**_load(*_FILES), **_event_lists()}


@cache
def job_statements() -> dict[str, str]:
    """The statements of jobs, which are in a database of their own."""
    return _load("jobs.sql")


def _event_lists() -> dict[str, str]:
    """The lists of events: of all, of one id, of one user, of both; each from either end."""
    lists = _load("events.sql")
    lists |= {f"{name}_of": _narrowed(text, "of", "ID") for name, text in lists.items()}
    lists |= {f"{name}_for_user": _narrowed(text, "user", "USER") for name, text in lists.items()}
    last = {
        name.replace("list", "list_last"): text.replace(" ASC", " DESC")
        for name, text in lists.items()
    }
    return lists | last


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


def _load(*files: str) -> dict[str, str]:
    """Loads statements, each below a line of the form ``-- name: the_name``."""
    found: dict[str, str] = {}
    for file in files:
        for piece in _script(file).split("-- name: ")[1:]:
            name, _, body = piece.partition("\n")
            if name in found:
                raise ValueError(f"{file} defines {name}, which there is already")
            found[name.strip()] = body.strip().removesuffix(";")
    return found
