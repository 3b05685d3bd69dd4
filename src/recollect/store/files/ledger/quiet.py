"""The thread that folds a backlog when no write or read comes to do it.

Responsible for when: ``FOLD_AFTER_S`` after rows began to wait, and again later if the memory is in
use just then. Leaves folding, under the turn and the lock, to ``store.files.open_files``.
Invariants: one thread serves all memories of a process; it starts with the first row that waits and
ends when there has been nothing to do for a while; it does not keep the process alive and is not
there during a fork.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Final, Protocol

# A prompt hook that is started after a write takes longer than that to come to reading.
FOLD_AFTER_S: Final = 0.03
_YOUNG_S: Final = FOLD_AFTER_S / 2  # rows that began to wait later than that may wait once more
_IDLE_S: Final = 1.0
_JOIN_S: Final = 1.0


class Waiting(Protocol):
    """A memory with rows that wait."""

    def fold_if_free(self, min_age_s: float = 0.0) -> bool:
        """Folds them; False if they still wait: the memory is in use, or they began just now."""
        ...


class Quiet:
    """Which memory is folded when."""

    def __init__(self) -> None:
        self._start()

    def forget(self) -> list[Waiting]:
        """Called in a forked child: begins again; returns what must not be closed there."""
        inherited = list(self._due)
        self._start()
        return inherited

    def _start(self) -> None:
        self._due: dict[Waiting, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False

    def soon(self, memory: Waiting) -> bool:
        """Schedules a memory to be folded soon; False if no thread can be started."""
        if memory in self._due:  # it will be folded even sooner
            return True
        with self._changed:
            if self._ended or not self._is_running():
                return False
            self._due[memory] = time.monotonic() + FOLD_AFTER_S
            if len(self._due) == 1:  # otherwise the thread wakes before that
                self._changed.notify()
        return True

    def end(self) -> None:
        """Ends the thread; until ``begin``, nothing may wait."""
        with self._changed:
            self._ended = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(_JOIN_S)

    def begin(self) -> None:
        """Starts again after ``end``."""
        with self._changed:
            self._ended = False
            if self._due:
                self._is_running()

    def fold_all(self) -> None:
        """Folds all that waits now."""
        while self._due:
            self._due.popitem()[0].fold_if_free()

    def _is_running(self) -> bool:
        """True if there is a thread; starts it."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="recollect-quiet", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # too many threads, or the interpreter is about to end
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while (memory := self._next()) is not None:
            if not memory.fold_if_free(_YOUNG_S):
                with self._changed:
                    self._due.setdefault(memory, time.monotonic() + FOLD_AFTER_S)

    def _next(self) -> Waiting | None:
        """The next memory whose time has come; None if the thread should end."""
        with self._changed:
            while not self._ended:
                memory = min(self._due, key=self._due.__getitem__, default=None)
                if memory is None:
                    if not self._changed.wait(_IDLE_S) and not self._due:
                        break
                    continue
                wait_s = self._due[memory] - time.monotonic()
                if wait_s <= 0:
                    del self._due[memory]
                    return memory
                self._changed.wait(wait_s)
            self._thread = None
        return None


_QUIET: Final = Quiet()
_INHERITED: Final[list[Waiting]] = []  # in a forked child: memories of its parent


def soon(memory: Waiting) -> bool:
    """Schedules a memory to be folded soon; False if the caller must fold it."""
    return _QUIET.soon(memory)


def _at_exit() -> None:
    _QUIET.end()
    _QUIET.fold_all()


os.register_at_fork(
    before=_QUIET.end,
    after_in_parent=_QUIET.begin,
    after_in_child=lambda: _INHERITED.extend(_QUIET.forget()),
)
atexit.register(_at_exit)
