"""An engine for Recollect that keeps all memories of a place in one SQLite file.

    recollect --store sqlite://team.db remember "The database moved to port 5433."

Responsible for the port ``recollect.store.indexed.ledger``: the lines of each ledger and what
belongs to it, in tables. Leaves deciding, folding, recall and tokens to Recollect, whose index of a
ledger is in memory. Invariants: an append is one transaction and on the disk when it returns, and
of two writers at one head one gets False; erased bytes are overwritten in the file; looking creates
no file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import ConfigError, NotFound, Unavailable
from recollect.ledger.line import parse
from recollect.model.events import GENESIS, Head
from recollect.model.values import Dropped, Finding, Token
from recollect.store.engines import Opening
from recollect.store.indexed.backend import IndexedBackend
from recollect.store.indexed.ledger import (
    NOTHING_NEW,
    Block,
    Erased,
    Meanwhile,
    Tail,
    Uncached,
)
from recollect.store.jobs.job_file import JobFile
from recollect.store.jobs.kept_jobs import KeptJobs
from recollect.store.keys.subjects import Subjects
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours
from recollect.store.tokens.token_list import ListedTokens, TokenList, without_space

_WAIT_S: Final = 30.0  # for another process that writes
_PIECE_BYTES: Final = 1 << 20
_OURS: Final = 0x5265_4F46  # the sign of such a file, in its header
_HEADER_CHARS: Final = 400  # of a line; its kind stands there, and no words of a person
_LEFT: Final = (
    "NOT known: which other processes have this file open; the next call there drops what was "
    "erased before it answers",
    "NOT cleaned: free blocks of the disk, where the journal of this erasure was",
)

# AUTOINCREMENT: the number of a dropped ledger is never given to another one.
_SCHEMA: Final = f"""
PRAGMA application_id = {_OURS};
CREATE TABLE IF NOT EXISTS ledgers (
  place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL,
  hash TEXT NOT NULL, at TEXT NOT NULL, size INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0, blocks INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS lines (
  place INTEGER, seq INTEGER, line BLOB NOT NULL, PRIMARY KEY (place, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
  place INTEGER, embedder TEXT, after INTEGER, through INTEGER NOT NULL, vectors BLOB NOT NULL,
  PRIMARY KEY (place, embedder, after)
);
CREATE TABLE IF NOT EXISTS checkpoints (
  place INTEGER, size INTEGER, note BLOB NOT NULL, PRIMARY KEY (place, size)
);
CREATE TABLE IF NOT EXISTS dropped (number INTEGER PRIMARY KEY, note BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (one INTEGER PRIMARY KEY CHECK (one = 1), list BLOB NOT NULL);
"""
_DROP: Final = (
    "DELETE FROM lines WHERE place = ?",
    "DELETE FROM blocks WHERE place = ?",
    "DELETE FROM checkpoints WHERE place = ?",
)
_FRONTIER: Final = -1  # in the place of a size


def open_file(opening: Opening) -> IndexedBackend:
    """What the entry point names: the store at ``sqlite://PATH``."""
    if not opening.path:
        raise ConfigError("the address does not name a file", hint="write sqlite://PATH")
    return IndexedBackend(FileLedgers(opening), opening.seam)


class File:
    """The database: one connection, used by one thread at a time."""

    def __init__(self, path: Path, seam: Seam) -> None:
        self.path = path
        self._seam = seam
        self._turn = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._nothing: sqlite3.Connection | None = None  # what is read while there is no file
        self._pid = os.getpid()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the file for the whole block."""
        with self._transaction("BEGIN", create=False) as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when the block ends; other writers wait."""
        with self._transaction("BEGIN IMMEDIATE", create=True) as db:
            yield db

    @contextmanager
    def _transaction(self, begin: str, *, create: bool) -> Iterator[sqlite3.Connection]:
        with self._turn:
            try:
                db = self._opened(create=create)
                if db.in_transaction:  # this thread is inside another block, which will end it
                    yield db
                else:
                    with _committed(db, begin):
                        yield db
            except (sqlite3.Error, OSError) as error:
                raise as_ours(error) from error

    def _opened(self, *, create: bool) -> sqlite3.Connection:
        if os.getpid() != self._pid:
            raise Unavailable("this file was opened before a fork", hint="open it again")
        if self._db is None and (create or self.path.exists()):
            self._db = self._connected()
        if self._db is not None:
            return self._db
        if self._nothing is None:
            self._nothing = _connect(":memory:")
            self._nothing.executescript(_SCHEMA)
        return self._nothing

    def _connected(self) -> sqlite3.Connection:
        # Made here and not by SQLite, so that only its owner can read it.
        self._seam.close(self._seam.open(self.path, os.O_RDWR | os.O_CREAT))
        db = _connect(self.path)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Makes the tables; refuses a database of another program."""
        db.execute("PRAGMA synchronous = EXTRA")  # also the removal of the journal is on the disk
        db.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
        # In this order: another process may make the tables, with the sign, between the two.
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (sign,) = db.execute("PRAGMA application_id").fetchone()
        if tables and sign != _OURS:
            raise ConfigError(
                f"{self.path} is a database of another program", hint="name another file"
            )
        if not tables:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    def close(self) -> None:
        """Releases the file."""
        with self._turn:
            for db in (self._db, self._nothing):
                if db is not None:
                    db.close()
            self._db = self._nothing = None


@contextmanager
def _committed(db: sqlite3.Connection, begin: str) -> Iterator[None]:
    try:
        db.execute(begin)
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _connect(path: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)


class FileLedgers:
    """All ledgers of one file, and the tokens and jobs beside them."""

    def __init__(self, opening: Opening) -> None:
        self.where = opening.where
        self.opening = opening
        self.file = File(Path(opening.path).expanduser().absolute(), opening.seam)
        self._jobs = JobFile(Path(f"{self.file.path}-jobs"), opening.seam)

    def ledger(self, name: str) -> FileLedger:
        """The ledger of a space; nothing is looked at before it is used."""
        return FileLedger(self, name)

    def names(self) -> list[str]:
        """The spaces that exist."""
        with self.file.reading() as db:
            return [name for (name,) in db.execute("SELECT name FROM ledgers ORDER BY name")]

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        with self.file.reading() as db:
            row = db.execute("SELECT 1 FROM ledgers WHERE name = ?", (name,)).fetchone()
        return row is not None

    def heads(self, names: Sequence[str]) -> dict[str, int]:
        """The last event of each of these spaces that has one, in one look."""
        some = "SELECT name, seq FROM ledgers JOIN json_each(?) ON name = value WHERE seq > 0"
        with self.file.reading() as db:
            return dict(db.execute(some, (json.dumps([*names]),)))

    def drop(self, place: int, name: str, note: Dropped) -> bool:
        """Drops a ledger, its tokens and its jobs; a note stays."""
        with self.file.writing() as db:
            if db.execute("DELETE FROM ledgers WHERE place = ?", (place,)).rowcount == 0:
                return False
            for statement in _DROP:
                db.execute(statement, (place,))
            db.execute("INSERT INTO dropped (note) VALUES (?)", (msgspec.json.encode(note),))
            self.change(lambda before: without_space(before, name, self.opening.seam.now()))
            self._jobs.drop_space(name)
        return True

    def dropped(self) -> list[Dropped]:
        """The notes about dropped spaces, oldest first."""
        with self.file.reading() as db:
            rows = db.execute("SELECT note FROM dropped ORDER BY number").fetchall()
        return [msgspec.json.decode(note, type=Dropped) for (note,) in rows]

    def tokens(self) -> ListedTokens:
        """What opens the spaces here: this object keeps the list."""
        return ListedTokens(self, lambda name: self.ledger(name).make(), self.opening.seam)

    def read(self) -> TokenList:
        """The list of tokens as it is now."""
        with self.file.reading() as db:
            row = db.execute("SELECT list FROM tokens").fetchone()
        return TokenList() if row is None else msgspec.json.decode(row[0], type=TokenList)

    def change(self, how: Callable[[TokenList], TokenList]) -> TokenList:
        """Replaces the list of tokens while no other process does."""
        with self.file.writing() as db:
            after = how(self.read())
            kept = (msgspec.json.encode(after),)
            db.execute("INSERT OR REPLACE INTO tokens (one, list) VALUES (1, ?)", kept)
        return after

    def jobs(self, token: Callable[[], Token | None]) -> KeptJobs:
        """The work that was asked for here, in a second file."""
        return KeptJobs(self._jobs, self.has, token)

    def end(self) -> None:
        """Notes nothing: the file does not say which processes have an index."""

    def give_up(self) -> None:
        """Does nothing: no server is waited for."""

    def close(self) -> None:
        """Releases the files."""
        self._jobs.close()
        self.file.close()


class FileLedger(Uncached):
    """One ledger, as one process sees it."""

    def __init__(self, store: FileLedgers, name: str) -> None:
        opening = store.opening
        self.where = store.where
        self._store = store
        self._file = store.file
        self._name = name
        self._place: int | None = None  # of the first look: another ledger has another
        self._subjects = Subjects(opening.keys, self._first, opening.seam, opening.note_erased)

    def _here(self) -> int:
        """The number of this ledger, or one that none has."""
        if self._place is None:
            self.tail(NOTHING_NEW)
        return self._place or 0

    def _first(self) -> str | None:
        line = self.lines([1]).get(1)
        return None if line is None else parse(line).hash

    # Reading.

    def tail(self, after: int, hash: bytes | None = None, dropped: int | None = None) -> Tail:
        """One look: where the ledger ends, what follows an event, and the token of a hash."""
        which = "SELECT place, seq, hash, at, size, epoch, blocks FROM ledgers WHERE name = ?"
        with self._file.reading() as db:
            token = None if hash is None else self._store.tokens().find(hash)
            row = db.execute(which, (self._name,)).fetchone()
            if row is None:
                return Tail(None, GENESIS, 0, 0, 0, b"", token)
            place, seq, head, at, size, epoch, blocks = row
            self._place = self._place or place
            data, _ = self._page(after)
        return Tail(place, Head(seq, head, at), size, epoch, blocks, data, token)

    @contextmanager
    def still(self) -> Iterator[None]:
        """Every read of this thread until the end of the block sees one state."""
        with self._file.reading():
            yield

    def pieces(self, after: int, through: int = NOTHING_NEW) -> Iterator[bytes]:
        """The lines after an event, in pieces; nothing is held between two of them."""
        while after < through:
            data, after = self._page(after)
            if not data:
                return
            yield data

    def _page(self, after: int) -> tuple[bytes, int]:
        """Some lines after an event, and the last of these events."""
        rest = "SELECT seq, line FROM lines WHERE place = ? AND seq > ? ORDER BY seq"
        data = bytearray()
        with (
            self._file.reading() as db,
            closing(db.execute(rest, (self._here(), after))) as rows,
        ):
            for seq, line in rows:
                data += line + b"\n"
                after = seq
                if len(data) >= _PIECE_BYTES:
                    break
        return bytes(data), after

    def lines(self, seqs: Collection[int]) -> dict[int, bytes]:
        """Some lines, without their newlines."""
        some = "SELECT seq, line FROM json_each(?) JOIN lines ON place = ? AND seq = value"
        with self._file.reading() as db:
            return dict(db.execute(some, (json.dumps([*seqs]), self._here())))

    def last_seal(self) -> int:
        """The event of the last seal; 1 if there is none."""
        last = "SELECT max(seq) FROM lines WHERE place = ? AND instr(substr(line, 1, ?), ?)"
        with self._file.reading() as db:
            asked = (self._here(), _HEADER_CHARS, b'"kind":"ledger.sealed"')
            seq: int | None = db.execute(last, asked).fetchone()[0]
        return seq or 1

    # Writing.

    def make(self) -> None:
        """Makes an empty ledger, unless there is one."""
        new = "INSERT OR IGNORE INTO ledgers (name, seq, hash, at) VALUES (?, ?, ?, ?)"
        with self._file.writing() as db:
            db.execute(new, (self._name, GENESIS.seq, GENESIS.hash, GENESIS.at))
        self._here()

    def restart(self, head: Head) -> bool:
        """Empties a ledger that has one event, this one."""
        with self._file.writing() as db:
            if head.seq != 1 or not self._move(db, head, b"", GENESIS):
                return False
            db.execute("DELETE FROM lines WHERE place = ?", (self._here(),))
            db.execute("UPDATE ledgers SET size = 0 WHERE place = ?", (self._here(),))
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Other writers wait until this ends; what was appended is durable then."""
        with self._file.writing():
            yield

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, meanwhile: Meanwhile
    ) -> bool:
        """Appends whole lines if the ledger ends at one head; then it ends at the other."""
        with self._file.writing() as db:
            if not self._move(db, before, data, head):
                return False
            meanwhile()
            lines = enumerate(data.split(b"\n")[:-1], before.seq + 1)
            place = self._here()
            db.executemany(
                "INSERT INTO lines VALUES (?, ?, ?)", ((place, seq, line) for seq, line in lines)
            )
            if erased is not None:
                self._end_epoch(db, erased)
        return True

    def _move(self, db: sqlite3.Connection, before: Head, data: bytes, head: Head) -> bool:
        """Moves the head, if it is this one; it is the lock between two writers."""
        move = (
            "UPDATE ledgers SET seq = ?, hash = ?, at = ?, size = size + ?"
            " WHERE place = ? AND seq = ? AND hash = ?"
        )
        to = (head.seq, head.hash, head.at, len(data))
        return db.execute(move, (*to, self._here(), before.seq, before.hash)).rowcount == 1

    def _end_epoch(self, db: sqlite3.Connection, erased: Erased) -> None:
        """Caches of before are refused from now on; the vectors of what is erased go."""
        after = "UPDATE ledgers SET epoch = epoch + 1, blocks = blocks + 1 WHERE place = ?"
        db.execute(after, (self._here(),))
        gone = "DELETE FROM blocks WHERE place = ? AND embedder = ? AND after = ?"
        held = self.blocks_holding(erased.targets)
        db.executemany(gone, [(self._here(), one.embedder, one.after) for one in held])

    def erase(self, lines: Mapping[int, bytes]) -> None:
        """Replaces lines by the same ones without their bodies."""
        place = self._here()
        one = "UPDATE lines SET line = ? WHERE place = ? AND seq = ?"
        size = "SELECT coalesce(sum(length(line) + 1), 0) FROM lines WHERE place = ?"
        with self._file.writing() as db:
            db.executemany(one, [(line, place, seq) for seq, line in lines.items()])
            (left,) = db.execute(size, (place,)).fetchone()
            db.execute("UPDATE ledgers SET size = ? WHERE place = ?", (left, place))

    # Vectors, which are costly to make again.

    def blocks(self, embedder: str, after: int) -> list[Block]:
        """The blocks of an embedder after an event, in order."""
        return [one for one in self._blocks(after) if one.embedder == embedder]

    def blocks_holding(self, targets: Sequence[int]) -> list[Block]:
        """The blocks of every embedder that hold one of these texts."""
        return [
            one for one in self._blocks(0) if any(one.after < seq <= one.through for seq in targets)
        ]

    def _blocks(self, after: int) -> list[Block]:
        some = (
            "SELECT embedder, after, through, vectors FROM blocks"
            " WHERE place = ? AND after >= ? ORDER BY after"
        )
        with self._file.reading() as db:
            return [Block(*row) for row in db.execute(some, (self._here(), after))]

    def keep_block(self, epoch: int, block: Block) -> bool:
        """Keeps a block, if nothing was erased since this epoch."""
        change = "UPDATE ledgers SET blocks = blocks + 1 WHERE place = ? AND epoch = ?"
        with self._file.writing() as db:
            if db.execute(change, (self._here(), epoch)).rowcount == 0:
                return False
            row = (self._here(), *block)
            db.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?, ?, ?)", row)
        return True

    # What belongs to it.

    def tokens(self) -> list[Token]:
        """The tokens of the store."""
        return self._store.tokens().list()

    def checkpoints(self) -> FileCheckpoints:
        """The checkpoints of this ledger."""
        return FileCheckpoints(self._file, self._here())

    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return self._subjects

    def finish(self, lines: Collection[bytes], orders: Mapping[str, int]) -> tuple[str, ...]:
        """Destroys keys, notes what was erased for backups of before, and says what is left."""
        heads = [parse(line).head for line in lines]
        self._subjects.note_erased({head.seq: head.hash for head in heads})
        told = self._subjects.destroy(orders, max(orders.values(), default=0))
        return (*told, *_LEFT)

    def keep_keys(self) -> None:
        """Does nothing: the keys are with this person already."""

    def findings(self) -> list[Finding]:
        """What ``doctor`` says about the file."""
        with self._file.reading() as db:
            (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if said == "ok":
            return []
        fix = "restore the file from a copy; `recollect admin verify` says what it contains"
        return [Finding(level="problem", what="file", detail=said, fix=fix)]

    def drop(self, note: Dropped) -> bool:
        """Drops the ledger and what belongs to it; a note stays."""
        return self._store.drop(self._here(), self._name, note)


class FileCheckpoints:
    """The signed notes of one ledger."""

    keeps = True

    def __init__(self, file: File, place: int) -> None:
        self._file = file
        self._place = place

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        some = "SELECT size FROM checkpoints WHERE place = ? AND size > ? ORDER BY size"
        with self._file.reading() as db:
            return [size for (size,) in db.execute(some, (self._place, _FRONTIER))]

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        found = self._get(size)
        if found is None:
            raise NotFound(f"no checkpoint was signed at {size} events")
        return found

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        kept = "INSERT OR REPLACE INTO checkpoints SELECT place, ?, ? FROM ledgers WHERE place = ?"
        with self._file.writing() as db:
            db.execute(kept, (size, note, self._place))  # nothing if it was dropped meanwhile

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last."""
        return self._get(_FRONTIER)

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self.keep(_FRONTIER, data)

    def _get(self, size: int) -> bytes | None:
        one = "SELECT note FROM checkpoints WHERE place = ? AND size = ?"
        with self._file.reading() as db:
            found: tuple[bytes] | None = db.execute(one, (self._place, size)).fetchone()
        return None if found is None else found[0]
