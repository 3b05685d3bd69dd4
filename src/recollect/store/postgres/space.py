"""One space on PostgreSQL.

Responsible for the order of enter, decide, append and commit, and for refolding an index of another
release. Leaves deciding, folding and chaining to the code all engines share. Invariants: whoever
writes holds the lock on its space's row from entering to the end of the transaction; ledger and
index are committed together, so the index never lags behind its own release's ledger.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, TypeVar, cast

import psycopg
from psycopg.errors import InsufficientPrivilege

from recollect.errors import (
    Forbidden,
    IntegrityError,
    NotFound,
    RecollectError,
    Unavailable,
    Unsupported,
)
from recollect.index.digest import state_digest
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.index.statements import INDEX_VERSION, NOW
from recollect.index.tables import Names
from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.line import Line
from recollect.lifecycle.commands import Actor, Command
from recollect.lifecycle.decide import foreseen
from recollect.model.events import (
    GENESIS,
    KIND_OF,
    AnyBody,
    EventsErased,
    Head,
    LossAccepted,
    SpaceOpened,
)
from recollect.model.values import Backup, Finding, Rebuilt, Sealed
from recollect.store import backup, clock
from recollect.store.group import AnyRequest, Group
from recollect.store.port import Answer, Progress, Tick, Vectors
from recollect.store.postgres import schema
from recollect.store.postgres.check import (
    difference,
    difference_found,
    unreadable,
    unreadable_found,
)
from recollect.store.postgres.db import Connection, PostgresDb, as_ours
from recollect.store.postgres.folding import page, pieces, refold
from recollect.store.postgres.grants import Grant
from recollect.store.postgres.limited import (
    not_looked_at,
    require_fold,
    require_whole,
    taken_ids,
)
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.vacuum import NOT_REACHED, NOT_YET
from recollect.store.receiving import Parcel, fold_parcel, parcels
from recollect.store.seam import REAL, Seam
from recollect.store.writing import Writing, sealed_event, what_was_sealed

T = TypeVar("T")

_UNREADABLE: Final = "no reader takes their bodies"


class PostgresSpace:
    """One space of a database. Safe to share between threads."""

    def __init__(
        self,
        pool: Pool,
        name: str,
        token: Callable[[], str],
        *,
        create: bool,
        owned: bool = False,
        seam: Seam = REAL,
    ) -> None:
        self._pool = pool
        self._name = name
        self._token = token
        self._create = create
        self._owned = owned  # the token was made for the database's owner
        self._seam = seam
        self._group = Group(self._lead)
        self._pid = os.getpid()
        self._closed = False
        self._ready = False
        self._behind = False  # somebody appended without the index
        self._grant: Grant | None = None
        self._open = threading.local()  # the transaction that a thread reads in

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def where(self) -> str:
        """The database, without its password."""
        return self._pool.where

    @property
    def widest(self) -> Actor | None:
        """The most that a handle may do here: what the token says."""
        if self._owned:
            return None
        grant = self._granted()
        return Actor(trust=grant.origin, user=grant.user, agent=grant.agent)

    # Writing.

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        self._check_usable()
        self._granted().check(command)
        return self._group.submit(command, answer)

    def later(self, command: Command) -> bool:
        """Lets a command ride on this process's next append, or on ``flush`` or ``close``."""
        self._check_usable()
        try:
            self._granted().check(command)
        except Forbidden:
            return False
        self._group.leave(command)
        return True

    def flush(self) -> None:
        """Writes what still waits to ride."""
        self._check_usable()
        self._group.flush()

    def _granted(self) -> Grant:
        """What the token allows here, as the server said when the space was entered last."""
        if self._grant is None:
            self.begun()
        if self._grant is None:
            raise IntegrityError("the server did not say what the token allows")
        return self._grant

    def _lead(self, taken: list[AnyRequest]) -> int:
        """Writes one append for as many waiting callers as fit."""
        names = foreseen(act for request in taken for act in request.command.acts)
        with self._writing(piped=True, names=names) as (db, position):
            writing = Writing(db, position, self._seam)
            writing.lack(db.absent())
            if db.limited:
                writing.foreign(taken_ids(db, taken))
            done = writing.serve(taken)
            self._put(db, position, writing)
            return done

    def _put(self, db: PostgresDb, position: PositionRow, writing: Writing) -> PositionRow:
        """Adds the append to the ledger and moves the index; the transaction's end commits both."""
        data, head, active_us = writing.finish()
        if not data:
            return position
        moved = position._replace(
            seq=head.seq,
            hash=head.hash,
            at=head.at,
            active_us=active_us,
            offset=position.offset + len(data),
        )
        params = {"lines": data.split(b"\n")[:-1], "active_us": active_us, "offset": moved.offset}
        db.ask("append_and_move", params)
        return moved

    def _note(self, db: PostgresDb, position: PositionRow, body: AnyBody) -> PositionRow:
        """Appends an event of the store's own."""
        writing = Writing(db, position, self._seam, is_confirmed=True)
        writing.note("system", body)
        return self._put(db, position, writing)

    @contextmanager
    def _writing(
        self, *, piped: bool = False, names: Names | None = None
    ) -> Iterator[tuple[PostgresDb, PositionRow]]:
        """A transaction that holds the space's lock, with an index of this release.

        Piped, statements travel together until somebody reads an answer; nothing can be streamed.
        What names are looked for travels with the first of them.
        """
        self._prepare()
        if self._behind:
            self._fold_anew()
        with self._transaction("begin_write", piped=piped) as db:
            head, found = self._enter(db, writing=True, names=names)
            position = self._of_this_release(found)
            if _is_behind(head, position):
                self._behind = True
                raise Unavailable(
                    "somebody appended to this space without its index",
                    hint="try again: the index is folded anew",
                )
            yield db, position

    @contextmanager
    def _transaction(
        self, begin: str, *, piped: bool = False, end: str = "commit"
    ) -> Iterator[PostgresDb]:
        """A connection in a transaction that commits if nothing is raised."""
        self._check_usable()
        try:
            with self._pool.connection() as connection:
                try:
                    with _piped(connection, piped):
                        db = PostgresDb(connection)
                        db.run(begin)
                        yield db
                        db.run(end)
                except BaseException:
                    if not connection.broken:
                        connection.rollback()
                    raise
        except psycopg.Error as error:
            raise as_ours(error) from error
        except Undecodable as error:
            raise IntegrityError(str(error), hint="run `recollect admin rebuild`") from error

    def _enter(
        self, db: PostgresDb, *, writing: bool, names: Names | None = None
    ) -> tuple[Head, PositionRow | None]:
        """The choke point: nothing of a space is seen before this."""
        params = {"named": self._name, "token": self._token(), "writing": writing}
        db.limited = self._grant is not None and self._grant.user is not None
        try:
            asked = db.ask("enter", params)
            position = db.ask("get_position")
            if names is not None:
                db.look_for(names)
            row = asked.fetchone()
        except InsufficientPrivilege:
            raise _nowhere(self._name) from None
        if row is None:
            raise IntegrityError("the server did not answer whether the space may be entered")
        space, seq, hash, at, *granted = row
        db.space = cast(int, space)
        self._grant = Grant.of(self._name, granted)
        db.limited = self._grant.user is not None
        found = position.fetchone()
        head = Head(cast(int, seq), str(hash), str(at))
        return head, None if found is None else PositionRow._make(found)

    def _look(self) -> tuple[Head, PositionRow | None] | None:
        """What there is for this token; None if there is nothing, and a space may be made."""
        try:
            with self._transaction("begin_read") as db:  # whoever only reads holds up nobody
                return self._enter(db, writing=False)
        except NotFound:
            if not self._create:
                raise
            return None

    def _made(self, db: PostgresDb) -> None:
        """Makes the space if the token may; entering tells the rest."""
        if self._create:
            db.ask("make_space", {"named": self._name, "token": self._token()})

    def _prepare(self) -> None:
        """On first use: the space exists, has an index of this release and its first event."""
        if self._ready:
            return
        head, position = self._look() or (GENESIS, None)
        if position is not None and position.version == INDEX_VERSION and position.seq > 0:
            self._behind = _is_behind(head, position)
            self._ready = True
            return
        self._check_folds()
        with self._folded_anew() as (db, position):
            if position.seq == 0:
                self._note(db, position, SpaceOpened(space=self._name))
        self._ready = True

    @contextmanager
    def _folded_anew(self) -> Iterator[tuple[PostgresDb, PositionRow]]:
        """A transaction that holds the space's lock, with an index made from its events.

        A space that is not there yet begins in it, so whatever is refused leaves none behind.
        """
        with self._transaction("begin_write") as db:
            schema.check(db.connection)  # before rows of this release go into another's tables
            self._made(db)
            head, position = self._enter(db, writing=True)
            if position is None or position.version != INDEX_VERSION or _is_behind(head, position):
                if head.seq > 0:
                    require_fold(self._granted())
                position = refold(db, self._name, head, None)
            yield db, position

    def _fold_anew(self) -> None:
        with self._folded_anew():
            pass
        self._behind = False

    def _check_folds(self) -> None:
        """A token that only reads changes no row, so it waits for one that writes."""
        if self._grant is not None and "write" not in self._grant.verbs:
            raise Unavailable(
                "this space's index is of another release, and this token only reads",
                hint="let somebody who may write open the space once",
            )

    def _of_this_release(self, position: PositionRow | None) -> PositionRow:
        if position is None or position.version != INDEX_VERSION:
            self._ready = False
            raise Unavailable(
                "another release of Recollect changed this space's index",
                hint="try again: the index is folded anew",
            )
        return position

    # Reading.

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state."""
        with self._snapshot() as db:
            self._open.db = db
            try:
                yield Reads(db, at=at)
            finally:
                self._open.db = None

    @contextmanager
    def _beside(self) -> Iterator[PostgresDb]:
        """The transaction that this thread reads in, or one of its own.

        Whoever holds a connection never waits for a second one: with all of them held so, nobody
        would get any further.
        """
        db: PostgresDb | None = getattr(self._open, "db", None)
        if db is not None:
            yield db
            return
        with self._snapshot() as fresh:
            yield fresh

    @contextmanager
    def _snapshot(self) -> Iterator[PostgresDb]:
        """A transaction that only reads, with an index of this release."""
        self._prepare()
        with self._transaction("begin_read") as db:
            _, position = self._enter(db, writing=False)
            self._of_this_release(position)
            yield db

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self._snapshot() as db:
            return state_digest(db, at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self._snapshot() as db:
            return _head(Reads(db).position())

    def seen(self) -> Head | None:
        """The last event that the index has folded."""
        return self.head()

    def pieces(self) -> Iterator[bytes]:
        """The ledger's bytes, in pieces; what is written meanwhile follows.

        Each piece is fetched by itself, so a reader that takes its time holds no connection. A body
        that is erased in between is gone, and the event that erased it comes.
        """
        require_whole(self._granted(), "reading the ledger")
        piece, after = b"\n", 0
        while piece:
            with self._snapshot() as db:
                piece, after = page(db, after)
            yield piece

    def size_bytes(self) -> int:
        """How many bytes ``pieces`` gives, about."""
        with self._snapshot() as db:
            position = Reads(db).position()
            return position.offset if position else 0

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder, in a table of the space's database."""
        from recollect.store.postgres.vectors import PostgresVectors

        with self._snapshot() as db:
            is_there = schema.has_vectors(db.connection)
        if not is_there:
            raise Unsupported(
                "this database has no tables for vectors",
                hint=f"install the extension vector (pgvector) there, then {schema.MIGRATE}",
            )
        grant = self._granted()  # who adds rows adds those of every text
        keeps = "write" in grant.verbs and grant.user is None
        return PostgresVectors(self._beside, self._writing, name, dimensions, keeps=keeps)

    # Receiving.

    def begun(self) -> Head:
        """Where the ledger ends, without opening one: before the first event if there is none."""
        found = self._look()
        if found is None:  # what the token could do is tried out and taken back
            with self._transaction("begin_write", end="rollback") as db:
                self._made(db)
                return self._enter(db, writing=False)[0]
        return found[0]

    def admit(self, line: Line) -> None:
        """Refuses what the token may not bring; the server would too, with fewer words."""
        self._granted().check_line(line)

    def receive(self, pieces: Iterable[bytes], tick: Tick | None = None) -> Head:
        """Appends what a whole ledger of another store holds beyond this one, as it is."""
        head = self.begun()
        found = parcels(pieces, head)
        while (parcel := next(found, None)) is not None:
            with self._receiving(head) as (db, held):
                position = self._receive(db, held, parcel)
                while not parcel.settled:  # its erasures come later: one transaction for all
                    parcel = next(found)
                    position = self._receive(db, position, parcel)
            head = parcel.head
            if tick is not None:
                tick(parcel.end)
        return head

    def _receiving(self, head: Head) -> AbstractContextManager[tuple[PostgresDb, PositionRow]]:
        """A transaction for what comes next; the first event from elsewhere opens the space."""
        return self._writing(piped=True) if head.seq > 0 else self._folded_anew()

    def _receive(self, db: PostgresDb, position: PositionRow, parcel: Parcel) -> PositionRow:
        """Some appends as they are; the transaction's end commits them with their rows."""
        for append in parcel.appends:
            for line in append.lines:
                self.admit(line)
        moved = fold_parcel(db, position, parcel)
        for data in parcel.data:
            db.ask("append", {"lines": data.split(b"\n")[:-1]})
        return moved

    # Upkeep.

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throws the index away and folds the whole ledger again."""
        self._prepare()
        require_whole(self._granted(), "rebuilding")
        with self._transaction("begin_write") as db:
            head, _ = self._enter(db, writing=True)
            position = refold(db, self._name, head, progress)
        self._behind = False
        return Rebuilt(events=position.seq, digest=self.digest())

    def purge(self) -> tuple[str, ...]:
        """Finishes every erasure that is on record; names the places it cleaned."""
        with self._writing() as (db, _):
            erased = Reads(db).unfinished_erasures()
            if not erased:
                return ()
            db.ask("erase_bodies", {"seqs": list(erased), "by": list(erased.values())})
            db.many("set_purged", [(max(erased.values()),)])
            kept = schema.has_vectors(db.connection)
            if kept:
                db.ask("drop_vectors", {"seqs": list(erased)})
        return (
            f"events: the bodies of {len(erased)} events",
            "index: rows and postings",
            *(["vectors: rows"] if kept else []),
            NOT_YET,
            NOT_REACHED,
        )

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder on this machine."""
        with self._snapshot() as db:
            position = Reads(db).position()
            folder = backup.backup_folder(self._seam, Path.cwd(), target)
            total = position.offset if position else 0
            found = backup.counted(pieces(db), total, progress)
            return backup.write_backup(self._seam, folder, self._name, _head(position), found)

    def seal(self) -> Sealed:
        """Leaves the event that says what the ledger came to; there is no file to close."""
        with self._writing() as (db, position):
            head, first, digest = _head(position), _first(db), state_digest(db, NOW)
            if head.seq > first or clock.is_jump(head.at, self._seam.now()):
                # Otherwise one line says it all already.
                self._note(db, position, sealed_event(first, head, digest))
        return what_was_sealed(first, head, digest)

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """What a doctor sees, without changing anything; the index is compared with the ledger."""
        return [*self._findings(progress), *self._pool.findings()]

    def _findings(self, progress: Progress | None) -> list[Finding]:
        if self._granted().user is not None:
            return [not_looked_at(self._granted())]
        with self._snapshot() as db:
            count, bad = _head(Reads(db).position()).seq, unreadable(pieces(db))
            problem = None if bad else difference(db, self._name, progress)
        if bad:
            return [unreadable_found(bad)]
        ledger = Finding(level="ok", what="ledger", detail=f"{count:,} events on {self.where}")
        return [ledger] if problem is None else [ledger, difference_found(problem)]

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it does not."""
        with self._snapshot() as db:
            return difference(db, self._name, progress)

    def accept_loss(self, reason: str | None) -> None:
        """Erases bodies that no reader takes, leaves an event that says so, and folds anew."""
        with self._transaction("begin_write") as db:
            head, position = self._enter(db, writing=True)
            bad = unreadable(pieces(db))
            if bad:
                head = self._give_up(
                    db,
                    head,
                    bad,
                    LossAccepted(
                        seen_seq=position.seq if position else 0,
                        seen_hash=position.hash if position else "",
                        reason=reason,
                    ),
                )
            refold(db, self._name, head, None)
        self._behind = False

    def _give_up(
        self, db: PostgresDb, head: Head, bad: Sequence[int], accepted: LossAccepted
    ) -> Head:
        """The two events, and the bodies gone; without the index, which cannot be folded yet."""
        erased = EventsErased(targets=tuple(bad), reason=_UNREADABLE)
        id, at = self._seam.random(16).hex(), max(self._seam.now(), head.at)
        drafts = [
            Draft(event_id(id, number), KIND_OF[type(body)], "system", encode_body(body))
            for number, body in enumerate((accepted, erased), 1)
        ]
        data, moved = chain(head, at, drafts, self._seam.random(2 * SALT_BYTES))
        db.ask("append", {"lines": data.split(b"\n")[:-1]})
        db.ask("erase_bodies", {"seqs": list(bad), "by": [moved.seq] * len(bad)})
        return moved

    def close(self) -> None:
        """Writes what waits to ride; nothing is held open, and closing twice is fine."""
        with suppress(RecollectError):  # a receipt that cannot be written holds up nobody
            self.flush()
        self._closed = True

    def _check_usable(self) -> None:
        """Neither closed nor inherited: a child must not use its parent's connections."""
        if self._closed:
            raise Unavailable("this memory is closed", hint="open it again")
        if os.getpid() != self._pid:
            raise Unavailable(
                "this memory was opened before a fork", hint="open it again in the child"
            )


def _piped(connection: Connection, piped: bool) -> AbstractContextManager[object]:
    return connection.pipeline() if piped else nullcontext()


def _nowhere(name: str) -> NotFound:
    """Not there and not yours are one answer."""
    return NotFound(f"there is no space {name!r} here for this token")


def _is_behind(head: Head, position: PositionRow) -> bool:
    """True if the ledger goes on beyond the index, which only SQL of somebody's own can do."""
    return (head.seq, head.hash) != (position.seq, position.hash)


def _head(position: PositionRow | None) -> Head:
    if position is None:
        raise IntegrityError("the index lost its position", hint="rebuild it")
    return Head(position.seq, position.hash, position.at)


def _first(db: PostgresDb) -> int:
    """The first event since the last seal: the seal itself, or genesis."""
    row = db.one("last_seal")
    return 1 if row is None else cast(int, row[0])
