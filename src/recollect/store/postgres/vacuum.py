"""Rewriting a server's tables, so that no page contains erased bytes.

Responsible for running it as the database's owner and for reporting what it did not reach. Leaves
erasing itself to ``store.postgres.cleaning``. Invariant: visible rows do not change.

Deleting a row marks it. A plain VACUUM frees its space for other rows, but leaves the bytes in the
pages of tables and indexes until they are overwritten. VACUUM FULL makes new files.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg

from recollect.model.values import Vacuumed
from recollect.store.port import Progress
from recollect.store.postgres import schema
from recollect.store.postgres.db import run

_NUMBER: Final = re.compile(r"\d+")
# Old files are removed when the transaction ends; pages in the log stay until they are reused.
NOT_REACHED: Final = (
    "NOT cleaned: the server's write-ahead log until its segments are reused, its log file, its "
    "replicas and backups, and folders that `recollect admin backup` wrote"
)
NOT_YET: Final = (
    "NOT cleaned: pages of tables and indexes, until the database's owner runs "
    "`recollect admin vacuum` (a plain VACUUM leaves some of these bytes)"
)


def vacuum(url: str, progress: Progress | None = None) -> Vacuumed:
    """Rewrites every table of the memory, its indexes and the planner's statistics."""
    kept = _Kept()
    with schema.owner(url) as connection:
        schema.check(connection)
        run(connection, "put_setting", {"name": "statement_timeout", "value": "0"})
        connection.add_notice_handler(kept.hear)
        found = run(connection, "list_vacuums", {})
        for done, (_, statement) in enumerate(found, 1):
            connection.execute(str(statement).encode())
            if progress is not None:
                progress(done, len(found))
    return Vacuumed(tables=len(found), rows_kept=kept.rows, places=kept.places())


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
        return (*lines, NOT_REACHED)
