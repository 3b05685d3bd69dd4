"""What all parts of the fold share: tables, shadows, active time and full text.

Responsible for active time and for which shelf of full text a text is on. Leaves what an event
means to the module of its subject. Invariant: a text is on one shelf at most.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.index.rows import EpisodeRow, Row, recallable_episode
from recollect.index.shadow import Shadows
from recollect.index.tables import Tables
from recollect.model.instants import to_microseconds
from recollect.model.limits import ACTIVE_GAP_MAX_US, US_PER_HOUR


class Clock:
    """Active time: the gaps between appends that are short enough to count as activity."""

    def __init__(self, at: str, active_us: int) -> None:
        self.at = at
        self.active_us = active_us
        self._us: int | None = None  # the same instant, as a number

    def set(self, at: str, active_us: int) -> None:
        """Sets it to where an append begins."""
        if self.at != at:
            self.at, self._us = at, None
        self.active_us = active_us

    def advance(self, at: str) -> None:
        """Advances to the instant of the next append."""
        if self.at != at:
            now = to_microseconds(at)
            if self.at > "1":  # not before the first event
                gap = now - (to_microseconds(self.at) if self._us is None else self._us)
                self.active_us += gap if 0 < gap < ACTIVE_GAP_MAX_US else 0
            self.at, self._us = at, now

    @property
    def hours(self) -> float:
        """Active hours so far."""
        return self.active_us / US_PER_HOUR


class State:
    """One space's tables while events are applied to them."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self.tables = tables
        self.shadows = Shadows(tables)
        self.clock = clock

    def shelve(self, doc: int, words: str, recallable: bool, about: Row) -> None:
        """Puts a text on the shelf that recall searches, or on the other one.

        ``about`` is the text alone, and whether an assistant said it.
        """
        if recallable:
            self.tables.write("shelve_recallable", (doc, words, *about))
        else:
            self.tables.write("shelve_rest", (doc, words))

    def unshelve(self, doc: int, text: str, recallable: bool) -> None:
        """Takes a text off its shelf."""
        self.tables.write("unshelve_recallable" if recallable else "unshelve_rest", (doc, text))

    def move(self, doc: int, before: tuple[str, bool], after: tuple[str, bool], about: Row) -> None:
        """Moves a text to the other shelf if it belongs there now, or if its words changed.

        ``before`` and ``after`` are the words, and whether recall searches them.
        """
        if before != after:
            self.unshelve(doc, *before)
            self.shelve(doc, *after, about)

    def reshelve(self, episodes: Iterable[EpisodeRow]) -> None:
        """Moves texts to the shelves that the current state of their episodes requires."""
        for before in episodes:
            after = self.tables.episode(before.id) or before
            was, now = recallable_episode(before), recallable_episode(after)
            about = (before.text, before.role == "assistant")
            self.move(before.seq, (before.text, was), (before.text, now), about)
