"""Which episodes of a memory a store of this API shows.

Responsible for reading them by scope, by filter and in the order of their instants. Leaves the
index to ``finding``. Invariant: what was put is shown whatever its trust, and also after a fact
that rests on it was replaced; only what was forgotten or erased is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from recollect.finding.recent import recent
from recollect.index.rows import EpisodeRow
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import limits, validate
from recollect.model.values import Include
from recollect.recall.times import ALWAYS

_SHOWN: Final[tuple[Include, ...]] = ("waiting", "hidden")


@heals
class Shown(Calls):
    """The episodes of one handle."""

    def newest(self, scope: Mapping[str, str | None], limit: int) -> list[EpisodeRow]:
        """The newest of a scope; a part that is None does not limit it."""
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        wish = self._handle.wish("episode", _SHOWN, scope=scope)
        with self._handle.reading() as reads:
            return cast("list[EpisodeRow]", recent(reads, wish, ALWAYS, limit))

    def oldest_first(self, filter: str | None = None) -> list[EpisodeRow]:
        """All that match a filter, read from one state of the memory."""
        wish = self._handle.wish("episode", _SHOWN, filter=filter)
        with self._handle.reading() as reads:
            count = max(reads.counts()["episodes"], 1)
            found = cast("list[EpisodeRow]", recent(reads, wish, ALWAYS, count))
        return found[::-1]
