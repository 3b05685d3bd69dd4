"""Many spaces in one process; they end with it.

Responsible for returning the same space for the same name. Leaves all else to
``store.volatile.space``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from recollect.errors import NotFound
from recollect.store.seam import REAL, Seam
from recollect.store.volatile.space import MemorySpace

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    pass


class MemoryBackend:
    """Spaces that live as long as this object."""

    where = ":memory:"

    def __init__(self, *, seam: Seam = REAL) -> None:
        self._seam = seam
        self._spaces: dict[str, MemorySpace] = {}
        self._opening = threading.Lock()

    def space(self, name: str, *, create: bool) -> MemorySpace:
        """A space by name."""
        with self._opening:
            if name not in self._spaces or self._spaces[name].is_closed:
                if not create:
                    raise NotFound(f"the space {name!r} does not exist in memory")
                self._spaces[name] = MemorySpace(name, self._seam)
            return self._spaces[name]

    def spaces(self) -> list[str]:
        """The names of the spaces that exist."""
        return sorted(self._spaces)

    def close(self) -> None:
        """Closes every space."""
        for space in self._spaces.values():
            space.close()
