"""One ledger in a database.

Responsible for its statements: one look for what is new, one call for an append; and for its
checkpoints, in a table. Leaves what a note says to ``recollect.proof``, connections
to ``store.postgres.pool``, the keys of subjects to ``store.postgres.subject_keys``, the key of
caches to ``store.postgres.cache_keys``, who has an index to ``store.postgres.holders``, and the
index to ``store.indexed``. Invariant: an append is durable when it returns True; the server's
function decides between two writers; no note is kept for a space that was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, cast

from recollect.errors import NotFound, Unavailable
from recollect.index.rows import Row
from recollect.ledger.line import parse
from recollect.model.events import GENESIS, Head
from recollect.model.values import Dropped, Finding, Token
from recollect.store.indexed.ledger import (
    NOTHING_NEW,
    Block,
    Erased,
    Meanwhile,
    Snapshot,
    Tail,
    Woken,
)
from recollect.store.keys.subjects import Subjects
from recollect.store.postgres.cache_keys import CacheKeys
from recollect.store.postgres.db import run
from recollect.store.postgres.holders import NOBODY, Holding, Process
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.subject_keys import SpaceKeys
from recollect.store.postgres.subjects import Keeping
from recollect.store.postgres.tokens import PostgresTokens, token_in
from recollect.store.postgres.vacuum import NOT_YET, not_reached, rewrite_keys
from recollect.store.postgres.wait import Lost
from recollect.store.seam import Seam

_PIECE_BYTES: Final = 1 << 20
_PIECE_LINES: Final = 2_000
_HEAD_CELLS: Final = 9
_NOTED: Final = 8  # the cell of a look that says what epoch there is, if it noted who looks
_FRONTIER: Final = 0  # the size under which the frontier is kept; no note is of no events


class PostgresLedger:
    """The ledger of one space, as one process sees it."""

    keeps_caches = True

    def __init__(self, process: Process, name: str, seam: Seam, keeping: Keeping | None) -> None:
        pool = self._pool = process.pool
        self._holding = Holding(process)
        self._cache_keys = CacheKeys(pool, None if keeping is None else keeping.master, seam)
        self._name = name
        self._seam = seam
        self._place: int | None = None
        self._keeping = keeping

    @property
    def where(self) -> str:
        """The database, without its password."""
        return self._pool.where

    def _here(self) -> int:
        """The number of the ledger; the first look finds it."""
        place = self._here_if_any()
        if not place:
            raise Unavailable(f"the space {self._name!r} is not there", hint="open it again")
        return place

    def _here_if_any(self) -> int:
        """The number of the ledger, or one that none has."""
        if self._place is None:
            self.tail(GENESIS.seq)
        return self._place or 0

    # Reading.

    def tail(self, after: int, hash: bytes | None = None, dropped: int | None = None) -> Tail:
        """One look: where the ledger ends, what follows an event, and the token of a hash."""
        asked = {
            "name": self._name, "after": after, "hash": hash,
            "most": _PIECE_LINES, "bytes": _PIECE_BYTES,
        }  # fmt: skip
        note = dropped if dropped is not None and self._holding.is_due(dropped) else None
        row, present = self._holding.ask("tail", asked, note, at=_NOTED)
        token = None if row[_HEAD_CELLS] is None else token_in(row[_HEAD_CELLS:])
        place, seq, said, at, size, epoch, blocks, lines = row[:_NOTED]
        if present not in (None, epoch):  # an erasure came between the look and the note
            return self.tail(after, hash, dropped)
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
        with self._pool.transaction(is_still=True):
            yield

    def pieces(self, after: int, through: int = NOTHING_NEW) -> Iterator[bytes]:
        """The lines after an event, in pieces; no connection is held between two of them."""
        while after < through:
            asked = {
                "space": self._here(), "after": after, "most": _PIECE_LINES, "bytes": _PIECE_BYTES,
            }  # fmt: skip
            rows = self._pool.ask("page", asked)
            if not rows:
                return
            after = cast(int, rows[-1][1])
            yield _joined([cast(bytes, line) for line, _ in rows])

    def lines(self, seqs: Collection[int]) -> dict[int, bytes]:
        """Some lines, without their newlines."""
        rows = self._pool.ask("lines", {"space": self._here(), "seqs": [*seqs]})
        return {cast(int, seq): cast(bytes, line) for seq, line in rows}

    def last_seal(self) -> int:
        """The event of the last seal; 1 if there is none."""
        return cast(int, self._pool.ask("last_seal", {"space": self._here()})[0][0])

    # Writing.

    def make(self) -> None:
        """Makes an empty ledger, unless there is one."""
        self._pool.ask("make_space", {"name": self._name})

    def restart(self, head: Head) -> bool:
        """Empties a ledger that has one event, this one."""
        return bool(self._pool.ask("restart", {"space": self._here(), "hash": head.hash})[0][0])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Other writers wait until this ends; what was appended is durable then."""
        with self._pool.transaction() as connection:
            run(connection, "lock_space", {"space": self._here()})
            yield

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
        try:
            return bool(self._pool.ask("append", asked)[0][0])
        except Lost:  # perhaps after it was done: these bytes are appended once at most
            return bool(self._pool.ask("append", asked)[0][0]) or self._leads_to(head)

    def _leads_to(self, head: Head) -> bool:
        with self.alone():  # waits for the standby too: what is there may not have reached it
            line = self.lines([head.seq]).get(head.seq)
        return line is not None and parse(line).hash == head.hash

    def erase(self, lines: Mapping[int, bytes]) -> None:
        """Replaces lines by the same ones without their bodies."""
        if lines:
            asked = {"space": self._here(), "seqs": [*lines], "lines": [*lines.values()]}
            with self.alone():  # else an append that ends meanwhile would not be counted
                self._pool.ask("erase", asked)
                self._pool.ask("resize", {"space": self._here()})

    # Caches.

    def wake(self, version: str, dropped: int) -> Woken:
        """Notes that an index is here from now on; the one that was kept by this version."""
        asked = {"space": self._here(), "version": version}
        row, present = self._holding.ask("wake", asked, dropped, at=0)
        _, seq, image, key = row
        if seq is None:
            return Woken(present, None)
        what = _snapshot(version, cast(int, seq))
        found = self._opened(cast(bytes, image), what, key)
        return Woken(present, None if found is None else Snapshot(cast(int, seq), found))

    def hold(self, dropped: int) -> None:
        """Notes up to which epoch the index here has dropped what was erased."""
        if not self._holding.is_noted(dropped):
            self._cache_keys.forget()
            self._holding.ask("hold", {"space": self._here()}, dropped, at=0)

    def let_go(self) -> None:
        """Notes that no index is here any more."""
        self._cache_keys.forget()
        if self._place is not None:
            self._holding.let_go(self._place)

    def holders(self) -> tuple[str, ...]:
        """What other processes still have of what was erased, for people."""
        return self._holding.others(self._here())

    def keep_snapshot(self, epoch: int, version: str, snapshot: Snapshot) -> bool:
        """Keeps an index, if nothing was erased since this epoch."""
        what = _snapshot(version, snapshot.seq)
        asked = {"version": version, "seq": snapshot.seq}
        return self._keep("keep_snapshot", epoch, asked, "image", snapshot.image, what)

    def blocks(self, embedder: str, after: int) -> list[Block]:
        """The blocks of an embedder after an event, in order."""
        asked = {"space": self._here(), "embedder": embedder, "after": after}
        return self._blocks(self._pool.ask("get_blocks", asked))

    def blocks_holding(self, targets: Sequence[int]) -> list[Block]:
        """The blocks of every embedder that an erasure of these texts removes."""
        asked = {"space": self._here(), "targets": [*targets]}
        return self._blocks(self._pool.ask("blocks_holding", asked))

    def keep_block(self, epoch: int, block: Block) -> bool:
        """Keeps a block, if nothing was erased since this epoch."""
        embedder, after, through, rows = block
        asked = {"embedder": embedder, "after": after, "through": through}
        return self._keep("keep_block", epoch, asked, "rows", rows, _block(*block[:3]))

    def _keep(
        self, name: str, epoch: int, asked: dict[str, object], data: str, clear: bytes, what: str
    ) -> bool:
        """Keeps a cache, encrypted if the space has subjects."""
        closed = self._cache_keys.close(self._here(), epoch, clear, what)
        if closed is None:
            return False
        kept = {"space": self._here(), "epoch": epoch, data: closed.data, "key": closed.key}
        is_kept = bool(self._pool.ask(name, {**asked, **kept})[0][0])
        if not is_kept:  # perhaps because there are subjects by now
            self._cache_keys.note_subjects()
        return is_kept

    def _opened(self, data: bytes, what: str, key: object) -> bytes | None:
        return self._cache_keys.open(self._here(), data, what, cast("bytes | None", key))

    def _blocks(self, rows: Sequence[Row]) -> list[Block]:
        """Those that can be read here."""
        found = list[Block]()
        for embedder, after, through, data, key in rows:
            name, span = str(embedder), (cast(int, after), cast(int, through))
            opened = self._opened(cast(bytes, data), _block(name, *span), key)
            if opened is not None:
                found.append(Block(name, *span, opened))
        return found

    # What belongs to it.

    def tokens(self) -> list[Token]:
        """The tokens of the database."""
        return PostgresTokens(self._pool).list()

    def checkpoints(self) -> PostgresCheckpoints:
        """The checkpoints beside the ledger, in a table of the same database."""
        return PostgresCheckpoints(self._pool, self._here)

    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return Subjects(None if self._keeping is None else self._keys, self._first, self._seam)

    def _keys(self, ledger: str) -> SpaceKeys:
        self._cache_keys.note_subjects()
        keeping = cast(Keeping, self._keeping)
        where = f"{self._pool.where}, space {self._name}"
        return keeping.keys(self._pool, self._here_if_any, ledger, where, self._seam)

    def _first(self) -> str | None:
        line = self.lines([1]).get(1)
        return None if line is None else parse(line).hash

    def finish(self, lines: Collection[bytes], orders: Mapping[str, int]) -> tuple[str, ...]:
        """Destroys copies of keys on this machine, notes what was erased, and what is left."""
        told = [*(self.holders() or (NOBODY,))]
        first = self._first()
        if self._keeping is not None and first is not None:
            told += self._keeping.finish(self._keys(first), orders)
            told += self._keeping.note_heads(first, [parse(line).head for line in lines])
        if orders:
            told += rewrite_keys(self._pool.url)
        with self._pool.connection() as connection:
            return (*told, NOT_YET, *not_reached(connection))

    def keep_keys(self) -> None:
        """Copies wrapped keys to this machine: a backup of the ledger alone cannot be read."""
        first = self._first()
        if self._keeping is not None and first is not None:
            self._keeping.keep_copies(self._keys(first))

    def findings(self) -> list[Finding]:
        """What ``doctor`` says about the server, and about who has still what was erased."""
        left = [one for one in self.holders() if one.startswith("NOT ")]
        others = [Finding(level="note", what="processes", detail=one) for one in left]
        return [*self._pool.findings(), *others]

    def drop(self, note: Dropped) -> bool:
        """Drops the ledger and what belongs to it; a note stays."""
        asked = {
            "space": self._here(), "at": note.at, "by": note.by, "first": note.first,
            "reason": note.reason,
        }  # fmt: skip
        return bool(self._pool.ask("drop_space", asked)[0][0])


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"".join([part for line in lines for part in (line, b"\n")])


def _snapshot(version: str, seq: int) -> str:
    """What an encrypted snapshot is bound to."""
    return f"snapshot\n{version}\n{seq}"


def _block(embedder: str, after: int, through: int) -> str:
    """What an encrypted block is bound to."""
    return f"block\n{embedder}\n{after}\n{through}"


class PostgresCheckpoints:
    """The notes of one space."""

    keeps = True

    def __init__(self, pool: Pool, place: Callable[[], int]) -> None:
        self._pool = pool
        self._place = place

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        found = self._pool.ask("checkpoint_sizes", {"space": self._place()})
        return [cast(int, size) for (size,) in found]

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        found = self._get(size) if size > 0 else None
        if found is None:
            raise NotFound(f"no checkpoint was signed at {size} events")
        return found

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        if size <= 0:
            raise ValueError(f"a checkpoint of {size} events")
        if not self._keep(size, note):
            raise NotFound("the space was dropped", hint="open it again")

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last."""
        return self._get(_FRONTIER)

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self._keep(_FRONTIER, data)

    def _get(self, size: int) -> bytes | None:
        found = self._pool.ask("get_checkpoint", {"space": self._place(), "size": size})
        return bytes(cast(bytes, found[0][0])) if found else None

    def _keep(self, size: int, note: bytes) -> bool:
        asked = {"space": self._place(), "size": size, "note": note}
        return bool(self._pool.ask("keep_checkpoint", asked))
