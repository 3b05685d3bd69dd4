"""The use cases: what a memory can do for its user.

Responsible for the public face. Leaves rules to ``lifecycle``, reading policy to ``recall``,
storing to ``store``. Invariant: a handle can be narrowed and lowered, never widened or raised.
"""

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load

if TYPE_CHECKING:
    from recollect.memory.batch import Batch
    from recollect.memory.face import Memory, Store

__all__ = ["Batch", "Memory", "Store"]

if not TYPE_CHECKING:  # hidden from type checkers, to whom every name would seem to exist

    def __getattr__(name: str) -> object:
        """Writing needs more than reading for a prompt does, so the face comes when asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from recollect.memory import batch, face

        value = getattr(batch if name == "Batch" else face, name)
        globals()[name] = value
        return value
