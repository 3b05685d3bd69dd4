"""Whether a call was made before.

Responsible for telling an interface that an idempotency key gave the first answer again. Leaves
finding that out to the store. Invariant: each thread notices its own calls alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class Noticed:
    """What was noticed about the calls of a block."""

    def __init__(self) -> None:
        self.is_repeated = False


_CURRENT: Final[ContextVar[Noticed | None]] = ContextVar("noticed", default=None)


@contextmanager
def noticing() -> Iterator[Noticed]:
    """Notices whether a call in this block repeats an earlier one."""
    noticed = Noticed()
    before = _CURRENT.set(noticed)
    try:
        yield noticed
    finally:
        _CURRENT.reset(before)


def repeated() -> None:
    """Says that the call being made was made before."""
    noticed = _CURRENT.get()
    if noticed is not None:
        noticed.is_repeated = True
