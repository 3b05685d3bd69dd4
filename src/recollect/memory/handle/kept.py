"""Contexts that are returned again while their preset allows it.

Responsible for deciding whether a kept context still holds. Leaves making one to
``memory.contexts``. Invariants: a kept context is returned only while nothing that it packs has
ended; the mapping is replaced and never changed, because threads share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.index import caches
from recollect.model import limits
from recollect.model.instants import to_microseconds
from recollect.model.presets import Cache
from recollect.model.values import Context
from recollect.recall.pack import Counter


class ContextKey(NamedTuple):
    """What two calls must have in common to share a context."""

    query: str
    preset_digest: str
    budget: int
    receipt: bool
    counter: Counter


class KeptContext(msgspec.Struct, frozen=True):
    """A context that may be returned again."""

    context: Context
    writes: int  # of this handle, when it was made
    made_at: str
    ends_at: str | None  # when the first of the packed records expires


class Kept:
    """The contexts that one handle keeps."""

    def __init__(self) -> None:
        self._contexts: Mapping[ContextKey, KeptContext] = MappingProxyType({})

    def get(
        self, key: ContextKey, cache: Cache, *, writes: int, position: int, now: str
    ) -> Context | None:
        """The context of an equal call, if it still holds."""
        kept = self._contexts.get(key)
        if kept is None or kept.writes != writes:
            return None
        if kept.ends_at is not None and kept.ends_at <= now:
            return None
        if isinstance(cache, int):
            age_us = to_microseconds(now) - to_microseconds(kept.made_at)
            return kept.context if 0 <= age_us < cache * 1_000_000 else None
        return kept.context if kept.context.seq == position else None

    def put(self, key: ContextKey, cache: Cache, context: Context, writes: int, now: str) -> None:
        """Keeps a context if its preset allows it, and lets the oldest go."""
        if cache == "none":
            return
        records = [hit.record for hit in context.hits if hit.record]
        ends = [end for record in records for end in (record.expires, record.valid_to) if end]
        others = [(other, kept) for other, kept in self._contexts.items() if other != key]
        mine = KeptContext(context, writes, now, min(ends, default=None))
        self._contexts = dict([*others, (key, mine)][-limits.CACHE_MAX_COUNT :])
        caches.register(self.clear)

    def clear(self) -> None:
        """Lets every context go, because something was erased."""
        self._contexts = {}
