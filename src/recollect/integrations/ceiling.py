"""The most trust that a framework's writes have.

Responsible for lowering a handle before a framework gets it. Leaves judging writes to
``lifecycle``. Invariant: nothing a framework writes has a person's trust.
"""

from __future__ import annotations

from recollect.errors import Forbidden, InvalidInput
from recollect.memory import Memory
from recollect.model.events import Trust


def lowered(memory: Memory, origin: Trust) -> Memory:
    """The handle with this much trust, or with less if it has less already."""
    if origin not in ("agent", "unverified"):
        raise InvalidInput(
            f"a framework writes as 'agent' or 'unverified', not {origin!r}",
            hint="what a person says or approves goes through the memory itself",
        )
    try:
        return memory.scoped(origin=origin)
    except Forbidden:
        return memory
