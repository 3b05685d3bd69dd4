"""Many spaces over the ledgers of one place.

Responsible for one open space for each name, and for putting those to sleep that were not used for
long. Leaves the ledgers to ``store.indexed.ledger``. Invariant: the indexes that are awake take no
more memory than allowed, except the one in use.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from recollect.errors import RecollectError
from recollect.model.values import Drop, Dropped, Token
from recollect.store.entered import EnteredBackend
from recollect.store.indexed.follower import Follower
from recollect.store.indexed.ledger import Ledgers
from recollect.store.indexed.memory import MemoryLedgers
from recollect.store.indexed.space import IndexedSpace
from recollect.store.port import Opened
from recollect.store.seam import REAL, Seam
from recollect.store.tokens.tokens import Tokens

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.jobs import Jobs

_AWAKE_MAX_BYTES: Final = 512 << 20


class IndexedBackend:
    """The spaces of one place, each with its index in this process."""

    def __init__(self, ledgers: Ledgers, seam: Seam = REAL) -> None:
        self.ledgers = ledgers
        self._seam = seam
        self._spaces: dict[str, IndexedSpace] = {}
        self._opening = threading.Lock()
        self._awake = _Awake()

    @property
    def where(self) -> str:
        """The location, for people."""
        return self.ledgers.where

    def space(self, name: str, *, create: bool) -> IndexedSpace:
        """A space by name; nothing is looked at before it is used."""
        with self._opening:
            held = self._spaces.get(name)
            is_usable = held is not None and not held.is_closed and not held.is_dropped
            if held is not None and is_usable and (held.is_there or held.creates == create):
                return held
            made = IndexedSpace(
                self.ledgers.ledger(name), name, self._seam, create=create, used=self._awake.use
            )
            self._spaces[name] = made
            return made

    def spaces(self) -> list[str]:
        """The names of the spaces that exist."""
        return self.ledgers.names()

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        return self.ledgers.has(name)

    @contextmanager
    def looking(self, hash: bytes, name: str) -> Iterator[tuple[Token | None, bool]]:
        """What a token allows, and whether a space exists, in one look for the whole block."""
        space = self.space(name, create=False)
        try:
            with space.looking(hash) as found:
                yield found
        finally:
            with self._opening:  # names that are tried must not fill the memory
                if self._spaces.get(name) is space and not space.is_there:
                    del self._spaces[name]

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The last event of each of these spaces, in one look; a missing space is left out."""
        return self.ledgers.heads([*dict.fromkeys(names)])

    def drop(self, name: str, reason: str | None) -> Drop:
        """Drops a space; its handles are refused from then on."""
        return self.space(name, create=False).drop(reason)

    def would_drop(self, name: str) -> Drop:
        """What dropping a space would remove."""
        return self.space(name, create=False).would_drop()

    def dropped(self) -> list[Dropped]:
        """The notes about the spaces that were dropped here, oldest first."""
        return self.ledgers.dropped()

    def token(self) -> None:
        """Returns None: who opened this place needs no token."""

    def entered(self, token: str, opened: Opened) -> EnteredBackend:
        """The same place for the holder of a token."""
        return EnteredBackend(self, token, opened)

    def entered_alone(self, token: str) -> EnteredBackend:
        """This place for the holder of a token alone: closing it closes the place."""
        return EnteredBackend(self, token, self.space, close=self.close)

    def tokens(self) -> Tokens:
        """What opens the spaces of this store."""
        return self.ledgers.tokens()

    def jobs(self, token: Callable[[], Token | None] = lambda: None) -> Jobs:
        """The work that was asked for in this store."""
        return self.ledgers.jobs(token)

    def give_up(self) -> None:
        """Ends every wait for a server at once."""
        self.ledgers.give_up()

    def close(self) -> None:
        """Closes every space."""
        spaces = [*self._spaces.values()]
        for space in spaces:
            with suppress(RecollectError):  # of what is closed already
                space.flush()
        with suppress(RecollectError):
            self.ledgers.end()
        for space in spaces:
            space.close()
        self.ledgers.close()


class _Awake:
    """The spaces whose index is in memory, the one that was used last at the end."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[Follower, int] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def use(self, space: Follower) -> None:
        """Notes a use; puts others to sleep if all take too much."""
        size = space.awake_bytes
        with self._lock:
            self._total += size - self._sizes.pop(space, 0)
            if size:
                self._sizes[space] = size
            if self._total <= _AWAKE_MAX_BYTES:
                return
            idle = [one for one in self._sizes if one is not space]
        for one in idle:
            if one.sleep():
                with self._lock:
                    self._total -= self._sizes.pop(one, 0)
                    if self._total <= _AWAKE_MAX_BYTES:
                        return


class MemoryBackend(IndexedBackend):
    """Spaces that live as long as this object."""

    def __init__(self, *, seam: Seam = REAL) -> None:
        super().__init__(MemoryLedgers(seam), seam)

    def space(self, name: str, *, create: bool) -> IndexedSpace:
        """A space by name; a new one begins at once."""
        space = super().space(name, create=create)
        if create and not space.is_there:
            space.head()
        return space


class MemorySpace(IndexedSpace):
    """One space in memory."""

    def __init__(self, name: str, seam: Seam = REAL) -> None:
        super().__init__(MemoryLedgers(seam).ledger(name), name, seam, create=True)
        self.head()
