"""Ledgers in the memory of this process, for tests and notebooks; they end with it.

Responsible for the bytes of each ledger and what is kept beside it. Leaves the index to
``store.indexed.space``. Invariant: these are real ledger bytes, so that verifying, rebuilding and
erasing mean the same here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from recollect.errors import NotFound
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import parse, seq_of
from recollect.ledger.lookup import offset_of
from recollect.model.events import GENESIS, Head
from recollect.model.values import Dropped, Finding, Token
from recollect.store.disk.disk import PIECE_BYTES
from recollect.store.indexed.ledger import (
    NOTHING_NEW,
    Block,
    Erased,
    Meanwhile,
    Tail,
    Uncached,
)
from recollect.store.keys.subject_keys import MemoryKeys
from recollect.store.keys.subjects import Subjects
from recollect.store.received import first_hash
from recollect.store.seam import Seam
from recollect.store.tokens.token_list import ListedTokens, TokenList, without_space

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.job_file import JobFile
    from recollect.store.jobs.kept_jobs import KeptJobs


class MemoryCheckpoints:
    """Notes in a dictionary."""

    keeps = True

    def __init__(self) -> None:
        self._notes: dict[int, bytes] = {}
        self._frontier: bytes | None = None

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        return sorted(self._notes)

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        if size not in self._notes:
            raise NotFound(f"no checkpoint was signed at {size} events")
        return self._notes[size]

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        self._notes[size] = note

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last."""
        return self._frontier

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self._frontier = data


class _Kept:
    """One ledger, and what is kept beside it."""

    def __init__(self) -> None:
        self.lines = bytearray()
        self.head = GENESIS
        self.epoch = self.changes = 0
        self.blocks: list[Block] = []
        self.checkpoints = MemoryCheckpoints()
        self.keys: dict[str, MemoryKeys] = {}  # by ledger


class MemoryLedger(Uncached):
    """A ledger in this process; no other one can have an index of it."""

    where = ":memory:"

    def __init__(self, store: MemoryLedgers, name: str) -> None:
        self._store = store
        self._name = name
        self._subjects = Subjects(self._keys_of, self._first, store.seam)
        self._kept: _Kept | None = None

    def tail(self, after: int, hash: bytes | None = None, dropped: int | None = None) -> Tail:
        """One look: where the ledger ends, and what follows an event."""
        token = None if hash is None else self._store.tokens().find(hash)
        found = self._store.kept.get(self._name)
        self._kept = self._kept or found
        if found is None:
            return Tail(None, GENESIS, 0, 0, 0, b"", token)
        data = b"".join(self.pieces(after)) if found is self._kept else b""
        size, epoch, blocks = len(found.lines), found.epoch, found.changes
        return Tail(id(found), found.head, size, epoch, blocks, data, token)

    def make(self) -> None:
        """Makes an empty ledger, unless there is one."""
        self._kept = self._store.kept.setdefault(self._name, _Kept())

    def restart(self, head: Head) -> bool:
        """Empties a ledger that has one event, this one."""
        if self._mine.head != head or head.seq != 1:
            return False
        self._mine.lines.clear()
        self._mine.head = GENESIS
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Other writers wait until this ends."""
        with self._store.turn:
            yield

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, meanwhile: Meanwhile
    ) -> bool:
        """Appends whole lines if the ledger ends at one head; then it ends at the other."""
        kept = self._mine
        with self._store.turn:
            if kept.head != before:
                return False
            meanwhile()
            kept.lines += data
            kept.head = head
            if erased is not None:
                kept.epoch, kept.changes = kept.epoch + 1, kept.changes + 1
                held = {id(block) for block in self.blocks_holding(erased.targets)}
                kept.blocks = [block for block in kept.blocks if id(block) not in held]
        return True

    def erase(self, lines: Mapping[int, bytes]) -> None:
        """Replaces lines by the same ones without their bodies."""
        kept = self._mine
        changed = [
            lines[seq] + b"\n" if (seq := seq_of(raw) or 0) in lines else raw
            for raw in lines_of([bytes(kept.lines)])
        ]
        kept.lines = bytearray(b"".join(changed))

    def pieces(self, after: int, through: int = NOTHING_NEW) -> Iterator[bytes]:
        """The lines after an event, in pieces."""
        kept = self._kept
        if kept is None or after >= kept.head.seq:
            return
        held, size = kept.lines, len(kept.lines)
        found = offset_of(after + 1, size, lambda at, count: bytes(held[at : at + count]))
        for at in range(size if found is None else found, size, PIECE_BYTES):
            yield bytes(held[at : min(at + PIECE_BYTES, size)])

    def lines(self, seqs: Collection[int]) -> dict[int, bytes]:
        """Some lines, without their newlines."""
        wanted = {*seqs}
        start = min(wanted, default=1) - 1
        found = dict[int, bytes]()
        for raw in lines_of(self.pieces(start)):
            if len(found) == len(wanted):
                break
            seq = seq_of(raw)
            if seq in wanted:
                found[seq] = raw.removesuffix(b"\n")
        return found

    def last_seal(self) -> int:
        """The event of the last seal; 1 if there is none."""
        seals = [raw for raw in lines_of(self.pieces(0)) if b'"kind":"ledger.sealed"' in raw[:400]]
        return parse(seals[-1].removesuffix(b"\n")).seq if seals else 1

    def still(self) -> AbstractContextManager[None]:
        """Other threads wait while a space has the turn."""
        return nullcontext()

    def blocks(self, embedder: str, after: int) -> list[Block]:
        """The blocks of an embedder after an event, in order."""
        mine = (block for block in self._mine.blocks if block.embedder == embedder)
        return sorted((block for block in mine if block.after >= after), key=lambda one: one.after)

    def blocks_holding(self, targets: Sequence[int]) -> list[Block]:
        """The blocks of every embedder that hold one of these texts."""
        return [
            block
            for block in self._mine.blocks
            if any(block.after < seq <= block.through for seq in targets)
        ]

    def keep_block(self, epoch: int, block: Block) -> bool:
        """Keeps a block, if nothing was erased since this epoch."""
        kept = self._mine
        if kept.epoch != epoch:
            return False
        if all(block[:2] != other[:2] for other in kept.blocks):
            kept.blocks.append(block)
            kept.changes += 1
        return True

    def tokens(self) -> list[Token]:
        """The tokens of the store."""
        return self._store.tokens().list()

    def checkpoints(self) -> MemoryCheckpoints:
        """The checkpoints of this ledger."""
        self.tail(0)
        return self._mine.checkpoints

    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return self._subjects

    def finish(self, lines: Collection[bytes], orders: Mapping[str, int]) -> tuple[str, ...]:
        """Destroys the keys of subjects."""
        return self._subjects.destroy(orders, max(orders.values(), default=0))

    def keep_keys(self) -> None:
        """Keeps nothing: there is no master key here."""

    def findings(self) -> list[Finding]:
        """Nothing here can be damaged from outside."""
        return []

    def drop(self, note: Dropped) -> bool:
        """Drops the ledger and what belongs to it."""
        return self._store.drop(self._name, note)

    @property
    def _mine(self) -> _Kept:
        if self._kept is None:
            self.make()
        return self._kept  # type: ignore[return-value]  # made a line before

    def _keys_of(self, ledger: str) -> MemoryKeys:
        return self._mine.keys.setdefault(ledger, MemoryKeys(self._store.seam))

    def _first(self) -> str | None:
        return first_hash(self.pieces(0))[0]


class _TokenPlace:
    """The list of tokens in this process."""

    def __init__(self) -> None:
        self._list = TokenList()
        self._changing = threading.Lock()

    def read(self) -> TokenList:
        """The list as it is now."""
        return self._list

    def change(self, how: Callable[[TokenList], TokenList]) -> TokenList:
        """Replaces the list."""
        with self._changing:
            self._list = how(self._list)
            return self._list


class MemoryLedgers:
    """The ledgers of this object, and the tokens and jobs beside them."""

    where = ":memory:"

    def __init__(self, seam: Seam) -> None:
        self.seam = seam
        self.kept: dict[str, _Kept] = {}
        self.turn = threading.RLock()
        self._dropped: list[Dropped] = []
        self._tokens = _TokenPlace()
        self._jobs: JobFile | None = None

    def ledger(self, name: str) -> MemoryLedger:
        """The ledger of a space."""
        return MemoryLedger(self, name)

    def names(self) -> list[str]:
        """The spaces that exist."""
        return sorted(self.kept)

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        return name in self.kept

    def heads(self, names: Sequence[str]) -> dict[str, int]:
        """The last event of each of these spaces."""
        kept = ((name, self.kept.get(name)) for name in names)
        return {name: found.head.seq for name, found in kept if found and found.head.seq}

    def drop(self, name: str, note: Dropped) -> bool:
        """Drops a ledger, its tokens and its jobs."""
        with self.turn:
            if self.kept.pop(name, None) is None:
                return False
            self._dropped.append(note)
        self._tokens.change(lambda before: without_space(before, name, self.seam.now()))
        if self._jobs is not None:
            self._jobs.drop_space(name)
        return True

    def dropped(self) -> list[Dropped]:
        """The notes about dropped spaces, oldest first."""
        return list(self._dropped)

    def tokens(self) -> ListedTokens:
        """What opens the spaces here."""
        return ListedTokens(self._tokens, lambda name: MemoryLedger(self, name).make(), self.seam)

    def jobs(self, token: Callable[[], Token | None]) -> KeptJobs:
        """The work that was asked for here."""
        from recollect.store.jobs.job_file import JobFile
        from recollect.store.jobs.kept_jobs import KeptJobs

        with self.turn:
            self._jobs = self._jobs or JobFile(None, self.seam)
        return KeptJobs(self._jobs, self.has, token)

    def end(self) -> None:
        """Notes nothing."""

    def give_up(self) -> None:
        """Does nothing: no server is waited for."""

    def close(self) -> None:
        """Ends the work that was asked for."""
        if self._jobs is not None:
            self._jobs.close()
