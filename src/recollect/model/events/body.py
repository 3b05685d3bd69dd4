"""What every body of an event has, and the words that bodies are made of.

Responsible for the fields that all bodies share and for the closed sets of words in them. Leaves
each kind to the modules beside it. Invariant: a body is a tree of plain values.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

import msgspec

# An integer that every engine and every JSON parser can hold. A larger one in a forged body fails
# when the body is decoded, where damage is expected, and not later in an engine.
Int53 = Annotated[int, msgspec.Meta(ge=1 - 2**53, le=2**53 - 1)]

Origin = Literal["person", "agent", "unverified", "system"]
Trust = Literal["person", "agent", "unverified"]
Status = Literal["inbox", "active", "archived", "forgotten", "held"]
Role = Literal["user", "assistant", "tool", "system"]
SourceType = Literal["observed", "inferred", "told", "imported"]
Tier = Literal["permanent", "durable", "standard", "ephemeral"]
Sources = Literal["shadow", "keep"]
Reinforcement = Literal["restated", "used"]
Intent = Literal["add", "update", "delete", "noop"]
Verdict = Literal["approved", "rejected", "reopened", "settled"]
Archival = Literal["decayed", "merged", "rejected"]
CheckedBy = Literal["token", "login"]  # by what the store knew who it was

TRUST_RANK: Final[dict[str, int]] = {"unverified": 0, "agent": 1, "person": 2, "system": 2}
ROLE_TRUST: Final[dict[str, Trust]] = {
    "user": "person",
    "assistant": "agent",
    "tool": "unverified",
    "system": "agent",
}
ROLES: Final[tuple[str, ...]] = get_args(Role)


class Body(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,  # trees of plain values: nothing here can point back at itself
):
    """Fields that every body has: the writer, its scope, its clock and its command."""

    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tz_minutes: int = 0  # the writer's offset from UTC, for pages that show local time
    command: str | None = None  # mark of the act, when the caller named the command
    author: str | None = None  # a random id of who acted; ``author.named`` says whose it is
    written_at: str | None = None  # when, if it was written in another ledger and came by a merge
