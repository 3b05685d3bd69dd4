"""Who may do what in which space.

Responsible for the meaning of a token. Leaves checking it to the server (``recollect.enter``).
Invariant: a grant comes from entering a space; no caller makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import msgspec

from recollect.errors import Forbidden
from recollect.lifecycle.commands import Command, Erase
from recollect.lifecycle.trust import at_least
from recollect.model.events import Trust

VERBS: Final = ("read", "write", "erase", "create")


class Grant(msgspec.Struct, frozen=True):
    """What entering a space with a token allows: never more than the token says."""

    space: str
    verbs: frozenset[str]
    origin: Trust  # the most trust that anything written with it can have
    user: str | None
    agent: str | None

    def check(self, command: Command) -> None:
        """Refuses what the token does not allow; the server would too, with fewer words."""
        if "write" not in self.verbs:
            raise Forbidden(f"this token only reads {self.space!r}")
        if any(isinstance(act, Erase) for act in command.acts) and "erase" not in self.verbs:
            raise Forbidden(f"this token does not erase in {self.space!r}")
        if not at_least(self.origin, command.actor.trust):
            raise Forbidden(
                f"this token writes with trust {self.origin!r} at most",
                hint=f"use memory.scoped(origin={self.origin!r})",
            )
        for name in ("user", "agent"):
            mine, theirs = getattr(self, name), getattr(command.actor, name)
            if mine is not None and mine != theirs:
                raise Forbidden(f"this token writes for the {name} {mine!r} alone")

    @classmethod
    def of(cls, space: str, cells: Sequence[object]) -> Grant:
        """The grant that the server answered with."""
        verbs, origin, user, agent = cells
        return cls(
            space,
            frozenset(cast(list[str], verbs)),
            cast(Trust, origin),
            cast("str | None", user),
            cast("str | None", agent),
        )
