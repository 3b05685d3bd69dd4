"""Which origin may do what: the one table that deciding and folding share.

Responsible for what each origin was ever allowed to do, judged only from an event and the earlier
events of the same subject. Leaves the meaning of an act to ``lifecycle``, whose rules are stricter,
and its effect to ``index.fold``, which ignores events that no rule allows. Invariant: an answer
never depends on another subject, so erasing that subject does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar, cast

from msgspec import UNSET, structs

from recollect.model import policy
from recollect.model.events import (
    ROLE_TRUST,
    TRUST_RANK,
    AnyBody,
    BranchClosed,
    BranchOpened,
    DocumentDropped,
    DocumentSet,
    EventsErased,
    FrameDropped,
    FrameSet,
    LinkAdded,
    Origin,
    ProposalApplied,
    ProposalMade,
    ProposalWithdrawn,
    RecordAdded,
    RecordArchived,
    RecordForgotten,
    RecordReinforced,
    RecordRestored,
    RecordReviewed,
    RecordRevised,
    RecordSuperseded,
    RecordTagged,
    RecordVouched,
    Role,
    RulePassed,
    SessionClosed,
    SessionOpened,
    Settled,
    Trust,
)
from recollect.model.validate import is_document, is_name

Change = (
    RecordRevised
    | RecordSuperseded
    | RecordReinforced
    | RecordForgotten
    | RecordArchived
    | RecordRestored
    | RecordTagged
    | RecordVouched
    | RecordReviewed
)

Claim = RecordAdded | LinkAdded | FrameSet | DocumentSet | ProposalMade
C = TypeVar("C", bound=Claim)

_BEGINNINGS: Final = ("inbox", "active", "held")

# How the id of an author begins whom only another ledger names, without a signature.
CLAIMED: Final = "~"


def at_least(trust: str, other: str) -> bool:
    """True if the first tier is not below the second."""
    return TRUST_RANK[trust] >= TRUST_RANK[other]


def lowest(tiers: Iterable[str]) -> Trust:
    """The lowest of these tiers."""
    return cast(Trust, min(tiers, key=TRUST_RANK.__getitem__))


def is_visible(user: str | None, owner: str | None) -> bool:
    """True if an actor for this user (None: for the whole space) may see the owner's data."""
    return user is None or user == owner


def said_with(origin: str, role: Role) -> Trust:
    """The trust of an episode: that of its speaker, but never above that of its origin."""
    return lowest([origin, ROLE_TRUST[role]])


def within(origin: str, body: C) -> C:
    """The body with at most the trust of its origin, whatever it claims; unverified means held.

    A server cannot read an encrypted body, so what stands in one is not more than a claim.
    """
    trust = lowest([origin, body.trust])
    if trust != body.trust:
        body = structs.replace(body, trust=trust)
    if trust == "unverified" and isinstance(body, RecordAdded) and body.status in _BEGINNINGS:
        return cast(C, structs.replace(body, status="held"))
    return body


def may_add(origin: str, body: RecordAdded) -> bool:
    """True if this origin may add such a record: its trust must not exceed the origin's."""
    is_honest = at_least(origin, body.trust) and body.status in _BEGINNINGS
    return is_honest and (body.status == "held" or body.trust != "unverified")


def may_change(
    origin: str, body: Change, trust: str, user: str | None, by: Iterable[str] = ()
) -> bool:
    """True if this origin may change a record of this trust and user.

    ``by`` are the origins whose acts it takes back, if it brings the record back.

    Earlier releases let an agent replace a person's record if any words of a person were evidence.
    Such events exist in ledgers, so an agent's correction is judged when it is decided, not here.
    """
    if not is_visible(body.user, user):
        return False
    match body:
        case RecordReinforced():
            return may_reinforce(origin)
        case RecordSuperseded():
            return origin != "unverified"
        case RecordReviewed() | RecordVouched():
            return may_review(origin)
        case RecordRevised():
            has_grounds = body.text is UNSET or bool(body.evidence)
            corrects = origin == "agent" and has_grounds
            is_allowed = at_least(origin, trust) or corrects
            return is_allowed and at_least(lowest([origin, trust]), body.trust)
        case RecordRestored():
            return all(at_least(origin, other) for other in (trust, *by))
        case _:
            return at_least(origin, trust)


def may_reinforce(origin: str) -> bool:
    """True if this origin may reinforce something."""
    return origin != "unverified"


def may_review(origin: str) -> bool:
    """True if this origin may decide what others proposed: a model would approve its own words."""
    return origin == "person"


def may_propose(origin: str, body: ProposalMade) -> bool:
    """True if this origin may make such a proposal; what cannot be named could not be decided."""
    return at_least(origin, body.trust) and is_name(body.id)


def may_settle(origin: str, body: Settled, user: str | None, by: str) -> bool:
    """True if this origin may settle a proposal of this user, which ``by`` made."""
    if not is_visible(body.user, user):
        return False
    match body:
        case ProposalApplied():
            return origin != "unverified" and at_least(origin, by)
        case ProposalWithdrawn():
            return at_least(origin, by)
        case _:
            return may_review(origin)


def may_link(origin: str, body: LinkAdded, known: tuple[float, Trust, str | None] | None) -> bool:
    """True if this origin may add a link, or restate one that has this weight, trust and name."""
    if known == (body.weight, body.trust, body.name):
        return may_reinforce(origin)
    return at_least(origin, body.trust) and (known is None or at_least(origin, known[1]))


def may_set(
    origin: str,
    body: FrameSet | FrameDropped | DocumentSet | DocumentDropped,
    known: str | None,
) -> bool:
    """True if this origin may set or drop a preset or a document; ``known`` is its present trust.

    A document has a type and a name that a caller can give: what cannot be named could not be
    dropped or erased either.
    """
    if body.user is not None or origin == "unverified":
        return False
    if isinstance(body, DocumentSet | DocumentDropped):
        if not is_document(body.type, body.name):
            return False
        if body.type == policy.TYPE and not may_govern(origin):
            return False
    claims = body.trust if isinstance(body, FrameSet | DocumentSet) else "unverified"
    return at_least(origin, claims) and (known is None or at_least(origin, known))


def may_govern(origin: str) -> bool:
    """True if this origin may change a policy, which says what waits for a person."""
    return origin == "person"


def may_pass(origin: str, body: RulePassed, seq: int, known: str | None) -> bool:
    """True if this origin may note how far a rule has looked; ``known`` is the rule's trust.

    A rule looks only at what was there: the event itself is later.
    """
    if body.user is not None or origin == "unverified" or known is None:
        return False
    return at_least(origin, known) and 0 <= body.through < seq


def may_run(origin: str, body: SessionOpened | SessionClosed) -> bool:
    """True if this origin may open or close a session of its event's user.

    A session has an id that a caller can give: what cannot be named could not be erased either.
    """
    return origin != "unverified" and is_name(body.id)


def may_branch(origin: str, body: BranchOpened) -> bool:
    """True if this origin may open a branch; what cannot be named could not be closed."""
    return origin != "unverified" and is_name(body.id) and is_name(body.name)


def may_close(origin: str, body: BranchClosed, user: str | None, by: str) -> bool:
    """True if this origin may close a branch of this user, which ``by`` opened.

    Merging is a review of everything on it.
    """
    if not is_visible(body.user, user) or not at_least(origin, by):
        return False
    return may_review(origin) if body.how == "merged" else origin != "unverified"


def may_erase(origin: str) -> bool:
    """True if this origin may erase; the store itself does when a loss is accepted."""
    return origin in ("person", "system")


def is_actor(origin: Origin, body: AnyBody) -> bool:
    """True if this origin may change memories; the store's own events can only remove them."""
    return origin != "system" or isinstance(body, EventsErased)
