"""One ledger in a database.

Responsible for its statements: one look for what is new, one call for an append. Leaves connections
to ``store.postgres.pool``, the keys of subjects to ``store.postgres.subject_keys`` and the index to
``store.indexed``. Invariant: an append is durable when it returns True; the server's function
decides between two writers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, cast

import psycopg

from recollect.errors import Unavailable
from recollect.index.rows import Row
from recollect.ledger.line import parse
from recollect.model.events import GENESIS, Head
from recollect.model.values import Dropped, Finding
from recollect.store.indexed.ledger import Block, Erased, Meanwhile, Snapshot, Tail
from recollect.store.postgres.checkpoints import PostgresCheckpoints
from recollect.store.postgres.db import Connection, as_ours, run
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.subject_keys import Keeping, KeptKeys
from recollect.store.postgres.tokens import token_in
from recollect.store.postgres.vacuum import NOT_YET, not_reached, rewrite_keys
from recollect.store.seam import Seam
from recollect.store.subjects import Subjects

_PIECE_BYTES: Final = 1 << 20
_PIECE_LINES: Final = 2_000
_HEAD_CELLS: Final = 8


class PostgresLedger:
    """The ledger of one space, as one process sees it."""

    keeps_caches = True

    def __init__(self, pool: Pool, name: str, seam: Seam, keeping: Keeping | None) -> None:
        self._pool = pool
        self._name = name
        self._seam = seam
        self._place: int | None = None
        self._held = threading.local()  # the connection of a thread that has one already
        where = f"{pool.where}, space {name}"
        self._keys = KeptKeys(self, self._here, where, seam, keeping)

    @property
    def where(self) -> str:
        """The database, without its password."""
        return self._pool.where

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection: that of this thread if it has one, which must not wait for a second one."""
        held: Connection | None = getattr(self._held, "connection", None)
        try:
            if held is not None:
                yield held
                return
            with self._pool.connection() as connection:
                yield connection
        except psycopg.Error as error:
            raise as_ours(error) from error

    def _run(self, name: str, params: Mapping[str, object]) -> list[Row]:
        with self.connection() as connection:
            return run(connection, name, params)

    def _here(self) -> int:
        """The number of the ledger; the first look finds it."""
        if self._place is None:
            self.tail(GENESIS.seq)
        if self._place is None:
            raise Unavailable(f"the space {self._name!r} is not there", hint="open it again")
        return self._place

    # Reading.

    def tail(self, after: int, hash: bytes | None = None) -> Tail:
        """One look: where the ledger ends, what follows an event, and the token of a hash."""
        asked = {
            "name": self._name, "after": after, "hash": hash,
            "most": _PIECE_LINES, "bytes": _PIECE_BYTES,
        }  # fmt: skip
        (row,) = self._run("tail", asked)
        token = None if row[_HEAD_CELLS] is None else token_in(row[_HEAD_CELLS:])
        place, seq, said, at, size, epoch, blocks, lines = row[:_HEAD_CELLS]
        if place is None:
            return Tail(None, GENESIS, 0, 0, 0, b"", token)
        self._place = self._place or cast(int, place)
        head = Head(cast(int, seq), str(said), str(at))
        data = _joined(cast("list[bytes]", lines))
        counts = cast(int, size), cast(int, epoch), cast(int, blocks)
        return Tail(cast(int, place), head, *counts, data, token)

    @contextmanager
    def still(self) -> Iterator[None]:
        """Every read of this thread until the end of the block sees one state."""
        with self._alone_with("begin_still"):
            yield

    def pieces(self, after: int) -> Iterator[bytes]:
        """The lines after an event, in pieces; no connection is held between two of them."""
        while True:
            asked = {
                "space": self._here(), "after": after, "most": _PIECE_LINES, "bytes": _PIECE_BYTES,
            }  # fmt: skip
            rows = self._run("page", asked)
            if not rows:
                return
            after = cast(int, rows[-1][1])
            yield _joined([cast(bytes, line) for line, _ in rows])

    def lines(self, seqs: Collection[int]) -> dict[int, bytes]:
        """Some lines, without their newlines."""
        rows = self._run("lines", {"space": self._here(), "seqs": [*seqs]})
        return {cast(int, seq): cast(bytes, line) for seq, line in rows}

    def last_seal(self) -> int:
        """The event of the last seal; 1 if there is none."""
        return cast(int, self._run("last_seal", {"space": self._here()})[0][0])

    # Writing.

    def make(self) -> None:
        """Makes an empty ledger, unless there is one."""
        self._run("make_space", {"name": self._name})

    def restart(self, head: Head) -> bool:
        """Empties a ledger that has one event, this one."""
        return bool(self._run("restart", {"space": self._here(), "hash": head.hash})[0][0])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Other writers wait until this ends; what was appended is durable then."""
        with self._alone_with("begin"):
            self._run("lock_space", {"space": self._here()})
            yield

    @contextmanager
    def _alone_with(self, begin: str) -> Iterator[None]:
        """A transaction that the statements of this thread belong to."""
        with self.connection() as connection:
            is_mine = getattr(self._held, "connection", None) is None
            if not is_mine:
                yield
                return
            run(connection, begin, {})
            self._held.connection = connection
            try:
                yield
                run(connection, "commit", {})
            finally:
                self._held.connection = None
                if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.rollback()

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, meanwhile: Meanwhile
    ) -> bool:
        """Appends whole lines if the ledger ends at one head; then it ends at the other."""
        asked = {
            "space": self._here(), "head": before.seq, "headed": before.hash,
            "lines": data.split(b"\n")[:-1], "hashed": head.hash, "dated": head.at,
            "targets": None if erased is None else [*erased.targets],
            "subjects": None if erased is None else [*erased.subjects],
        }  # fmt: skip
        meanwhile()
        return bool(self._run("append", asked)[0][0])

    def erase(self, lines: Mapping[int, bytes]) -> None:
        """Replaces lines by the same ones without their bodies."""
        if lines:
            asked = {"space": self._here(), "seqs": [*lines], "lines": [*lines.values()]}
            self._run("erase", asked)
            self._run("resize", {"space": self._here()})

    # Caches.

    def snapshot(self, version: str) -> Snapshot | None:
        """The index that was kept by this version."""
        rows = self._run("get_snapshot", {"space": self._here(), "version": version})
        return Snapshot(cast(int, rows[0][0]), cast(bytes, rows[0][1])) if rows else None

    def keep_snapshot(self, epoch: int, version: str, snapshot: Snapshot) -> bool:
        """Keeps an index, if nothing was erased since this epoch."""
        asked = {
            "space": self._here(), "epoch": epoch, "version": version,
            "seq": snapshot.seq, "image": snapshot.image,
        }  # fmt: skip
        return bool(self._run("keep_snapshot", asked)[0][0])

    def blocks(self, embedder: str, after: int) -> list[Block]:
        """The blocks of an embedder after an event, in order."""
        asked = {"space": self._here(), "embedder": embedder, "after": after}
        return [_block(row) for row in self._run("get_blocks", asked)]

    def blocks_holding(self, targets: Sequence[int]) -> list[Block]:
        """The blocks of every embedder that hold one of these texts."""
        asked = {"space": self._here(), "targets": [*targets]}
        return [_block(row) for row in self._run("blocks_holding", asked)]

    def keep_block(self, epoch: int, block: Block) -> bool:
        """Keeps a block, if nothing was erased since this epoch."""
        asked = {"space": self._here(), "epoch": epoch, **block._asdict()}
        return bool(self._run("keep_block", asked)[0][0])

    # What belongs to it.

    def checkpoints(self) -> PostgresCheckpoints:
        """The checkpoints beside the ledger, in a table of the same database."""
        return PostgresCheckpoints(self, self._here)

    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return Subjects(self._keys.opening, self._first, self._seam)

    def _first(self) -> str | None:
        line = self.lines([1]).get(1)
        return None if line is None else parse(line).hash

    def finish(self, lines: Collection[bytes], orders: Mapping[str, int]) -> tuple[str, ...]:
        """Destroys copies of keys on this machine, notes what was erased, and what is left."""
        told = [*self._keys.finish(orders, self._first), *self._keys.note_erased(lines, self._first)]
        if orders:
            told += rewrite_keys(self._pool.url)
        with self.connection() as connection:
            return (*told, NOT_YET, *not_reached(connection))

    def keep_keys(self) -> None:
        """Copies wrapped keys to this machine: a backup of the ledger alone cannot be read."""
        self._keys.keep_copies(self._first)

    def findings(self) -> list[Finding]:
        """What ``doctor`` says about the server."""
        return self._pool.findings()

    def drop(self, note: Dropped) -> bool:
        """Drops the ledger and what belongs to it; a note stays."""
        asked = {
            "space": self._here(), "at": note.at, "by": note.by, "first": note.first,
            "reason": note.reason,
        }  # fmt: skip
        return bool(self._run("drop_space", asked)[0][0])


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"".join([part for line in lines for part in (line, b"\n")])


def _block(row: Row) -> Block:
    embedder, after, through, rows = row
    return Block(str(embedder), cast(int, after), cast(int, through), cast(bytes, rows))
