"""What this session may not do, in a sentence.

Responsible for the words that stand where a button would be. Leaves refusing to the memory, which
asks for a person whatever a page shows. Invariant: nothing is allowed here.
"""

from __future__ import annotations

from typing import Final

from recollect.errors import Unsupported
from recollect.memory import Memory
from recollect.memory.handle import handle_of

NEEDS_PERSON: Final = (
    "Only a person can do this. What you see was opened with the rights of an agent."
)


def needs_person(memory: Memory) -> str | None:
    """Why a person's acts are off, or None; a service answers for itself."""
    try:
        trust = handle_of(memory).actor.trust
    except Unsupported:
        return None
    return None if trust == "person" else NEEDS_PERSON
