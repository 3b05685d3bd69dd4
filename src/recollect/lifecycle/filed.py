"""Filing: a change that an actor may not make at once becomes a proposal.

Responsible for the proposal that takes the place of a refused change, and for what all proposals
share. Leaves reviewing it to ``lifecycle.proposals``. Invariant: a proposal changes nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET

from recollect.errors import Conflict, LimitExceeded
from recollect.index.proposals import ProposalRow
from recollect.index.rows import VersionRow, pack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.ids import ID_MIN_CHARS, proposal_id
from recollect.lifecycle.trust.lineage import Lineage, spans
from recollect.lifecycle.view import View, stamped
from recollect.model import events as e
from recollect.model.limits import PROPOSALS_MAX_COUNT
from recollect.model.rules import at_least
from recollect.model.validate import Json

# What a proposal speaks about: if one of these has changed, it is stale.
SPOKEN_OF: Final = (
    "text",
    "kind",
    "about",
    "status",
    "expires",
    "data",
    "decay_tier",
    "is_hypothesis",
    *e.NOTED,
)
LIVE: Final = ("inbox", "active", "held")
OTHER_FIELDS: Final = (
    "expires",
    "decay_tier",
    "data",
    "is_hypothesis",
    *e.NOTED,
)  # of a revision, kept in ``changes``
# Of a record that would supersede the target, kept in ``changes`` beside the word SUPERSEDE.
FIELDS_OF_NEW: Final = (
    *OTHER_FIELDS,
    "tags",
    "source_type",
    "said_at",
    "valid_from",
    "valid_to",
)
SUPERSEDE: Final = "supersede"


def filed(
    view: View,
    line: Lineage,
    act: c.Revise | c.Forget | c.Settle | c.Archive | c.Remember,
    target: VersionRow,
    change: e.AnyBody,
) -> list[e.AnyBody] | None:
    """A proposal in place of a change that this actor may not make at once.

    None if no proposal can be made of it: the act has no chance of an id, or a person wants it, who
    is told at once what is in the way. The same proposal is not filed twice.
    """
    if not act.chance or line.actor.trust == "person":
        return None
    body = e.ProposalMade(
        id=free_id(view, act.stamp, act.chance),
        intent="delete",
        trust=line.trust,
        target=target.id,
        base=target.seq,
        reason=None if act.reason is UNSET else act.reason,
        changes=_how_it_goes(act),
    )
    if isinstance(change, e.RecordRevised):
        body = msgspec.structs.replace(
            body,
            intent="update",
            text=None if change.text is UNSET else change.text,
            confidence=None if change.confidence is UNSET else change.confidence,
            evidence=() if change.evidence is UNSET else change.evidence,
            spans=spans(line),
            changes=_changes(change),
        )
    elif isinstance(change, e.RecordAdded):
        body = msgspec.structs.replace(
            body,
            intent="update",
            text=change.text,
            key=change.key,
            kind=change.kind,
            about=change.about,
            confidence=change.confidence,
            evidence=change.evidence,
            spans=spans(line),
            changes=_as_new(change),
        )
    same = (body.intent, body.text, pack_object(body.changes))
    waiting = view.waiting_about(target.id)
    alike = (row for row in waiting if (row.intent, row.text, row.changes) == same)
    if any(not is_stale(view, row) for row in alike):
        return []
    require_room(line.actor, target, waiting)
    return [of_target(line.actor, target, body)]


def require_room(actor: c.Actor, target: VersionRow, waiting: list[ProposalRow]) -> None:
    """Refuses one more proposal about a record that has many; those with less trust do not count.

    A person reads each of them. Without the last rule, an untrusted text could use up the room.
    """
    if sum(at_least(row.origin, actor.trust) for row in waiting) >= PROPOSALS_MAX_COUNT:
        raise LimitExceeded(
            f"{PROPOSALS_MAX_COUNT} proposals about {target.id} wait already",
            hint="ask the person to run `recollect review`, or withdraw one",
        )


def is_stale(view: View, row: ProposalRow) -> bool:
    """True if what a proposal speaks about has changed since it was made."""
    if row.intent == "add" or row.key is not None:
        holder = view.holder(row.key, row.user) if row.key else None
        now = None if holder is None else holder.id
        if now != row.target:
            return True
    if row.target is None:
        return False
    if row.base is None or row.base >= row.seq:  # forged: it would never be stale
        return True
    then, present = view.version_at(row.target, row.base), view.version(row.target)
    if then is None or present is None or present.status not in LIVE or present.user != row.user:
        return True
    return any(getattr(then, name) != getattr(present, name) for name in SPOKEN_OF)


def free_id(view: View, stamp: str, chance: str) -> str:
    """The shortest free id of a proposal."""
    for length in range(ID_MIN_CHARS, len(chance) + 1, 2):
        id = proposal_id(stamp, chance, length)
        if view.proposal(id) is None:
            return id
    raise Conflict("no free id was found", hint="try again")


def _how_it_goes(act: c.Act) -> dict[str, Json]:
    """What a proposal to take a record out says of how."""
    if isinstance(act, c.Settle | c.Archive):
        return {"why": "rejected"}
    return {"sources": "keep"} if isinstance(act, c.Forget) and act.sources == "keep" else {}


def _changes(change: e.RecordRevised) -> dict[str, Json]:
    """The other fields that a revision sets."""
    return {name: value for name in OTHER_FIELDS if (value := getattr(change, name)) is not UNSET}


def _as_new(change: e.RecordAdded) -> dict[str, Json]:
    """The other fields of a record that would supersede the target, where they say something."""
    plain: dict[str, Json] = msgspec.to_builtins(change)  # what is as usual is left out
    return {SUPERSEDE: True, **{name: plain[name] for name in FIELDS_OF_NEW if name in plain}}


def of_target(actor: c.Actor, target: VersionRow | None, body: e.AnyBody) -> e.AnyBody:
    """The body with its actor; its user is that of the target, who must be able to see it."""
    return for_user(actor, actor.user if target is None else target.user, body)


def for_user(actor: c.Actor, user: str | None, body: e.AnyBody) -> e.AnyBody:
    """The body with its actor, for this user."""
    return stamped(msgspec.structs.replace(actor, user=user), body)
