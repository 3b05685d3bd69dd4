"""The public API: what a memory can do for its user.

Responsible for the calls and their signatures. Leaves rules to ``lifecycle``, reading policy to
``recall``, storing to ``store``. Invariant: a handle can be narrowed and lowered, never widened or
raised.
"""

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load

if TYPE_CHECKING:
    from recollect.memory.batch import Batch
    from recollect.memory.memory import Memory
    from recollect.memory.store import Store

__all__ = ["Batch", "Memory", "Store"]

if not TYPE_CHECKING:  # hidden from type checkers, to whom every name would seem to exist

    def __getattr__(name: str) -> object:
        """Loads a class on first use: reading for a prompt needs less than writing does."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{name.lower()}"), name)
        globals()[name] = value
        return value
