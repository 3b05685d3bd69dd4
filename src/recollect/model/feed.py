"""Events that are followed as they are written.

Responsible for giving them one by one, or look by look, and for ending that from another thread.
Leaves looking to ``memory.events`` and ``client.events``. Invariant: each event is given once,
whichever way it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from recollect.model.values import Change


class Following(Iterator[Change]):
    """Events as they are written, one by one or as many as each look finds."""

    def __init__(self, looks: Iterator[list[Change]], end: Callable[[], None]) -> None:
        self._looks = looks
        self._end = end
        self._found: list[Change] = []
        self.is_closed = False

    def look(self) -> list[Change] | None:
        """What is new; an empty list if nothing is yet, None at the end."""
        found, self._found = self._found, []
        return found or next(self._looks, None)

    def close(self) -> None:
        """End it. Any thread may; a look that waits in another one finds the end."""
        self.is_closed = True
        self._end()

    def __next__(self) -> Change:
        while not self._found:
            self._found = next(self._looks)
        return self._found.pop(0)
