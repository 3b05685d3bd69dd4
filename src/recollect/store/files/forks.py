"""What a forked child does with the spaces that its parent had open.

Responsible for letting go of them in the child. Leaves what that means to each space. Invariant:
connections of SQLite are neither used nor closed where they were not opened, as SQLite asks.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet


class Forked(Protocol):
    """A space that may be open when its process forks."""

    def let_go(self) -> object:
        """In the child: gives up locks and turns; returns what must not be closed there."""
        ...


_OPEN: Final[WeakSet[Forked]] = WeakSet()
_INHERITED: Final[list[object]] = []


def watch(space: Forked) -> None:
    """Lets go of this space in every child from now on."""
    _OPEN.add(space)


def _in_child() -> None:
    _INHERITED.extend(space.let_go() for space in list(_OPEN))


os.register_at_fork(after_in_child=_in_child)
