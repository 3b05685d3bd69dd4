"""Rewriting a server's tables, so that no page contains erased bytes.

Responsible for running it as the database's owner and for reporting what it did not reach. Leaves
erasing itself to the space. Invariant: visible rows do not change.

Deleting a row marks it. A plain VACUUM frees its space for other rows, but leaves the bytes in the
pages of tables and indexes until they are overwritten. VACUUM FULL makes new files.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import psycopg

from recollect.errors import RecollectError
from recollect.model.values import Vacuumed
from recollect.store.port import Progress
from recollect.store.postgres import schema
from recollect.store.postgres.db import Connection, run
from recollect.store.postgres.holders import told

_NUMBER: Final = re.compile(r"\d+")
NOT_YET: Final = (
    "NOT cleaned: pages of tables and indexes, until the database's owner runs "
    "`recollect admin vacuum` (a plain VACUUM leaves some of these bytes)"
)


def not_reached(connection: Connection) -> tuple[str, ...]:
    """What no statement reaches, and when it ages out there.

    Old files are removed when a transaction ends; pages in the log stay until they are reused.
    """
    most, kept, archive, slots = map(str, run(connection, "what_ages", {})[0])
    more = "" if kept == "0" else f", of which it keeps {kept} in any case"
    held = f" and while {slots} replication slots need it" if slots != "0" else ""
    log = f"the server's write-ahead log, until about {most} more is written{more}{held}"
    archived = [] if archive == "off" else ["the archive of that log, as long as it is kept"]
    copies = ["its log file", "its replicas", "base backups from before, until they are deleted"]
    ours = "and folders that `recollect admin backup` wrote"
    return ("NOT cleaned: " + ", ".join([log, *archived, *copies, ours]),)


def rewrite_keys(url: str) -> tuple[str, ...]:
    """Rewrites the tables of wrapped keys, so that no page has one that was destroyed."""
    try:
        done = vacuum(url, tables=("subject_keys", "cache_keys"))
    except RecollectError as error:
        return (f"NOT cleaned: pages of tables of keys: {error}",)
    if done.rows_kept:
        return ("NOT cleaned: pages of tables of keys, which an open transaction may still see",)
    return ("subject_keys and cache_keys: their pages and indexes were written again",)


def vacuum(
    url: str, progress: Progress | None = None, tables: Collection[str] | None = None
) -> Vacuumed:
    """Rewrites every table of the memory, its indexes and the planner's statistics."""
    kept = _Kept()
    with schema.owner(url, is_patient=True) as connection:
        schema.check(connection)
        connection.add_notice_handler(kept.hear)
        found = [
            row for row in run(connection, "list_vacuums", {}) if tables is None or row[0] in tables
        ]
        for done, (_, statement) in enumerate(found, 1):
            connection.execute(str(statement).encode())
            if progress is not None:
                progress(done, len(found))
        others = _others(connection) if tables is None else ()
        unreached = (*others, *not_reached(connection))
    return Vacuumed(tables=len(found), rows_kept=kept.rows, places=(*kept.places(), *unreached))


def _others(connection: Connection) -> tuple[str, ...]:
    """Which processes have anything that was erased; rows of long ago go."""
    run(connection, "remove_old_holders", {})
    return told(run(connection, "all_holders", {}))


class _Kept:
    """What the server reports that it could not do, for each table."""

    def __init__(self) -> None:
        self.rows = 0
        self._refused = 0

    def hear(self, said: psycopg.errors.Diagnostic) -> None:
        """Takes a message of the server: a warning is a refusal, a detail has the rows it kept."""
        if said.severity_nonlocalized == "WARNING":
            self._refused += 1
        elif said.message_detail and (count := _NUMBER.match(said.message_detail)):
            self.rows += int(count[0])

    def places(self) -> tuple[str, ...]:
        """Sentences about what was cleaned and what was not."""
        lines = ["tables, indexes and the planner's statistics: written again"]
        if self.rows:
            lines.append(
                f"NOT cleaned: {self.rows:,} dead rows that an open transaction may still see; end "
                "it (pg_stat_activity shows it) and run this again"
            )
        if self._refused:
            lines.append(
                f"NOT cleaned: {self._refused:,} tables that this login does not own, such as the "
                "planner's statistics; run this as the owner of the database"
            )
        return tuple(lines)
