"""Recollect: long-term memory for AI agents that can be read, corrected, undone and checked.

from recollect import Memory

memory = Memory.open("my-memory")
memory.remember("The staging database moved to port 5433.")
print(memory.recall("which port is staging on?")[0])
"""

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

__all__ = [
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
