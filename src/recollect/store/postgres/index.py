"""The index of one space, and transactions in which it is up to date.

Responsible for an index of this release that has folded all of its ledger, and for rebuilding it
otherwise. Leaves entering the space to ``store.postgres.entry`` and the fold of a whole ledger to
``store.postgres.build``. Invariants: a writer holds the lock on the space's row from entering to
the end of the transaction; ledger and index are committed together, so the index does not lag.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from recollect.errors import RecollectError, Unavailable
from recollect.index.erasures import unfinished_erasures
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.index.statements import INDEX_VERSION
from recollect.index.tables import Names
from recollect.model.events import Head, SpaceOpened
from recollect.store.port import Progress
from recollect.store.postgres import schema
from recollect.store.postgres.append import note
from recollect.store.postgres.build import refold
from recollect.store.postgres.cleaning import finish_erasures
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.limited import require_fold
from recollect.store.postgres.subjects import SpaceSubjects
from recollect.store.seam import Seam


class SpaceIndex:
    """The index of one space, in one process."""

    def __init__(self, entry: Entry, seam: Seam, subjects: SpaceSubjects) -> None:
        self._entry = entry
        self._seam = seam
        self._subjects = subjects
        self._ready = False
        self.is_behind = False  # an event was appended without updating the index

    @contextmanager
    def writing(
        self, *, piped: bool = False, names: Names | None = None
    ) -> Iterator[tuple[PostgresDb, PositionRow]]:
        """A write transaction that holds the space's lock, with an index of this release.

        With a pipeline, statements are sent together until an answer is read; streaming is not
        possible. The lookup of names is sent with the first of them.
        """
        self._prepare()
        if self.is_behind:
            self._fold_anew()
        with self._entry.transaction("begin_write", piped=piped) as db:
            head, found = self._entry.enter(db, writing=True, names=names)
            position = self._of_this_release(found)
            if _is_behind(head, position):
                self.is_behind = True
                raise Unavailable(
                    "another client appended to this space without updating its index",
                    hint="try again; the index is then rebuilt",
                )
            yield db, position

    @contextmanager
    def snapshot(self) -> Iterator[PostgresDb]:
        """A transaction that only reads, with an index of this release."""
        self._prepare()
        with self._entry.transaction("begin_read") as db:
            _, position = self._entry.enter(db, writing=False)
            self._of_this_release(position)
            yield db

    def _prepare(self) -> None:
        """On first use, makes sure that the space, its index and its first event exist."""
        if self._ready:
            return
        head, position = self._entry.look()
        if position is not None and position.version == INDEX_VERSION and position.seq > 0:
            self.is_behind = _is_behind(head, position)
            self._ready = True
            self._finish_erasures()
            return
        self._check_folds()
        with self.folded_anew() as (db, position):
            if position.seq == 0:
                note(db, position, self._seam, SpaceOpened(space=self._entry.name))
        self._ready = True

    def _finish_erasures(self) -> None:
        """Finishes what a process ordered and did not live to do, with a token that may."""
        grant = self._entry.granted()
        if not grant.may_finish or self.is_behind:
            return
        with suppress(RecollectError):  # the next one tries again; nothing waits for it
            with self.snapshot() as db:
                is_done = not unfinished_erasures(Reads(db))
            if not is_done:
                with self.writing() as (db, _):
                    finish_erasures(db, self._subjects)

    @contextmanager
    def folded_anew(self) -> Iterator[tuple[PostgresDb, PositionRow]]:
        """A write transaction that holds the space's lock, with an index rebuilt from its events.

        A missing space is created in it, so a refusal leaves no space behind.
        """
        with self._entry.transaction("begin_write") as db:
            schema.check(db.connection)  # before rows are written into tables of another release
            self._entry.make(db)
            head, position = self._entry.enter(db, writing=True)
            if position is None or position.version != INDEX_VERSION or _is_behind(head, position):
                if head.seq > 0:
                    require_fold(self._entry.granted())
                position = refold(db, self._entry.name, head, None, self._subjects.within(db))
            yield db, position

    def rebuild(self, progress: Progress | None) -> PositionRow:
        """Discards the index and folds the whole ledger again."""
        self._prepare()
        self._entry.granted().check_whole("rebuilding")
        with self._entry.transaction("begin_write") as db:
            head, _ = self._entry.enter(db, writing=True)
            position = refold(db, self._entry.name, head, progress, self._subjects.within(db))
        self.is_behind = False
        return position

    def _fold_anew(self) -> None:
        with self.folded_anew():
            pass
        self.is_behind = False

    def _check_folds(self) -> None:
        """Raises an error if the index must be rebuilt and the token may only read."""
        if self._entry.grant is not None and "write" not in self._entry.grant.verbs:
            raise Unavailable(
                "the index of this space is from another release, and this token may only read",
                hint="open the space once with a token that may write",
            )

    def _of_this_release(self, position: PositionRow | None) -> PositionRow:
        if position is None or position.version != INDEX_VERSION:
            self._ready = False
            raise Unavailable(
                "another release of Recollect changed this space's index",
                hint="try again; the index is then rebuilt",
            )
        return position


def _is_behind(head: Head, position: PositionRow) -> bool:
    """True if the ledger has events that the index lacks, which only foreign SQL can cause."""
    return (head.seq, head.hash) != (position.seq, position.hash)
