"""Releasing, in a forked child, the spaces that its parent had open.

Responsible for releasing them in the child. Leaves how to each space. Invariant: SQLite connections
are neither used nor closed in a process that did not open them, as SQLite requires.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet


class Forked(Protocol):
    """A space that may be open when its process forks."""

    def let_go(self) -> object:
        """Called in the child: gives up locks; returns objects that must not be closed there."""
        ...


_OPEN: Final[WeakSet[Forked]] = WeakSet()
_INHERITED: Final[list[object]] = []


def watch(space: Forked) -> None:
    """Releases this space in every child from now on."""
    _OPEN.add(space)


def _in_child() -> None:
    _INHERITED.extend(space.let_go() for space in list(_OPEN))


os.register_at_fork(after_in_child=_in_child)
