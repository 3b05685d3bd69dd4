"""Who may do what: the table of trust as functions.

Responsible for comparing tiers and for the trust of what is derived. Leaves who the actor is to
the handle it came through. Invariant: trust is a minimum over the lineage; nothing here raises
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from recollect.errors import Forbidden
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.lifecycle.commands import Actor
from recollect.model.events import TRUST_RANK, Trust


def at_least(trust: str, other: str) -> bool:
    """True if the first tier is not below the second."""
    return TRUST_RANK[trust] >= TRUST_RANK[other]


def lowest(tiers: Iterable[str]) -> Trust:
    """The lowest of these tiers."""
    return cast(Trust, min(tiers, key=TRUST_RANK.__getitem__))


def of_lineage(actor: Actor, evidence: Iterable[EpisodeRow]) -> Trust:
    """The trust of something the actor derives from these episodes."""
    return lowest([actor.trust, *(episode.trust for episode in evidence)])


def may_change(actor: Actor, target: VersionRow, evidence: Iterable[EpisodeRow] = ()) -> bool:
    """True if a reversible change applies at once.

    An agent may correct a person's record when a person's own words are the evidence. Nobody
    rests a trusted record on unverified words.
    """
    heard = [episode.trust for episode in evidence]
    if target.trust != "unverified" and "unverified" in heard:
        return False
    if at_least(actor.trust, target.trust):
        return True
    return actor.trust == "agent" and "person" in heard


def require_change(actor: Actor, target: VersionRow, evidence: Iterable[EpisodeRow] = ()) -> None:
    """Refuses a change that ``may_change`` does not allow."""
    if not may_change(actor, target, evidence):
        raise Forbidden(
            f"{target.id} has the trust of {target.trust!r}; {actor.trust!r} may not change it",
            hint="a person may, without unverified evidence; an agent may on a person's words",
        )
