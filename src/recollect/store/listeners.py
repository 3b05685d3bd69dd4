"""Who wants to hear of an append.

Responsible for the calls that an engine makes after it has written. Leaves what is new to those who
hear of it. Invariant: what a listener raises concerns no writer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

Listener = Callable[[], None]


class Listeners:
    """Calls to make after each append; the tuple is replaced, because threads share it."""

    def __init__(self) -> None:
        self._calls: tuple[Listener, ...] = ()

    def add(self, call: Listener) -> Listener:
        """Adds a call; returns what removes it again, and may be called twice."""

        def mine() -> None:  # another object each time, because a call may be added twice
            call()

        self._calls += (mine,)

        def stop() -> None:
            self._calls = tuple(one for one in self._calls if one is not mine)

        return stop

    def tell(self) -> None:
        """Makes every call."""
        for call in self._calls:
            with suppress(Exception):
                call()
