"""What a session may do, and why it may not, in a sentence.

Responsible for what each act needs, and for the words beside a button that is off. Leaves refusing
to the store as well, which asks with every call. Invariant: nothing is allowed here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from recollect.errors import Unsupported
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.events import Trust
from recollect.model.values import Token

NEEDS_PERSON: Final = (
    "Only a person can do this. What you see was opened with the rights of an agent."
)
DOES: Final = {
    "read": "read", "write": "write", "erase": "erase", "review": "review",
    "create": "create spaces", "drop": "drop spaces", "admin": "look after tokens",
}  # fmt: skip


class Needs(NamedTuple):
    """What an act needs of a token. Without a verb it changes no memory and no token."""

    verb: str = "write"
    by_person: bool = False
    not_for: tuple[str, ...] = ()  # a token for one of these alone does not suffice


WRITE: Final = Needs()
WRITE_WHOLE: Final = Needs(not_for=("user",))
REVIEW: Final = Needs("review", by_person=True)
ERASE: Final = Needs("erase", by_person=True)
SIGN: Final = Needs(by_person=True, not_for=("user", "agent"))
LOOK: Final = Needs("")  # for everyone who sees the page
VERIFY: Final = Needs("", not_for=("user",))
ADMIN: Final = Needs("admin")
WORK: Final = Needs(not_for=("user", "agent"))
SCHEDULE: Final = Needs(by_person=True, not_for=("user", "agent"))


class Rights(msgspec.Struct, frozen=True):
    """What a session holds; without a token, all that its trust allows."""

    token: Token | None = None
    trust: Trust = "person"

    def lacks(self, needs: Needs) -> str | None:
        """Why an act is off, or None."""
        if self.token is not None:
            if needs.verb and needs.verb not in self.token.verbs:
                return f"Your token may not {DOES[needs.verb]}, so this is off."
            for name in needs.not_for:
                if getattr(self.token, name) is not None:
                    return f"Your token is for one {name} alone, so this is off."
        if needs.by_person and self.trust != "person":
            return NEEDS_PERSON
        return None


def rights(token: Token | None, memory: Memory | None = None) -> Rights:
    """What a session holds, in a memory or in the whole store."""
    trust: Trust = "person" if token is None else token.trust
    with suppress(Unsupported):  # a memory of a service, which answers for itself
        if memory is not None:
            trust = handle_of(memory).actor.trust
    return Rights(token, trust)
