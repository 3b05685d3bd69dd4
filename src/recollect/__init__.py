"""Recollect: long-term memory for AI agents that can be read, corrected, undone and checked.

from recollect import Memory

memory = Memory.open("my-memory")
memory.remember("The staging database moved to port 5433.")
print(memory.recall("which port is staging on?")[0])
"""

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load

if TYPE_CHECKING:
    from recollect.aio import AsyncMemory, AsyncStore
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
    from recollect.model.values import Context, Episode, Hit, Quote, Recall, Record

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
    "Quote",
    "Recall",
    "RecollectError",
    "Record",
    "Store",
    "Unavailable",
    "Unsupported",
]

__version__ = "0.1.0"

# Where the names come from that are not errors. A name is loaded when it is first asked for, so
# that a hook, or a program that needs one part, does not wait for the others.
_HOMES = {
    "recollect.aio": ("AsyncMemory", "AsyncStore"),
    "recollect.memory": ("Memory", "Store"),
    "recollect.model.values": ("Context", "Episode", "Hit", "Quote", "Recall", "Record"),
}

if not TYPE_CHECKING:  # hidden from type checkers, to whom every name would seem to exist

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        homes = (home for home, names in _HOMES.items() if name in names)
        value = getattr(import_module(next(homes, "recollect.errors")), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
