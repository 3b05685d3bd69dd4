"""The gate in front of lasting changes: which need an approval, and what one is.

Responsible for the one rule that the runtime, the paths and the calls of a store ask. Leaves the
changes to them. Invariants: an approval is of exactly the actions that it names; it adds to the
rules of the memory and never takes their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from recollect.contracts.graph.values import Action, Approval, Profile, action_of
from recollect.errors import Forbidden
from recollect.model import validate
from recollect.model.policy import PROFILE, is_gate
from recollect.model.validate import Json

#: Actions that are never applied without an approval, whatever they say of themselves.
REVIEWED: Final = frozenset({"forget", "erase", "merge", "compact"})
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


def digest_of(actions: Iterable[Action | Mapping[str, Json]]) -> str:
    """The digest of actions, which an approval names."""
    return sha256(_ENCODE([action_of(action).to_dict() for action in actions])).hexdigest()


def gate_in(profiles: Iterable[Profile]) -> str | None:
    """The first profile that lets every lasting change wait for a review; None if none does."""
    return next((one.id for one in profiles if is_gate(PROFILE, one.extra)), None)


def needs_approval(action: Action, gate: str | None) -> bool:
    """True if an action is applied only with an approval."""
    return gate is not None or action.review or action.kind in REVIEWED


def why_not(approval: Approval | None, actions: Sequence[Action]) -> str | None:
    """Why an approval does not cover these actions; None if it does."""
    if approval is None:
        return "it needs a review: pass approval=Approval(by=…, digest=digest_of(actions))"
    if not isinstance(approval, Approval) or not validate.is_name(approval.by):
        return "the approval does not name a person"
    if approval.digest != digest_of(actions):
        return "the approval is of other actions"
    return None


def require_approval(action: Action, gate: str | None, approval: Approval | None) -> None:
    """Refuses an action that is not approved, if it needs an approval."""
    lacking = why_not(approval, [action]) if needs_approval(action, gate) else None
    if lacking is not None:
        fields = ", ".join(f"{name}={value!r}" for name, value in action.to_dict().items())
        raise Forbidden(
            f"{action.kind} {action.subject!r}: {lacking}", hint=f"the action is Action({fields})"
        )


def require_no_gate(gate: str | None) -> None:
    """Refuses to save something directly where every lasting change waits for a review."""
    if gate is not None:
        raise Forbidden(
            f"the profile {gate!r} lets every lasting change wait for a review",
            hint="save it on a path and merge that, apply an action with an approval, or let a "
            "person save the profile without this rule",
        )
