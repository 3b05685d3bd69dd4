"""The policy of a space: which changes of agents apply at once, and which wait for a person.

Responsible for the document ``policy/agents`` and its defaults. Leaves applying it to
``lifecycle``. Invariant: a policy can only ask for more reviews than the defaults do, so no
document lets in what the rules refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

from recollect.model.limits import FORGET_AT_ONCE_MAX_COUNT
from recollect.model.validate import Json

TYPE: Final = "policy"  # documents of this type need a person
NAME: Final = "agents"

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
