"""The jobs of a workspace or of a store in memory: one small SQLite database.

Responsible for opening it and for one change at a time, also between processes. Leaves the rules
to ``store.jobs.kept_jobs`` and the statements to ``index/sql/jobs.sql``. Invariants: an answer is
durable when it is given; nothing is created by looking; only its owner can read the file.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from recollect.errors import ConfigError, Unavailable
from recollect.index.statements import job_statements
from recollect.store import posix
from recollect.store.jobs.kept_jobs import Run
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

T = TypeVar("T")
_WAIT_S: Final = 30.0


class JobFile:
    """The database; a store in memory has none on disk."""

    def __init__(self, path: Path | None, seam: Seam) -> None:
        self._path = path
        self._seam = seam
        self._db: sqlite3.Connection | None = None
        self._pid = os.getpid()
        self._turn = threading.Lock()

    def now(self) -> str:
        """This machine's clock."""
        return self._seam.now()

    def change(self, how: Callable[[Run], T]) -> T:
        """Calls a function with what runs named statements in one transaction."""
        with self._turn:
            try:
                db = self._opened()
                db.execute(job_statements()["begin"])
                try:
                    made = how(
                        lambda name, params: db.execute(job_statements()[name], params).fetchall()
                    )
                    db.commit()
                except BaseException:
                    db.rollback()
                    raise
            except (sqlite3.Error, OSError) as error:
                raise as_ours(error) from error
        return made

    @property
    def is_there(self) -> bool:
        """True if anything was ever asked for here."""
        return self._db is not None or (self._path is not None and os.path.lexists(self._path))

    def drop_space(self, space: str) -> None:
        """Removes the jobs and schedules of a space that was dropped."""
        if self.is_there:
            self.change(
                lambda run: [
                    run(name, {"space": space}) for name in ("drop_jobs", "drop_schedules")
                ]
            )

    def close(self) -> None:
        """Releases the file; one in memory is gone."""
        with self._turn:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _opened(self) -> sqlite3.Connection:
        if os.getpid() != self._pid:
            raise Unavailable(
                "this store was opened before a fork", hint="open it again in the child"
            )
        if self._db is None:
            if self._path is not None:
                self._prepare(self._path)
            self._db = sqlite3.connect(
                self._path or ":memory:",
                timeout=_WAIT_S,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.executescript(job_statements()["schema"])
        return self._db

    def _prepare(self, path: Path) -> None:
        """Creates the file for its owner alone; refuses one that others can read or change."""
        fd = self._seam.open(path, os.O_RDWR | os.O_CREAT | posix.NO_LINK | os.O_NONBLOCK)
        about = os.fstat(fd)
        self._seam.close(fd)
        is_own = about.st_uid in (os.geteuid(), 0) and stat.S_ISREG(about.st_mode)
        if not is_own or about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(
                f"{path} is not a file of this account alone",
                hint="move it away; then no job waits, and no schedule is set",
            )
