"""The highest trust that a framework's writes can have.

Responsible for lowering a handle before a framework gets it. Leaves judging writes to
``lifecycle``. Invariant: nothing a framework writes has a person's trust.
"""

from __future__ import annotations

from recollect.errors import Forbidden, InvalidInput
from recollect.memory import Memory
from recollect.model.events import Trust


def lowered(memory: Memory, trust: Trust) -> Memory:
    """The handle with this trust, or with its own if that is lower."""
    if trust not in ("agent", "unverified"):
        raise InvalidInput(
            f"trust must be 'agent' or 'unverified' for a framework, not {trust!r}",
            hint="write what a person says or approves through the memory itself",
        )
    try:
        return memory.scoped(trust=trust)
    except Forbidden:
        return memory
