"""One space on PostgreSQL.

Responsible for the port's methods: which transaction each of them uses, and the write path from
deciding to the append. Leaves entering a space to ``store.postgres.entry``, the state of its index
to ``store.postgres.index``, and deciding, folding and chaining to the code all engines share.
Invariant: a writer holds the lock on the space's row from entering to the end of the transaction,
which commits ledger and index together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from msgspec import structs

from recollect.errors import Forbidden, IntegrityError, RecollectError, Unsupported
from recollect.index.digest import state_digest
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.ledger.line import Line
from recollect.lifecycle.commands import Actor, Command
from recollect.lifecycle.decide import foreseen
from recollect.model.counts import counted
from recollect.model.events import Head
from recollect.model.values import Backup, Drop, Dropped, Finding, Rebuilt, Sealed
from recollect.store import backup, clock
from recollect.store.dropping import drop_of
from recollect.store.group import AnyRequest, Group
from recollect.store.listening import Listener
from recollect.store.port import Answer, Progress, Tick, Vectors
from recollect.store.postgres import schema
from recollect.store.postgres.append import note, put
from recollect.store.postgres.build import head_of, page, pieces
from recollect.store.postgres.check import difference
from recollect.store.postgres.checkpoints import PostgresCheckpoints
from recollect.store.postgres.cleaning import finish_erasures
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.examine import examine
from recollect.store.postgres.index import SpaceIndex
from recollect.store.postgres.limited import taken_ids
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.receive import receive
from recollect.store.postgres.repair import accept_loss
from recollect.store.postgres.subjects import Keeping, SpaceSubjects, encrypted_for
from recollect.store.postgres.vacuum import NOT_YET, not_reached, rewrite_keys
from recollect.store.seam import REAL, Seam
from recollect.store.subjects import Subjects
from recollect.store.wrapped_keys import Wrapped
from recollect.store.writing import Writing, sealed_event, what_was_sealed

T = TypeVar("T")


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
        keeping: Keeping | None = None,
    ) -> None:
        self._name = name
        self._owned = owned  # the token was created for the database's owner
        self._seam = seam
        self._entry = Entry(pool, name, token, create=create, owned=owned)
        self._subjects = SpaceSubjects(self._entry, seam, keeping)
        self._index = SpaceIndex(self._entry, seam, self._subjects)
        self._group = Group(self._lead)
        self._open = threading.local()  # the read transaction of each thread

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def where(self) -> str:
        """The database, without its password."""
        return self._entry.pool.where

    @property
    def widest(self) -> Actor | None:
        """The widest rights of a handle here: those of the token."""
        if self._owned:
            return None
        grant = self._entry.granted()
        return Actor(trust=grant.origin, user=grant.user, agent=grant.agent)

    # Writing.

    def pages_folder(self) -> None:
        """No folder belongs to this space."""

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        self._entry.check_usable()
        return self._group.submit(self._entry.granted().admitted(command), answer)

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each."""
        self._entry.check_usable()
        grant = self._entry.granted()
        refused: dict[int, RecollectError] = {}
        allowed: list[Command] = []
        for place, command in enumerate(commands):
            try:
                allowed.append(grant.admitted(command))
            except Forbidden as error:
                refused[place] = error
        outcomes = iter(self._group.submit_all(allowed, answer))
        return [refused[at] if at in refused else next(outcomes) for at in range(len(commands))]

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``."""
        self._entry.check_usable()
        try:
            admitted = self._entry.granted().admitted(command)
        except Forbidden:
            return False
        self._group.leave(admitted)
        return True

    def flush(self) -> None:
        """Writes the queued commands."""
        self._entry.check_usable()
        self._group.flush()

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append that this object writes; returns what ends it."""
        return self._group.listeners.add(call)

    def _lead(self, taken: list[AnyRequest]) -> int:
        """Writes one append for as many waiting callers as fit."""
        acts = (act for request in taken for act in request.command.acts)
        named = {author.text for request in taken if (author := request.command.actor.author)}
        names = foreseen(acts)._replace(authors=named)
        with self._index.writing(piped=True, names=names) as (db, position):
            subjects, held = self._subjects.within(db), partial(encrypted_for, db)
            writing = Writing(db, position, self._seam, subjects=subjects, encrypted_for=held)
            writing.lack(db.absent())
            writing.know(db.setting(), named, db.authors())
            if db.limited:
                writing.foreign(taken_ids(db, taken))
            done = writing.serve(taken)
            put(db, position, writing)
            self._subjects.destroy(db, writing.orders())  # with the order: no writer comes between
            return done

    # Reading.

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state."""
        with self._index.snapshot() as db:
            self._open.db = db
            try:
                yield Reads(db, at=at)
            finally:
                self._open.db = None

    @contextmanager
    def trying(self, command: Command) -> Iterator[Reads]:
        """Reads of the state after a command, which is then undone; waits for writers."""
        self._entry.check_usable()
        self._entry.granted().check_trial()
        with self._index.writing() as (db, position):
            self._open.db = db
            try:
                with Writing(db, position, self._seam).trying(command) as reads:
                    yield reads
            finally:
                self._open.db = None

    @contextmanager
    def _beside(self) -> Iterator[PostgresDb]:
        """The read transaction of this thread, or a new one.

        A thread that holds a connection never waits for a second one: if every thread did, all
        would wait forever.
        """
        db: PostgresDb | None = getattr(self._open, "db", None)
        if db is not None:
            yield db
            return
        with self._index.snapshot() as fresh:
            yield fresh

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self._index.snapshot() as db:
            return state_digest(db, at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self._index.snapshot() as db:
            return head_of(Reads(db).position())

    def seen(self) -> Head | None:
        """The last event that the index has folded."""
        return self.head()

    def pieces(self, after: int = 0, offset: int = 0) -> Iterator[bytes]:
        """The bytes of the ledger, in pieces; events written meanwhile follow.

        Each piece is fetched separately, so a slow reader does not hold a connection. A body that
        is erased in between is missing, and the event that erased it follows.
        """
        self._entry.granted().check_whole("reading the ledger")
        piece = b"\n"
        while piece:
            with self._index.snapshot() as db:
                piece, after = page(db, after)
            yield piece

    def line(self, seq: int) -> bytes | None:
        """The line of one event; a token for one user sees those that this user wrote."""
        with self._index.snapshot() as db:
            row = db.one("event", {"seq": seq})
        return None if row is None else bytes(cast(bytes, row[0]))

    def checkpoints(self) -> PostgresCheckpoints:
        """The checkpoints beside the ledger, in a table of the space's database."""
        return PostgresCheckpoints(self._beside, self._index.writing, self._entry.granted)

    def size_bytes(self) -> int:
        """About how many bytes ``pieces`` gives."""
        with self._index.snapshot() as db:
            position = Reads(db).position()
            return position.offset if position else 0

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder, in a table of the space's database."""
        from recollect.store.postgres.vectors import PostgresVectors

        with self._index.snapshot() as db:
            is_there = schema.has_vectors(db.connection)
        if not is_there:
            raise Unsupported(
                "this database has no tables for vectors",
                hint=schema.ADD_VECTORS,
            )
        grant = self._entry.granted()  # adding rows needs the texts of all users
        keeps = "write" in grant.verbs and grant.user is None
        return PostgresVectors(self._beside, self._index.writing, name, dimensions, keeps=keeps)

    # Receiving.

    def existing_head(self) -> Head:
        """The end of the ledger, without creating one; the start if there are no events."""
        return self._entry.existing_head()

    def admit(self, line: Line) -> None:
        """Refuses what the token may not write, with a better message than the server's."""
        self._entry.granted().check_line(line)

    def receive(
        self, pieces: Iterable[bytes], tick: Tick | None = None, keys: Collection[Wrapped] = ()
    ) -> Head:
        """Appends the events that another store's ledger has beyond this one, unchanged."""
        head = receive(self._entry, self._index, self._subjects, pieces, tick, keys)
        self._group.listeners.tell()
        return head

    # Upkeep.

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        position = self._index.rebuild(progress)
        return Rebuilt(events=position.seq)

    def purge(self) -> tuple[str, ...]:
        """Finishes every recorded erasure; returns the places that it cleaned."""
        with self._index.writing() as (db, _):
            done = finish_erasures(db, self._subjects)
        return (*done.places, *self._rewritten(done.keys))

    def _rewritten(self, keys: bool) -> tuple[str, ...]:
        """Rewrites the table of keys for the owner: it is small, and others may not."""
        return rewrite_keys(self._entry.pool.url) if keys and self._owned else ()

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder on this machine."""
        with self.reading() as reads, self._beside() as db:
            position = reads.position()
            folder = backup.backup_folder(self._seam, Path.cwd(), target)
            total = position.offset if position else 0
            found = backup.counted(pieces(db), total, progress)
            head = head_of(position)
            self._subjects.keep_copies(db)
            return backup.write_backup(
                self._seam, folder, self._name, head, found, self.checkpoints()
            )

    def seal(self) -> Sealed:
        """Appends the event that records the state; there is no file to close."""
        with self._index.writing() as (db, position):
            head, first, digest = head_of(position), _first(db), state_digest(db, NOW)
            if head.seq > first or clock.is_jump(head.at, self._seam.now()):
                # Otherwise the last seal still covers everything.
                note(db, position, self._seam, sealed_event(first, head, digest))
        self._group.listeners.tell()
        return what_was_sealed(first, head, digest)

    @property
    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return self._subjects.apart(self._index.snapshot, self._writing)

    @contextmanager
    def _writing(self) -> Iterator[PostgresDb]:
        with self._index.writing() as (db, _):
            yield db

    def destroy_keys(self, subjects: Collection[str], by: int) -> tuple[str, ...]:
        """Destroys keys with which nothing is encrypted, as an event orders."""
        if not subjects:
            return ()
        with self._index.writing() as (db, _):
            if encrypted_for(db, subjects):
                return ()  # written since; it is erased by the next order
            told = self._subjects.finish(db, dict.fromkeys(subjects, by))
        return (*told, *self._rewritten(bool(told)))

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """The findings of ``doctor``; compares the index with the ledger and changes nothing."""
        return examine(self._entry, self._index, self._subjects, progress)

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        with self._index.snapshot() as db:
            return difference(db, self._name, self._subjects.within(db), progress)

    def accept_loss(self, reason: str | None) -> None:
        """Erases bodies that cannot be parsed, records that in events, and rebuilds the index."""
        accept_loss(self._entry, self._index, self._subjects, self._seam, reason)
        self._group.listeners.tell()

    @property
    def is_dropped(self) -> bool:
        """True once this process has noticed that the space was dropped."""
        return self._entry.is_dropped

    @property
    def is_closed(self) -> bool:
        """True after ``close``."""
        return self._entry.is_closed

    def would_drop(self) -> Drop:
        """What dropping the space would remove, for a token that may drop it."""
        self._entry.existing_head()
        self._entry.granted().check_drop()
        with self._index.snapshot() as db:
            unreached = not_reached(db.connection)
        return drop_of(self, self.size_bytes(), (NOT_YET, *unreached))

    def drop(self, reason: str | None) -> Drop:
        """Drops the space in one transaction; the server checks the token again."""
        found = self.would_drop()
        with self._entry.transaction("begin_write") as db:
            self._entry.enter(db, writing=True)
            row = db.one("drop_space", {"reason": reason})
        if row is None:
            raise IntegrityError("the server sent no answer to the request to drop the space")
        *cells, tables, revoked = row
        names = ("space", "at", "by", "seq", "head", "first")
        note = msgspec.convert({**dict(zip(names, cells, strict=True)), "reason": reason}, Dropped)
        done = (
            f"events, index and vectors: the rows in {counted(cast(int, tables), 'table')}",
            f"tokens of this space: {cast(int, revoked):,} revoked",
        )
        return structs.replace(found, places=(*done, *found.places), dropped=note)

    def close(self) -> None:
        """Writes the queued commands; may be called twice."""
        with suppress(RecollectError):  # a receipt that cannot be written is not an error
            self.flush()
        self._entry.close()


def _first(db: PostgresDb) -> int:
    """The first event since the last seal: the seal itself, or genesis."""
    row = db.one("last_seal")
    return 1 if row is None else cast(int, row[0])
