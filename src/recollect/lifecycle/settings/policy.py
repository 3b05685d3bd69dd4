"""The policy of a space, as decisions ask for it.

Responsible for reading it and for what it lets wait. Leaves what trust allows to
``lifecycle.trust.lineage``. Invariant: it never restricts a person, and never allows more than the
defaults.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from recollect.errors import Forbidden, InvalidInput
from recollect.index.rows import unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View
from recollect.model.limits import FORGET_AT_ONCE_MAX_COUNT
from recollect.model.policy import (
    CHECKPOINTS,
    DEFAULT,
    NAME,
    STRICTEST,
    TYPE,
    Policy,
    policy_from,
    signing_from,
)
from recollect.model.rules import may_govern

_VALUES: Final = {
    NAME: "add, update and delete are at_once or review, correct is quoted or review, and "
    f"forget_at_once is 1 to {FORGET_AT_ONCE_MAX_COUNT}",
    CHECKPOINTS: "set every_events, every_seconds or both, each to a whole number from 1",
}
What = Literal["add", "update", "delete", "tag"]


def policy_of(view: View, actor: c.Actor) -> Policy:
    """The policy for an actor. A document that cannot be read asks a person about everything."""
    row = None if actor.trust == "person" else view.document(TYPE, NAME)
    if row is None:
        return DEFAULT
    try:
        return policy_from(unpack_object(row.data))
    except msgspec.ValidationError:  # written by a later release
        return STRICTEST


def at_once(view: View, actor: c.Actor, what: What) -> bool:
    """True if the policy lets this actor make such a change without a review."""
    return what == "tag" or getattr(policy_of(view, actor), what) == "at_once"


def require_at_once(view: View, actor: c.Actor, what: What) -> None:
    """Refuses a change that the policy asks a person about."""
    if not at_once(view, actor, what):
        raise Forbidden(
            f"the policy of this space asks a person about every {what} by {actor.trust!r}",
            hint="ask the person to do it; a change of a record can be proposed: `review.propose`",
        )


def check_policy(actor: c.Actor, act: c.SetDocument | c.DropDocument) -> None:
    """Refuses a document of this type that is not a policy, or that is not from a person."""
    if act.type != TYPE:
        return
    if not may_govern(actor.trust):
        raise Forbidden(
            "a policy decides what waits for a person and what is signed, so only a person may "
            "change it",
            hint="ask the person to run `recollect settings policy`",
        )
    if act.name not in _VALUES:
        raise InvalidInput(f"unknown policy {act.name!r}", hint=f"policies: {', '.join(_VALUES)}")
    if isinstance(act, c.SetDocument):
        try:
            policy_from(act.data) if act.name == NAME else signing_from(act.data)
        except msgspec.ValidationError as error:
            hint = _VALUES[act.name]
            raise InvalidInput(f"this is not a policy: {error}", hint=hint) from error
