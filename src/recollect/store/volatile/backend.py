"""Many spaces in one process; they end with it.

Responsible for returning the same space for the same name. Leaves all else to
``store.volatile.space``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from recollect.errors import NotFound
from recollect.model.values import Drop, Dropped, Token
from recollect.store.entered import EnteredBackend
from recollect.store.port import Opened
from recollect.store.seam import REAL, Seam
from recollect.store.token_list import ListedTokens, without_space
from recollect.store.volatile.space import MemorySpace
from recollect.store.volatile.tokens import MemoryTokens

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.job_file import JobFile
    from recollect.store.kept_jobs import KeptJobs


class MemoryBackend:
    """Spaces that live as long as this object."""

    where = ":memory:"

    def __init__(self, *, seam: Seam = REAL) -> None:
        self._seam = seam
        self._spaces: dict[str, MemorySpace] = {}
        self._dropped: list[Dropped] = []
        self._opening = threading.Lock()
        self._tokens = MemoryTokens()
        self._jobs: JobFile | None = None

    def space(self, name: str, *, create: bool) -> MemorySpace:
        """A space by name."""
        with self._opening:
            if name not in self._spaces or self._spaces[name].is_closed:
                if not create:
                    raise _missing(name)
                self._spaces[name] = MemorySpace(name, self._seam)
            return self._spaces[name]

    def spaces(self) -> list[str]:
        """The names of the spaces that exist."""
        return sorted(self._spaces)

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The last event of each of these spaces."""
        return {name: self._spaces[name].head().seq for name in names if self.has(name)}

    def drop(self, name: str, reason: str | None) -> Drop:
        """Drops a space; its handles are refused from then on."""
        with self._opening:
            drop = self._existing(name).drop(reason)
            del self._spaces[name]
            self._tokens.change(lambda before: without_space(before, name, self._seam.now()))
            if self._jobs is not None:
                self._jobs.drop_space(name)
            self._dropped += [drop.dropped] if drop.dropped else []
            return drop

    def would_drop(self, name: str) -> Drop:
        """What dropping a space would remove."""
        with self._opening:
            return self._existing(name).would_drop()

    def dropped(self) -> list[Dropped]:
        """The notes about the spaces that were dropped here, oldest first."""
        return list(self._dropped)

    def token(self) -> None:
        """Returns None: the owner needs no token."""

    def entered(self, token: str, opened: Opened) -> EnteredBackend:
        """The same place for the holder of a token."""
        return EnteredBackend(self, token, opened)

    def tokens(self) -> ListedTokens:
        """What opens the spaces of this store."""
        return ListedTokens(self._tokens, self._make, self._seam)

    def jobs(self, token: Callable[[], Token | None] = lambda: None) -> KeptJobs:
        """The work that was asked for in this store."""
        from recollect.store.job_file import JobFile
        from recollect.store.kept_jobs import KeptJobs

        with self._opening:
            self._jobs = self._jobs or JobFile(None, self._seam)
        return KeptJobs(self._jobs, self.has, token)

    def _make(self, name: str) -> None:
        self.space(name, create=True)

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        return name in self._spaces and not self._spaces[name].is_closed

    def _existing(self, name: str) -> MemorySpace:
        if name not in self._spaces or self._spaces[name].is_closed:
            raise _missing(name)
        return self._spaces[name]

    def close(self) -> None:
        """Closes every space."""
        for space in self._spaces.values():
            space.close()
        if self._jobs is not None:
            self._jobs.close()


def _missing(name: str) -> NotFound:
    return NotFound(f"the space {name!r} does not exist in memory")
