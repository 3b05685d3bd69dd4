"""The caches of this process that hold text.

Responsible for knowing all of them, so that one call empties them after an erasure. Leaves what is
cached to the modules that do so. Invariant: no other cache in the package is given text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

if TYPE_CHECKING:  # a hook registers nothing, and loading it takes time
    from weakref import WeakMethod

# For what is known about a text: many short texts and some long ones, about 20 MB at most for each.
SHORT_MAX_CHARS: Final = 500
SHORT_MAX_COUNT: Final = 16_384
LONG_MAX_CHARS: Final = 4_000
LONG_MAX_COUNT: Final = 2_048

P = ParamSpec("P")
T = TypeVar("T")


_EMPTIES: Final[list[Callable[[], None]]] = []
_METHODS: Final[set[WeakMethod[Callable[[], None]]]] = set()


def cached(at_most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Like ``lru_cache``, for a function that is given text."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        kept = lru_cache(maxsize=at_most)(function)
        _EMPTIES.append(kept.cache_clear)
        return cast("Callable[P, T]", kept)

    return decorate


class Kept(dict[str, str]):
    """What a function makes of short texts and words; a look-up is faster than ``lru_cache``.

    It empties itself when it is full, and keeps nothing long.
    """

    def __init__(self, name: str, make: Callable[[str], str], at_most: int, max_chars: int) -> None:
        super().__init__()
        self.__name__ = name
        self._make = make
        self._at_most = at_most
        self._max_chars = max_chars
        _EMPTIES.append(self.clear)

    def __missing__(self, text: str) -> str:
        made = self._make(text)
        if len(text) <= self._max_chars:
            if len(self) >= self._at_most:
                self.clear()
            self[text] = made
        return made


def register(forget: Callable[[], None]) -> None:
    """Has an object forget its texts too, by this method of it, as long as it lives."""
    from weakref import WeakMethod

    _METHODS.add(WeakMethod(forget, _METHODS.discard))


def forget_texts() -> None:
    """Empties every cache that may hold what was erased."""
    re.purge()  # a pattern may hold a name of a question
    for empty in _EMPTIES:
        empty()
    for method in list(_METHODS):
        if (forget := method()) is not None:
            forget()
