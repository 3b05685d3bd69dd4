"""The stores that tokens have entered, kept while they are used.

Responsible for one entered store for each token, because receipts wait in it until the next append.
Leaves what a token allows to the store. Invariants: only a token that is valid is kept; at most so
many are, the last used ones; a store in use is never closed, and one that is given up is closed,
which writes what waits in it; no token is kept, only its hash. A memory is kept too, and asks with
every call what the token allows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, NamedTuple

from recollect.errors import Forbidden, InvalidInput
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.store import Store
from recollect.store.tokens.tokens import hash_of

_MOST: Final = 1_000
_MEMORIES_MAX_COUNT: Final = 64  # of one token
_MEMORY_MAX_S: Final = 60.0  # how soon a clock that was set to another zone is noticed


class NotLetIn(Exception):
    """A token that is not one of this store, or has ended."""


class _Kept(NamedTuple):
    memory: Memory
    until: float

    @property
    def is_usable(self) -> bool:
        space = handle_of(self.memory).space
        return monotonic() < self.until and not (space.is_dropped or space.is_closed)


class Entry:
    """One entered store, and how many requests and streams use it now."""

    def __init__(self, key: bytes, store: Store, token_id: int | None) -> None:
        self.key = key
        self.token_id = token_id
        self.store = store
        self.uses = 0
        self._memories: dict[str, _Kept] = {}

    def memory(self, name: str) -> Memory:
        """The memory of a space, kept for a while: a new one would look everything up again."""
        kept = self._memories.get(name)
        if kept is None or not kept.is_usable:
            if len(self._memories) >= _MEMORIES_MAX_COUNT:
                self._memories.clear()
            memory = self.store.space(name, create=False)
            kept = self._memories[name] = _Kept(memory, monotonic() + _MEMORY_MAX_S)
        return kept.memory


class Entries:
    """Entered stores by the hash of their token."""

    def __init__(self, store: Store, *, most: int = _MOST) -> None:
        self._store = store
        self._most = most
        self._found: OrderedDict[bytes, Entry] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def using(self, token: str, *, is_asked: bool = True) -> Iterator[Entry]:
        """The store for the holder of a token, for one request.

        With ``is_asked`` False a token that was valid before is not asked about: the request's own
        first look does that.
        """
        entry = self.take(token, is_asked=is_asked)
        try:
            yield entry
        finally:
            self.give_back(entry)

    def check(self, token: str) -> None:
        """NotLetIn if a token is not valid now."""
        self.give_back(self.take(token))

    def take(self, token: str, *, is_asked: bool = True) -> Entry:
        """The same, until ``give_back``; NotLetIn if the token is not valid now."""
        key = hash_of(token)
        with self._lock:
            entry = self._found.get(key)
        if entry is None or is_asked:
            try:
                store = self._store.entered(token) if entry is None else entry.store
                held = store.token()
            except (Forbidden, InvalidInput) as error:
                raise NotLetIn(error.message) from error
            entry = entry or Entry(key, store, held.id if held else None)
        with self._lock:
            entry = self._found.pop(key, None) or entry
            self._found[key] = entry
            entry.uses += 1
            given_up = self._oldest_idle()
        if given_up is not None:
            given_up.store.close()
        return entry

    def give_back(self, entry: Entry) -> None:
        """Ends one use."""
        with self._lock:
            entry.uses -= 1

    def settle(self, name: str) -> None:
        """Closes a space as it was opened to create it; others open the one that exists.

        Two of them would hold its files twice, and an erasure could not clean the other's.
        """
        if self._store.settings.folder is not None:  # others hold no files
            self._store.space(name).close()

    def close(self) -> None:
        """Closes all of them."""
        with self._lock:
            found, self._found = self._found, OrderedDict()
        for each in found.values():
            each.store.close()

    def _oldest_idle(self) -> Entry | None:
        if len(self._found) <= self._most:
            return None
        key = next((key for key, each in self._found.items() if not each.uses), None)
        return None if key is None else self._found.pop(key)
