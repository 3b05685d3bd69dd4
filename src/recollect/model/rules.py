"""Which origin may do what: the one table that deciding and folding share.

Responsible for what a rule ever allowed, judged from an event and from the earlier events of its
own subject alone. Leaves what an act means to ``lifecycle``, which asks for more, and the effect to
``index.fold``, which ignores what no rule allowed. Invariant: an answer does not depend on another
subject, so erasing that one never changes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from msgspec import UNSET

from recollect.model.events import (
    ROLE_TRUST,
    TRUST_RANK,
    AnyBody,
    EventsErased,
    FrameDropped,
    FrameSet,
    LinkAdded,
    Origin,
    RecordAdded,
    RecordForgotten,
    RecordReinforced,
    RecordRestored,
    RecordRevised,
    RecordSuperseded,
    RecordTagged,
    Role,
    Trust,
)

Change = (
    RecordRevised
    | RecordSuperseded
    | RecordReinforced
    | RecordForgotten
    | RecordRestored
    | RecordTagged
)

_BEGINNINGS: Final = ("inbox", "active", "held")


def at_least(trust: str, other: str) -> bool:
    """True if the first tier is not below the second."""
    return TRUST_RANK[trust] >= TRUST_RANK[other]


def lowest(tiers: Iterable[str]) -> Trust:
    """The lowest of these tiers."""
    return cast(Trust, min(tiers, key=TRUST_RANK.__getitem__))


def is_visible(user: str | None, owner: str | None) -> bool:
    """True if an actor that speaks for this user, or for nobody, sees what is the owner's."""
    return user is None or user == owner


def said_with(origin: str, role: Role) -> Trust:
    """The trust of an episode: its speaker's, as far as the origin may vouch for that."""
    return lowest([origin, ROLE_TRUST[role]])


def may_add(origin: str, body: RecordAdded) -> bool:
    """True if this origin may begin such a record: none claims more trust than it brings."""
    is_honest = at_least(origin, body.trust) and body.status in _BEGINNINGS
    return is_honest and (body.status == "held" or body.trust != "unverified")


def may_change(origin: str, body: Change, trust: str, user: str | None, by: str) -> bool:
    """True if this origin may change a record of this trust and user that ``by`` changed last.

    Earlier releases let an agent replace a person's record on any words of a person. Those events
    stand in ledgers, so an agent's correction is judged when it is decided, not here.
    """
    if not is_visible(body.user, user):
        return False
    match body:
        case RecordReinforced():
            return may_reinforce(origin)
        case RecordSuperseded():
            return origin != "unverified"
        case RecordRevised():
            has_grounds = body.text is UNSET or bool(body.evidence)
            corrects = origin == "agent" and has_grounds
            is_allowed = at_least(origin, trust) or corrects
            return is_allowed and at_least(lowest([origin, trust]), body.trust)
        case RecordRestored():
            return at_least(origin, trust) and at_least(origin, by)
        case _:
            return at_least(origin, trust)


def may_reinforce(origin: str) -> bool:
    """True if this origin may say that something was of use."""
    return origin != "unverified"


def may_link(origin: str, body: LinkAdded, known: tuple[float, Trust] | None) -> bool:
    """True if this origin may make a link, or one that is known by its weight and trust again."""
    if known == (body.weight, body.trust):
        return may_reinforce(origin)
    return at_least(origin, body.trust) and (known is None or at_least(origin, known[1]))


def may_frame(origin: str, body: FrameSet | FrameDropped, known: str | None) -> bool:
    """True if this origin may set or drop a frame that was set with the known trust, if any."""
    if body.user is not None or origin == "unverified":
        return False
    claims = body.trust if isinstance(body, FrameSet) else "unverified"
    return at_least(origin, claims) and (known is None or at_least(origin, known))


def may_erase(origin: str) -> bool:
    """True if this origin may remove something for good; the store does when a loss is accepted."""
    return origin in ("person", "system")


def is_actor(origin: Origin, body: AnyBody) -> bool:
    """True if this origin acts on memories; what the store itself notes only ever gives them up."""
    return origin != "system" or isinstance(body, EventsErased)
