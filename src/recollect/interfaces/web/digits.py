"""Numbers in addresses and forms.

Responsible for what counts as one. Leaves what is said about others to the callers. Invariant: what
is read is a whole number from 0 on, short enough for every store.
"""

from __future__ import annotations

from typing import Final

_MAX_CHARS: Final = 16


def number(given: str) -> int | None:
    """A number that is written in digits alone; None if it is not one."""
    is_number = given.isascii() and given.isdigit() and len(given) <= _MAX_CHARS
    return int(given) if is_number else None
