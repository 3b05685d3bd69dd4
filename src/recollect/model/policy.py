"""The policies of a space: what agents change at once, and when a checkpoint is signed.

Responsible for the documents ``policy/agents`` and ``policy/checkpoints``. Leaves applying them to
``lifecycle`` and ``memory.handle.due``. Invariant: a policy can only ask for more reviews, and more
signatures, than there are without it, so no document lets in what the rules refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Annotated, Final, Literal

import msgspec

from recollect.model.limits import FORGET_AT_ONCE_MAX_COUNT
from recollect.model.validate import Json

TYPE: Final = "policy"  # documents of this type need a person
NAME: Final = "agents"
CHECKPOINTS: Final = "checkpoints"
PROFILE: Final = "profile"  # documents that say how a memory is meant to be used
GATED: Final = "review-gated"  # the `durable_writes` of such a document's policy

When = Literal["at_once", "review"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a writer with less than a person's trust may do at once.

    Each change must also be allowed by trust: this says which of the allowed ones wait. What waits
    is in ``memory.review``.
    """

    add: When = "at_once"  # remembering something new; it is held for review
    update: When = "at_once"  # replacing or revising a record with no more trust than the writer's
    delete: When = "at_once"  # forgetting such a record
    correct: Literal["quoted", "review"] = "quoted"  # a person's record, with a person's words
    forget_at_once: Annotated[int, msgspec.Meta(ge=1, le=FORGET_AT_ONCE_MAX_COUNT)] = (
        FORGET_AT_ONCE_MAX_COUNT  # more than this in one command needs a person
    )


DEFAULT: Final = Policy()
STRICTEST: Final = Policy(
    add="review", update="review", delete="review", correct="review", forget_at_once=1
)


def policy_from(data: Mapping[str, Json]) -> Policy:
    """The policy in a document; raises ``msgspec.ValidationError`` if it cannot be read as one."""
    return msgspec.convert(data, Policy)


class Signing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a write signs a checkpoint, if there is a key: at the first limit that is reached."""

    every_events: Annotated[int, msgspec.Meta(ge=1)] | None = None
    every_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None  # of the oldest unsigned event

    def __post_init__(self) -> None:
        if self.every_events is None and self.every_seconds is None:
            raise ValueError("neither every_events nor every_seconds is set")

    def events_left(self, unsigned: int) -> float:
        """How many more events may be written unsigned."""
        return inf if self.every_events is None else self.every_events - unsigned

    def seconds_left(self, age_s: float) -> float:
        """How much longer the oldest unsigned event may stay so."""
        return inf if self.every_seconds is None else self.every_seconds - age_s


for _kind in (
    Policy,
    Signing,
):  # here, by one thread: two that convert for the first time can crash
    msgspec.json.Decoder(_kind)


def signing_from(data: Mapping[str, Json]) -> Signing:
    """The policy in ``policy/checkpoints``; raises ``msgspec.ValidationError``."""
    return msgspec.convert(data, Signing)


def is_gate(type: str, data: Mapping[str, Json]) -> bool:
    """True for a profile that lets every lasting change of a graph wait for a review."""
    policy = data.get("policy")
    return type == PROFILE and isinstance(policy, dict) and policy.get("durable_writes") == GATED
