"""Turns: one thread at a time uses the index of a space.

Responsible for giving turns, and for refusing a wait that would never end. Leaves what is done in a
turn to ``store.indexed.follower``. Invariant: threads never wait for each other's turns in a
circle, whatever the order in which they use several spaces.
"""

from __future__ import annotations

import os
import threading
from typing import Final

from recollect.errors import Unavailable


class _Mine(threading.local):
    """How many turns this thread has."""

    count = 0


_WAITING: Final[dict[int, Turn]] = {}  # each thread that waits, and for what
_MINE: Final = _Mine()
os.register_at_fork(after_in_child=_WAITING.clear)


def has_one() -> bool:
    """True if this thread has the turn of any space: then it joins no queue of others."""
    return _MINE.count > 0


class Turn:
    """The turn of one space; who has it may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        self.depth = 0  # calls within calls of the thread that has it

    @property
    def is_mine(self) -> bool:
        """True if this thread has it."""
        return self._owner == threading.get_ident()

    def __enter__(self) -> None:
        """Waits for it; refuses if who has it waits, perhaps through others, for this thread."""
        if not self._lock.acquire(blocking=False):
            self._wait()
        self._begin()

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Ends one use of it."""
        self.depth -= 1
        if self.depth == 0:
            self._owner = None
            _MINE.count -= 1
        self._lock.release()

    def take_if_free(self) -> bool:
        """Takes it if no thread has it, not even this one."""
        if self.is_mine or not self._lock.acquire(blocking=False):
            return False
        self._begin()
        return True

    def _begin(self) -> None:
        if self.depth == 0:
            self._owner = threading.get_ident()
            _MINE.count += 1
        self.depth += 1

    def _wait(self) -> None:
        me = threading.get_ident()
        _WAITING[me] = self  # before it looks: of two that would wait, the later one sees the other
        try:
            if has_one() and self._leads_to(me):
                raise Unavailable(
                    "this call would wait for a thread that waits for this one",
                    hint="try again; do not use two memories inside each other in several threads",
                )
            self._lock.acquire()
        finally:
            del _WAITING[me]

    def _leads_to(self, thread: int) -> bool:
        """True if who has this waits for a thread, or for one that waits for it, and so on."""
        seen, turn = set[int](), self
        while (owner := turn._owner) is not None and owner not in seen:
            if owner == thread:
                return True
            seen.add(owner)
            found = _WAITING.get(owner)
            if found is None:
                return False
            turn = found
        return False
