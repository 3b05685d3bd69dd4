"""The embedded engine: a ledger in a file, an index in SQLite, a lock beside them.

    workspace/            the space "main"
      events.wal          the ledger's active file
      sealed/             its closed segments, if it was ever sealed
      index.db            the index; delete it at any time
      ledger.lock         held while writing; never deleted
      checkpoints/        signed notes about it, if there is a key
      vectors/            the vectors of its texts; delete it at any time
      backup/             copies of the ledger
      backups.json        where backups were written
      spaces/NAME/        further spaces, each with the same files

Responsible for the port's methods: which of them take the turn and the lock, and in which order
they call the other modules of this package. Leaves handles and lock to ``store.files.open_files``,
the order of write, fsync and commit to ``store.files.append``, and bringing an index up to date to
``store.files.index``. Invariants: every write holds the lock and begins with an index that is up to
date.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import structs

from recollect.errors import RecollectError
from recollect.index.digest import state_digest
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.index.statements import NOW
from recollect.index.tables import Db
from recollect.ledger.erasure import encrypted_for, line_of
from recollect.ledger.line import Line
from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.lifecycle.commands import Command
from recollect.lifecycle.decide import foreseen
from recollect.model.events import GENESIS, Head
from recollect.model.values import Backup, Drop, Dropped, Finding, Rebuilt, Sealed, Token
from recollect.store import backup, clock
from recollect.store.checkpoints.walk import walk_for
from recollect.store.disk.layout import LOCK, workspace_of
from recollect.store.drop import drop_of
from recollect.store.files import drop, lock
from recollect.store.files.append import append, commit
from recollect.store.files.build import known_head
from recollect.store.files.catch_up import Healing
from recollect.store.files.copies import copies
from recollect.store.files.erased_bodies import finish_erasures
from recollect.store.files.index import SpaceIndex, position_of
from recollect.store.files.ledger import segments
from recollect.store.files.lock import ReadOnly
from recollect.store.files.open_files import OpenFiles
from recollect.store.files.readers import Readers
from recollect.store.files.receive import receive
from recollect.store.files.repair import accept_loss
from recollect.store.group import AnyRequest
from recollect.store.keys.subjects import SubjectKeys, Subjects
from recollect.store.keys.wrapped_keys import Wrapped
from recollect.store.listeners import Listener
from recollect.store.pages.pages import check_folder, own_folders
from recollect.store.port import Answer, Progress, Tick, Vectors
from recollect.store.posix import account
from recollect.store.received import first_hash
from recollect.store.seam import REAL, Seam
from recollect.store.sqlite import FOREIGN, as_ours
from recollect.store.write_path import Ground, Writing, sealed_event, what_was_sealed

if TYPE_CHECKING:  # loaded only if it is asked for
    from recollect.store.checkpoints.checkpoint_files import FileCheckpoints

T = TypeVar("T")
_COPIED_MAX_BYTES: Final = 64 << 20  # of an index, for each read on a branch


class FileSpace:
    """One space in one folder. Safe to share between threads; processes share the folder."""

    widest = None  # the rights of the folder apply
    lock_name: str = LOCK  # a negative control in the tests uses another file

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        create: bool,
        seam: Seam = REAL,
        keys: Callable[[str], SubjectKeys] | None = None,
        note_erased: Callable[[str, Mapping[int, str]], None] | None = None,
    ) -> None:
        self._folder = folder
        self._name = name
        self._seam = seam
        self._files = OpenFiles(
            folder,
            name,
            seam,
            self._lead,
            create=create,
            lock_name=self.lock_name,
            keys=keys,
            note_erased=note_erased,
        )
        self._index = SpaceIndex(self._files)
        self._healing = Healing(self._files, self._index)
        self._readers = Readers(self._healing, self._files.pool)
        self._is_closed = False
        self._vectors: dict[tuple[str, int], Vectors] = {}
        lock.watch(self)

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def where(self) -> str:
        """The folder."""
        return str(self._folder)

    def pages_folder(self) -> Path:
        """Where pages are written by default."""
        folder = own_folders(self._folder)[-1]
        check_folder(folder)
        return folder

    @property
    def is_usable(self) -> bool:
        """False once it is closed, dropped or of another process."""
        return not self._files.is_closed and not self.is_dropped

    # Writing.

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        self._files.check_usable()
        return self._files.group.submit(command, answer)

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each."""
        self._files.check_usable()
        return self._files.group.submit_all(commands, answer)

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``."""
        self._files.check_usable()
        if not self._files.is_writable():
            return False
        self._files.group.leave(command)
        return True

    def flush(self) -> None:
        """Writes the queued commands."""
        self._files.check_usable()
        self._files.group.flush()

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append that this object writes; returns what ends it."""
        return self._files.group.listeners.add(call)

    def _lead(self, taken: list[AnyRequest]) -> int:
        """Writes one append for as many waiting callers as fit."""
        self._files.check_usable()
        try:
            fd = self._files.enter()
            try:
                return self._index.attempt(lambda: self._append(taken))
            finally:
                self._files.leave(fd)
        except FOREIGN as error:
            raise as_ours(error) from error

    def _append(self, taken: list[AnyRequest]) -> int:
        """Writes one append for the first of these requests; returns for how many.

        Only a process that wrote last may let rows wait: processes that take turns would fold each
        other's from the ledger.
        """
        backlog = self._files.take_backlog()
        if backlog is None:
            db, position = self._index.refresh()
            writing = self._writing(db, position)
            done = writing.serve(taken)
            commit(self._files, db, position, writing)
            return done
        if len(taken) == 1 and len(taken[0].command.acts) == 1:
            backlog.look_up(foreseen(taken[0].command.acts))
        writing = self._writing(backlog, backlog.position, backlog.ground)
        done = writing.serve(taken)
        try:
            append(self._files, backlog, writing)
        except OSError:
            self._index.fold_acknowledged(backlog.position)
            raise
        return done

    def _writing(self, db: Db, position: PositionRow, ground: Ground | None = None) -> Writing:
        files = self._files

        def encrypted(subjects: Collection[str]) -> list[int]:
            return encrypted_for(segments.pieces(files.opened()), subjects)

        return Writing(
            db,
            position,
            self._seam,
            ground=ground,
            subjects=files.subjects,
            encrypted_for=encrypted,
        )

    @property
    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return self._files.subjects

    def destroy_keys(self, subjects: Collection[str], by: int) -> tuple[str, ...]:
        """Destroys keys with which nothing is encrypted, as an event orders."""
        with self._files.exclusive():
            self._index.attempt(self._index.refresh)
            if encrypted_for(segments.pieces(self._files.opened()), subjects):
                return ()  # written since; it is erased by the next order
            return self._files.subjects.destroy(subjects, by)

    # Reading.

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state."""
        with self._readers.snapshot() as db:
            yield Reads(db, at=at)

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self._readers.snapshot() as db:
            return state_digest(db, at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self.reading() as reads:
            position = position_of(reads)
        return Head(position.seq, position.hash, position.at)

    def seen(self) -> Head | None:
        """The last event that the index has folded, or None if that is unknown."""
        self._fold_own()
        return known_head(self._files.index_path)

    def pieces(self, after: int = 0, offset: int = 0) -> Generator[bytes, None, None]:
        """The bytes of the ledger, in pieces, taken between two appends."""
        if self._files.is_new:  # like every other read, this one begins it
            self.head()
        opened = self._files.opened_ledger()
        try:
            yield from opened.pieces(after, offset)
        finally:
            opened.close()

    def line(self, seq: int) -> bytes | None:
        """The line of one event, without its newline."""
        with closing(self.pieces(seq - 1)) as pieces:
            return line_of(pieces, seq)

    def size_bytes(self) -> int:
        """About how many bytes ``pieces`` gives."""
        with suppress(OSError):
            sealed = segments.all_segments(self._folder)
            ledger = self._files.ledger_path
            return sum(os.stat(path).st_size for path in (ledger, *(s.path for s in sealed)))
        return 0

    def tokens(self) -> list[Token]:
        """The tokens that open this space."""
        from recollect.store.files.tokens import FileTokens

        workspace = workspace_of(self._folder, self._name)
        found = FileTokens(workspace, self._seam, lambda: None).read().tokens
        now = self._seam.now()
        return [one.shown(now) for one in found if one.space in (None, self._name)]

    def checkpoints(self) -> FileCheckpoints:
        """The checkpoints beside the ledger; cheap, and creates nothing."""
        from recollect.store.checkpoints.checkpoint_files import FileCheckpoints

        return FileCheckpoints(self._folder, self._seam)

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder, in a file beside the index."""
        from recollect.store.files.vectors import FileVectors

        asking, index = self._readers.snapshot, self._files.index_path
        made = FileVectors(self._folder, name, dimensions, asking, index, self._seam)
        return self._vectors.setdefault((name, dimensions), made)

    @contextmanager
    def trying(self, command: Command) -> Iterator[Reads]:
        """Reads of the state after a command, which is then undone.

        They are made in a copy, so that writers do not wait for a reader. Only with a large index
        do they: its copies would fill the disk.
        """
        with self._readers.snapshot() as db:
            copy = db.aside() if db.size_bytes() <= _COPIED_MAX_BYTES else None
        if copy is None:
            with self._files.exclusive():
                db, position = self._index.attempt(self._index.refresh)
                with Writing(db, position, self._seam).trying(command) as reads:
                    yield reads
            return
        with closing(copy):
            copy.run("begin_write")
            with Writing(copy, position_of(Reads(copy)), self._seam).trying(command) as reads:
                yield reads

    # Receiving.

    def existing_head(self) -> Head:
        """The end of the ledger, without creating one; a genesis event alone does not count."""
        try:
            with self._files.exclusive():
                _, position = self._index.attempt(lambda: self._index.refresh(notes=False))
                head = Head(position.seq, position.hash, position.at)
        except ReadOnly:
            head = GENESIS if self._files.is_new else self.head()
        return head if head.seq > 1 else GENESIS

    def admit(self, line: Line) -> None:
        """Allows everything that could be read here: the rights of the folder apply."""

    def receive(
        self, pieces: Iterable[bytes], tick: Tick | None = None, keys: Collection[Wrapped] = ()
    ) -> Head:
        """Appends the events that another store's ledger has beyond this one, unchanged."""
        if keys:
            first, pieces = first_hash(pieces)
            self._files.subjects.of(first or "").keys.take(keys)
        with self._files.exclusive():
            try:
                return receive(self._files, self._index, pieces, tick)
            except BaseException:
                self._files.subjects.begin()
                raise

    # Upkeep.

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        self._fold_own()
        return self._healing.index_problem(progress)

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        with self._files.exclusive():
            self._files.check_working()
            self._index.build(known_head(self._files.index_path), progress)
            self._index.attempt(self._index.refresh)
        return Rebuilt(events=self.head().seq)

    def purge(self) -> tuple[str, ...]:
        """Finishes every recorded erasure; returns the places that it cleaned."""
        with self._files.exclusive():
            self._index.attempt(lambda: self._index.refresh(finish=False))
            return finish_erasures(self._files, self._index.current())

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder; two in one second get two folders.

        Writers wait meanwhile: an erasure must find the copy complete or not begun. Every line is
        checked first: damage in a copy would be noticed only when it is needed.
        """
        with self._files.exclusive():
            _, position = self._index.attempt(self._index.refresh)
            head = Head(position.seq, position.hash, position.at)
            active = self._files.opened()
            check = verify(
                segments.pieces(active), seen=head, walk=walk_for(segments.size_bytes(active))
            )
            if check.broken_at is not None:
                raise Damage(check.broken_at, f"{check.problem}; no backup was made")
            folder = backup.backup_folder(self._seam, self._folder, target)
            copies.note_backup(self._seam, self._folder, self._name, folder, head)
            pieces, size = segments.pieces(active), segments.size_bytes(active)
            return backup.write_backup(
                self._seam,
                folder,
                self._name,
                head,
                backup.counted(pieces, size, progress),
                self.checkpoints(),
            )

    def seal(self) -> Sealed:
        """Closes the active file into a segment; the first event of the next file records it."""
        with self._files.exclusive():
            db, position = self._index.attempt(self._index.refresh)
            active = self._files.opened()
            first = active.first_seq() or 1
            head = Head(position.seq, position.hash, position.at)
            digest = state_digest(db, position.seq)
            name = None
            if head.seq > first or clock.is_jump(head.at, self._seam.now()):
                # Otherwise the last seal still covers everything.
                name = segments.close_segment(self._seam, active, head.seq).name
                writing = Writing(db, position, self._seam, is_confirmed=True)
                writing.note("system", sealed_event(first, head, digest))
                commit(self._files, db, position, writing, fresh=True)
        return what_was_sealed(first, head, digest, name)

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """The findings of ``doctor``; compares the index with the ledger and changes nothing."""
        from recollect.store.files.examine import examine  # slow to load

        self._fold_own()
        return examine(self._folder, self._name, progress, self._files.subjects)

    def accept_loss(self, reason: str | None) -> None:
        """Accepts that events were lost: keeps the valid ones and appends an event about it."""
        with self._files.exclusive():
            accept_loss(self._files, self._index, reason)

    @property
    def is_dropped(self) -> bool:
        """True once this process has noticed that the space was dropped."""
        return self._files.is_dropped

    @property
    def is_closed(self) -> bool:
        """True after ``close``."""
        return self._is_closed

    def would_drop(self) -> Drop:
        """What dropping the space would remove, and what would remain."""
        return drop_of(self, drop.size_bytes(self._folder), self._remains())

    def drop(self, reason: str | None) -> Drop:
        """Drops the space: its files and its copies in the workspace."""
        found = self.would_drop()
        with self._files.exclusive():
            head = self._head_if_readable()
            note = Dropped(
                space=self._name,
                at=self._seam.now(),
                by=account(),
                seq=None if head is None else head.seq,
                head=None if head is None else head.hash,
                first=segments.first_hash(self._folder),
                reason=reason,
            )
            self._files.release()
            drop.order(self._seam, self._folder, note)
            note, places = drop.finish(self._seam, self._folder, self._name)
        return structs.replace(found, places=places, dropped=note)

    def _remains(self) -> tuple[str, ...]:
        try:
            return tuple(copies.find_copies(self._folder, self._name))
        except OSError as error:
            raise as_ours(error) from error

    def _head_if_readable(self) -> Head | None:
        """The end of the ledger; a damaged one can be dropped too."""
        try:
            _, position = self._index.attempt(lambda: self._index.refresh(notes=False))
            return Head(position.seq, position.hash, position.at)
        except (RecollectError, *FOREIGN):
            return known_head(self._files.index_path)

    def _fold_own(self) -> None:
        """Before a look at the files themselves: folds what waits in this process."""
        with suppress(RecollectError):
            self._healing.await_acknowledged()

    def close(self) -> None:
        """Writes the queued commands and releases files and connections; may be called twice."""
        self._is_closed = True
        self._files.hurry()
        with suppress(RecollectError):  # a receipt that cannot be written is not an error
            self.flush()
        self._files.close()

    def let_go(self) -> object:
        """Called in a forked child: releases the inherited lock and turn."""
        inherited = (self._readers, self._files.forget())
        self._readers = Readers(self._healing, self._files.pool)
        return inherited
