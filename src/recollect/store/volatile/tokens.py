"""The tokens of a store in memory; they end with it.

Responsible for one thread at a time. Leaves what is in the list to ``store.token_list``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from recollect.store.token_list import TokenList


class MemoryTokens:
    """A list in this process."""

    def __init__(self) -> None:
        self._list = TokenList()
        self._changing = threading.Lock()

    def read(self) -> TokenList:
        """The list as it is now."""
        return self._list

    def change(self, how: Callable[[TokenList], TokenList]) -> TokenList:
        """Replaces the list."""
        with self._changing:
            self._list = how(self._list)
            return self._list
