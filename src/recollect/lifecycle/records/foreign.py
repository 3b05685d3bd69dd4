"""Bringing: records and links as another memory had them.

Responsible for the acts that an import of our own export makes, and for the events that lead to the
state there: added, reinforced, and ended as it was. Leaves reading the export to
``exchange.importers.own``. Invariants: nothing gets more trust than the actor has; a record takes
no key from another one, unless it had superseded that one there too.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, UnsetType

from recollect.errors import InvalidInput
from recollect.index.rows import VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.records.links import DERIVED
from recollect.lifecycle.records.records import added, new_record_id
from recollect.lifecycle.settings.policy import at_once
from recollect.lifecycle.trust.lineage import Lineage, lent_by, may_change
from recollect.lifecycle.view import View, known_record, stamped
from recollect.model import events as e
from recollect.model.limits import BROUGHT_REINFORCEMENTS_MAX_COUNT
from recollect.model.reasons import Reason
from recollect.model.rules import at_least, lowest

_ENDED: Final = ("archived", "forgotten")
_WAS_HELD: Final = ("was_held", "rejected")
_WHY: Final[dict[str | None, e.Archival]] = {
    "merged": "merged",
    "rejected": "rejected",
    "refuted": "rejected",  # of a record that was not held
}


class Bring(c.Act, frozen=True, kw_only=True):
    """Add a record with the trust and the status that it had in another memory.

    Its trust is not computed from its evidence: a person may have reviewed the record there. An
    import has an agent's trust anyway, with or without evidence.
    """

    wanted: c.Remember
    trust: e.Trust
    status: e.Status = "active"
    reason: Reason | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    reinforced: int = 0
    why: str | None | UnsetType = UNSET  # it ended there, in words


class BringLink(c.Act, frozen=True, kw_only=True):
    """Add a link with the trust that it had in another memory; one that exists here stays."""

    source: str
    target: str
    kind: str
    trust: e.Trust
    weight: float = 1.0
    name: str | None = None
    reinforced: int = 0


def bring(view: View, actor: c.Actor, act: Bring) -> tuple[list[e.AnyBody], str]:
    """Adds a record and ends it as it ended there."""
    id = new_record_id(view, actor, act.wanted)
    trust = lowest([actor.trust, act.trust])
    holder = view.holder(act.wanted.key, actor.user) if act.wanted.key else None
    replaced = _replaced(view, actor, act, holder)
    status = _beginning(view, actor, act, trust, holder is not None and replaced is None)
    # A record that holds cannot begin unverified: one that fell later falls again at the end.
    first = actor.trust if status != "held" and trust == "unverified" else trust
    bodies: list[e.AnyBody] = []
    if replaced is not None and status == "active":
        bodies.append(e.RecordSuperseded(id=replaced.id, by=id))
    bodies.append(added(actor, act.wanted, id, first, status, act.supersedes))
    if actor.trust != "unverified":
        count = min(act.reinforced, BROUGHT_REINFORCEMENTS_MAX_COUNT)
        bodies += [e.RecordReinforced(id=id, how="used")] * count
    bodies += _ending(actor, act, id)
    if first != trust:
        bodies.append(e.RecordRevised(id=id, trust=trust))
    return [stamped(actor, body) for body in bodies], id


def _replaced(
    view: View, actor: c.Actor, act: Bring, holder: VersionRow | None
) -> VersionRow | None:
    """The record here that the new one superseded there, if it has its key."""
    if holder is None or holder.id != act.supersedes or act.status != "active":
        return None
    return holder if may_change(view, Lineage(actor), holder) else None


def _beginning(view: View, actor: c.Actor, act: Bring, trust: e.Trust, is_taken: bool) -> e.Status:
    """The status to begin with; what may not hold here at once waits for a person."""
    if actor.trust == "unverified" or act.status == "held" or act.reason in _WAS_HELD:
        return "held"
    if act.status in _ENDED:
        return "active"
    if trust == "unverified" or not at_once(view, actor, "add"):
        return "held"
    if act.status == "inbox":
        return "inbox"
    return "held" if is_taken else "active"


def _ending(actor: c.Actor, act: Bring, id: str) -> list[e.AnyBody]:
    """The events that end a record as it ended there."""
    if act.status not in _ENDED:
        return []
    if actor.trust == "unverified":  # it may not supersede; what ended there does not wait here
        return [e.RecordForgotten(id=id)]
    bodies: list[e.AnyBody] = []
    said = None if act.why is UNSET else act.why
    if act.superseded_by is not None:
        bodies.append(e.RecordSuperseded(id=id, by=act.superseded_by, reason=said))
    elif act.status == "archived":
        why = _WHY.get(act.reason, "decayed")
        bodies.append(e.RecordArchived(id=id, why=why, reason=said))
    if act.status == "forgotten":
        keep: e.Sources = "keep" if act.reason == "sources_kept" else "shadow"
        bodies.append(e.RecordForgotten(id=id, sources=keep))
    return bodies


def bring_link(view: View, actor: c.Actor, act: BringLink) -> list[e.AnyBody]:
    """Adds a link. Its ends keep their trust: it was lowered there if it had to be.

    A derivation that would lower what this actor may not change is not trusted.
    """
    source, target = known_record(view, actor, act.source), known_record(view, actor, act.target)
    if source.id == target.id:
        raise InvalidInput("a record cannot be linked to itself")
    if view.link(source.id, target.id, act.kind) is not None:
        return []
    trust = lowest([actor.trust, act.trust])
    is_lowering = act.kind == DERIVED and not at_least(lent_by(target), source.trust)
    if is_lowering and not may_change(view, Lineage(actor), source, what="tag"):
        trust = "unverified"  # as in `links.link`: else what befalls the target befalls the source
    body = e.LinkAdded(
        source=source.id,
        target=target.id,
        kind=act.kind,
        trust=trust,
        weight=act.weight,
        name=act.name,
    )
    is_trusted = actor.trust != "unverified"
    again = min(act.reinforced, BROUGHT_REINFORCEMENTS_MAX_COUNT) if is_trusted else 0
    return [stamped(actor, body)] * (1 + again)
