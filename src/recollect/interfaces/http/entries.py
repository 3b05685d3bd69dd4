"""The stores that tokens have entered, kept while they are used.

Responsible for one entered store for each token, because receipts wait in it until the next append.
Leaves what a token allows to the store. Invariants: at most so many are kept, the last used ones; a
store that is given up is closed, which writes what waits in it; no token is kept, only its hash.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from recollect.memory.store import Store
from recollect.store.tokens import hash_of

_MOST: Final = 1_000


class Entries:
    """Entered stores by the hash of their token."""

    def __init__(self, store: Store, *, most: int = _MOST) -> None:
        self._store = store
        self._most = most
        self._found: OrderedDict[bytes, Store] = OrderedDict()
        self._lock = threading.Lock()

    def enter(self, token: str) -> Store:
        """The store for the holder of a token; whether it has ended is asked at every call."""
        key = hash_of(token)
        with self._lock:
            store = self._found.pop(key, None) or self._store.entered(token)
            self._found[key] = store
            given_up = [] if len(self._found) <= self._most else [self._found.popitem(last=False)]
        for _, each in given_up:
            each.close()
        return store

    def close(self) -> None:
        """Closes all of them."""
        with self._lock:
            found, self._found = self._found, OrderedDict()
        for each in found.values():
            each.close()
