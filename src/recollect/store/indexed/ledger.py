"""The port of a ledger that an index is folded from.

Responsible for what a place that keeps ledgers must do: return what is new, append if no other came
before, and keep caches for those who fold. Leaves deciding, folding and chaining to
``store.indexed.space``. Invariants, for every implementation: an append is whole and durable when
it returns True; of two writers at one head one gets False; a cache that was made before an erasure
is not kept after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.errors import Unavailable
from recollect.model.events import EventsErased, Head
from recollect.model.values import Dropped, Finding, Token
from recollect.store.keys.subjects import Subjects
from recollect.store.port import Checkpoints
from recollect.store.tokens.tokens import Tokens

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.jobs import Jobs

NOTHING_NEW = 1 << 60  # a position after every event


class Late(Unavailable):
    """Another writer has appended since the look at the ledger."""

    def __init__(self) -> None:
        super().__init__("another writer of this memory came before", hint="try again")


class Tail(NamedTuple):
    """A look at a ledger: one state of it, with what follows an event."""

    place: int | None  # the ledger itself, whatever its name; None: there is none
    head: Head
    size: int  # in bytes
    epoch: int  # how many appends erased something
    blocks: int  # how often the blocks of vectors changed
    data: bytes  # whole lines after the event that was named, perhaps not all
    token: Token | None  # the one that was asked about, valid or not


class Erased(NamedTuple):
    """What an append orders erased."""

    targets: tuple[int, ...]
    subjects: tuple[str, ...]  # their keys are destroyed


def erased_by(orders: Sequence[EventsErased]) -> Erased | None:
    """What these events order erased; None if there are none."""
    if not orders:
        return None
    targets = {seq for order in orders for seq in order.targets}
    subjects = {one for order in orders for one in order.subjects}
    return Erased(tuple(sorted(targets)), tuple(sorted(subjects)))


class Snapshot(NamedTuple):
    """An index as it was at an event."""

    seq: int
    image: bytes


class Woken(NamedTuple):
    """What a ledger says when an index of it is about to be made."""

    epoch: int | None  # the present one; None if nothing was noted
    snapshot: Snapshot | None


class Block(NamedTuple):
    """The vectors of the texts after one event, up to another."""

    embedder: str
    after: int
    through: int
    rows: bytes


class Ledger(Protocol):
    """One ledger, as one process sees it; the place is that of the first tail."""

    @property
    def where(self) -> str:
        """The location, for people."""
        ...

    @property
    def keeps_caches(self) -> bool:
        """True if snapshots kept here outlive this process."""
        ...

    def tail(self, after: int, hash: bytes | None = None, dropped: int | None = None) -> Tail:
        """One look: where the ledger ends, what follows an event, and the token of a hash.

        With ``dropped`` there is an index here, without what was erased up to that epoch; where
        others are told so, it is told with this look, if that is due.
        """
        ...

    def make(self) -> None:
        """Makes an empty ledger, unless there is one."""
        ...

    def restart(self, head: Head) -> bool:
        """Empties a ledger that has one event, this one."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Other writers wait until this ends."""
        ...

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, meanwhile: Meanwhile
    ) -> bool:
        """Appends whole lines if the ledger ends at one head; then it ends at the other.

        ``meanwhile`` is called once the append is on its way, and before this returns.
        """
        ...

    def erase(self, lines: Mapping[int, bytes]) -> None:
        """Replaces lines by the same ones without their bodies."""
        ...

    def pieces(self, after: int, through: int = NOTHING_NEW) -> Iterator[bytes]:
        """The lines after an event, in pieces; it is enough if they come to another event."""
        ...

    def lines(self, seqs: Collection[int]) -> dict[int, bytes]:
        """Some lines, without their newlines."""
        ...

    def last_seal(self) -> int:
        """The event of the last seal; 1 if there is none."""
        ...

    def still(self) -> AbstractContextManager[None]:
        """Every read of this thread until the end of the block sees one state."""
        ...

    def wake(self, version: str, dropped: int) -> Woken:
        """Notes that an index is here from now on; the one that was kept by this version."""
        ...

    def hold(self, dropped: int) -> None:
        """Notes up to which epoch the index here has dropped what was erased."""
        ...

    def let_go(self) -> None:
        """Notes that no index is here any more."""
        ...

    def holders(self) -> tuple[str, ...]:
        """What other processes still have of what was erased, for people."""
        ...

    def keep_snapshot(self, epoch: int, version: str, snapshot: Snapshot) -> bool:
        """Keeps an index, if nothing was erased since this epoch."""
        ...

    def blocks(self, embedder: str, after: int) -> list[Block]:
        """The blocks of an embedder after an event, in order."""
        ...

    def blocks_holding(self, targets: Sequence[int]) -> list[Block]:
        """The blocks of every embedder that an erasure of these texts removes."""
        ...

    def keep_block(self, epoch: int, block: Block) -> bool:
        """Keeps a block, if nothing was erased since this epoch."""
        ...

    def tokens(self) -> list[Token]:
        """The tokens of the store."""
        ...

    def checkpoints(self) -> Checkpoints:
        """The checkpoints of this ledger."""
        ...

    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        ...

    def finish(self, lines: Collection[bytes], orders: Mapping[str, int]) -> tuple[str, ...]:
        """What else this place does about erased events and keys, and what it does not reach."""
        ...

    def keep_keys(self) -> None:
        """Copies wrapped keys to this machine: a backup of the ledger alone cannot be read."""
        ...

    def findings(self) -> list[Finding]:
        """What ``doctor`` says about the place."""
        ...

    def drop(self, note: Dropped) -> bool:
        """Drops the ledger and what belongs to it; a note stays. False if it is gone already."""
        ...


Meanwhile = Callable[[], None]


class Uncached:
    """What a ledger does that keeps no snapshots and is not told who has an index of it.

    For those where folding is cheap enough, or where no other process can have an index.
    """

    keeps_caches = False

    def wake(self, version: str, dropped: int) -> Woken:
        """Nothing was kept, and no index is counted."""
        return Woken(None, None)

    def hold(self, dropped: int) -> None:
        """Notes nothing."""

    def let_go(self) -> None:
        """Notes nothing."""

    def holders(self) -> tuple[str, ...]:
        """None that is known."""
        return ()

    def keep_snapshot(self, epoch: int, version: str, snapshot: Snapshot) -> bool:
        """Keeps nothing."""
        return False


class Ledgers(Protocol):
    """All ledgers of one place."""

    @property
    def where(self) -> str:
        """The location, for people."""
        ...

    def ledger(self, name: str) -> Ledger:
        """The ledger of a space; nothing is looked at before it is used."""
        ...

    def names(self) -> list[str]:
        """The spaces that exist."""
        ...

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        ...

    def heads(self, names: Sequence[str]) -> dict[str, int]:
        """The last event of each of these spaces that has one, in one look."""
        ...

    def dropped(self) -> list[Dropped]:
        """The notes about dropped spaces, oldest first."""
        ...

    def tokens(self) -> Tokens:
        """What opens the spaces here."""
        ...

    def jobs(self, token: Callable[[], Token | None]) -> Jobs:
        """The work that was asked for here."""
        ...

    def end(self) -> None:
        """Notes that no index is here any more."""
        ...

    def give_up(self) -> None:
        """Ends every wait for a server at once."""
        ...

    def close(self) -> None:
        """Releases connections."""
        ...
