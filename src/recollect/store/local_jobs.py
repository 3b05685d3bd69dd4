"""Jobs of a workspace or of a store in memory: one small SQLite database.

Responsible for opening it and for one change at a time, also between processes. Leaves the rules
to ``store.jobs`` and the statements to ``index/sql/jobs.sql``. Invariants: an answer is durable
when it is given; nothing is created by looking; only its owner can read the file.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError, NotFound, Unavailable
from recollect.index.rows import Row
from recollect.index.statements import job_statements
from recollect.model import instants
from recollect.model.events import Trust
from recollect.model.rules import lowest
from recollect.model.values import Job, JobKind, JobState, Schedule, Token
from recollect.store import posix
from recollect.store.jobs import (
    ATTEMPTS_MAX,
    KEPT_MAX_COUNT,
    WAITING_MAX_COUNT,
    after_failure,
    check_may,
    check_person,
    checked_kinds,
    job_of,
    one_form,
    schedule_of,
    too_many,
    verb_for,
)
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_WAIT_S: Final = 30.0
List = list  # ``list`` is also the name of a call
Run = Callable[[str, Mapping[str, object]], List[Row]]


class JobFile:
    """The database; a store in memory has none on disk."""

    def __init__(self, path: Path | None, seam: Seam) -> None:
        self._path = path
        self.seam = seam
        self._db: sqlite3.Connection | None = None
        self._pid = os.getpid()
        self._turn = threading.Lock()

    @contextmanager
    def changing(self) -> Iterator[Run]:
        """Runs named statements in one transaction."""
        with self._turn:
            try:
                db = self._opened()
                db.execute(job_statements()["begin"])
                try:
                    yield lambda name, params: db.execute(job_statements()[name], params).fetchall()
                    db.commit()
                except BaseException:
                    db.rollback()
                    raise
            except (sqlite3.Error, OSError) as error:
                raise as_ours(error) from error

    @property
    def is_there(self) -> bool:
        """True if anything was ever asked for here."""
        return self._db is not None or (self._path is not None and os.path.lexists(self._path))

    def drop_space(self, space: str) -> None:
        """Removes the jobs and schedules of a space that was dropped."""
        if self.is_there:
            with self.changing() as run:
                run("drop_jobs", {"space": space})
                run("drop_schedules", {"space": space})

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
        fd = self.seam.open(path, os.O_RDWR | os.O_CREAT | posix.NO_LINK | os.O_NONBLOCK)
        about = os.fstat(fd)
        self.seam.close(fd)
        is_own = about.st_uid in (os.geteuid(), 0) and stat.S_ISREG(about.st_mode)
        if not is_own or about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(
                f"{path} is not a file of this account alone",
                hint="move it away; then no job waits, and no schedule is set",
            )


class LocalJobs:
    """The jobs of a store for its owner, or for the holder of a token."""

    def __init__(
        self,
        file: JobFile,
        has: Callable[[str], bool],
        token: Callable[[], Token | None] = lambda: None,
    ) -> None:
        self._file = file
        self._has = has
        self._token = token

    def ask(
        self, space: str, kind: JobKind, params: str, *, due_at: str | None, origin: Trust
    ) -> Job:
        """Asks for a pass."""
        token = self._may(verb_for(kind), space)
        now = self._file.seam.now()
        with self._file.changing() as run:
            return _asked(run, {
                "space": space, "kind": kind, "params": params, "due": due_at or now, "now": now,
                "by": None if token is None else token.id, "origin": _trust(token, origin),
            })  # fmt: skip

    def lease(self, kinds: Sequence[str], seconds: float) -> Job | None:
        """The job that is due for the longest time."""
        token = self._may("write")
        if not self._file.is_there:
            return None
        wanted = checked_kinds(kinds)
        if token is not None:
            wanted = [kind for kind in wanted if verb_for(kind) in token.verbs]
        now = self._file.seam.now()
        asked = {
            "only": _only(token), "now": now, "until": _after(now, seconds),
            "kinds": one_form(wanted), "origin": _trust(token, "person"), "most": ATTEMPTS_MAX,
        }  # fmt: skip
        with self._file.changing() as run:
            run("give_up", asked)
            found = run("retake", asked) or run("lease", asked)  # what was begun comes first
        return job_of(found[0]) if found else None

    def beat(self, job: Job, seconds: float, done: int, total: int) -> bool:
        """Prolongs a lease and tells progress."""
        return self._report(job, "running", seconds, done=done, total=total)

    def done(self, job: Job) -> bool:
        """The pass has ended."""
        return self._report(job, "done", 0)

    def fail(self, job: Job, code: str, again_s: float | None) -> bool:
        """The pass has failed."""
        return self._report(job, after_failure(job, again_s), again_s or 0, error=code)

    def _report(
        self, job: Job, state: str, seconds: float, *, done: int = 0, total: int = 0,
        error: str | None = None,
    ) -> bool:  # fmt: skip
        token, now = self._may("write"), self._file.seam.now()
        asked = {
            "id": job.id, "attempts": job.attempts, "state": state, "due": _after(now, seconds),
            "now": now, "done": done, "total": total, "error": error, "only": _only(token),
        }  # fmt: skip
        with self._file.changing() as run:
            found = run("report", asked)
            if found and state != "running":
                run("prune", {"space": job.space, "kind": job.kind, "kept": KEPT_MAX_COUNT})
        return bool(found)

    def list(
        self, space: str | None, *, id: int | None, state: JobState | None, limit: int
    ) -> list[Job]:
        """The jobs of one space, or of all; the newest first."""
        token = self._may("read", space)
        if not self._file.is_there:
            return []
        only = space or _only(token)
        with self._file.changing() as run:
            found = run("list", {"only": only, "id": id, "state": state, "limit": limit})
        return [job_of(row) for row in found]

    def cancel(self, space: str | None, id: int) -> bool:
        """Ends a job that waits or runs."""
        token = self._may("write", space)
        only = space or _only(token)
        with self._file.changing() as run:
            return bool(run("cancel", {"id": id, "only": only}))

    def set_schedule(self, schedule: Schedule) -> None:
        """Sets the schedule of a kind in a space."""
        token = self._may(verb_for(schedule.kind), schedule.space)
        check_person(_trust(token, "person"))
        asked = {
            **msgspec.structs.asdict(schedule),
            "params": one_form(schedule.params),
            "set_by": None if token is None else token.id,
        }
        with self._file.changing() as run:
            run("set_schedule", asked)

    def schedules(self, space: str | None, *, due: bool = False) -> List[Schedule]:
        """The schedules of one space, or of all."""
        token = self._may("read", space)
        if not self._file.is_there:
            return []
        only = space or _only(token)
        until = self._file.seam.now() if due else None
        with self._file.changing() as run:
            return [schedule_of(row) for row in run("schedules", {"only": only, "due": until})]

    def drop_schedule(self, space: str, kind: str) -> bool:
        """Removes a schedule."""
        check_person(_trust(self._may("write", space), "person"))
        with self._file.changing() as run:
            return bool(run("drop_schedule", {"space": space, "kind": kind}))

    def fire(self, schedule: Schedule, next_at: str) -> bool:
        """Asks for what is due and sets when it is next."""
        token = self._may(verb_for(schedule.kind), schedule.space)
        check_person(_trust(token, "person"))
        now = self._file.seam.now()
        asked: dict[str, object] = {
            "space": schedule.space, "kind": schedule.kind, "was": schedule.next_at,
            "next": next_at, "now": now,
        }  # fmt: skip
        with self._file.changing() as run:
            found = run("fire", asked)
            for by, params in found:
                _asked(run, {**asked, "params": params, "by": by, "origin": "person", "due": now})
        return bool(found)

    def _may(self, verb: str, space: str | None = None) -> Token | None:
        """The token, if it allows this in a space that exists."""
        token = self._token()
        if space is not None and ((_only(token)) not in (None, space) or not self._has(space)):
            raise NotFound(f"there is no space {space!r} for this caller")
        check_may(token, verb)
        return token


def _asked(run: Run, asked: Mapping[str, object]) -> Job:
    ((count,),) = run("waiting", {"space": asked["space"]})
    (row,) = run("ask", asked)
    job = job_of(row)
    if int(str(count)) >= WAITING_MAX_COUNT and job.asked_at == asked["now"]:
        raise too_many(job.space)
    return job


def _only(token: Token | None) -> str | None:
    return None if token is None else token.space


def _trust(token: Token | None, origin: Trust) -> Trust:
    return origin if token is None else lowest([token.origin, origin])


def _after(now: str, seconds: float) -> str:
    return instants.from_microseconds(instants.to_microseconds(now) + int(seconds * 1_000_000))
