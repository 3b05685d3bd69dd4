"""Recollect: long-term memory for AI agents that can be read, corrected, undone and checked.

from recollect import Memory

memory = Memory.open("my-memory")
memory.remember("The staging database moved to port 5433.")
print(memory.recall("which port is staging on?")[0])
"""

from typing import TYPE_CHECKING

from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
    Unavailable,
    Unsupported,
)
from recollect.memory import Memory, Store
from recollect.model.values import Context, Episode, Hit, Recall, Record

if TYPE_CHECKING:
    from recollect.aio import AsyncMemory, AsyncStore

__all__ = [
    "AsyncMemory",
    "AsyncStore",
    "ConfigError",
    "Conflict",
    "Context",
    "Episode",
    "Forbidden",
    "Hit",
    "IntegrityError",
    "InvalidInput",
    "LimitExceeded",
    "Memory",
    "NotFound",
    "Recall",
    "RecollectError",
    "Record",
    "Store",
    "Unavailable",
    "Unsupported",
]

__version__ = "0.1.0"

if not TYPE_CHECKING:  # hidden from type checkers, to whom every name would seem to exist

    def __getattr__(name: str) -> object:
        """The asynchronous face comes when it is asked for: most programs never load asyncio."""
        if name in ("AsyncMemory", "AsyncStore"):
            from recollect import aio

            return getattr(aio, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
