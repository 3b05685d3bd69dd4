"""Links: what relating two records means.

Responsible for links and for the trust of derived records. Leaves who may change a record to
``lifecycle.trust.lineage``. Invariant: a link has at most the trust of both its ends and its
author.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.lifecycle import commands as c
from recollect.lifecycle.trust.dependents import LOWERED, lowered
from recollect.lifecycle.trust.lineage import Lineage, lent_by, may_change
from recollect.lifecycle.view import View, known_record, stamped
from recollect.model import events as e
from recollect.model.rules import at_least, lowest, may_reinforce

DERIVED: Final = "derived_from"
CONTRADICTS: Final = "contradicts"


def link(view: View, actor: c.Actor, act: c.Link) -> list[e.AnyBody]:
    """Adds a link; if its source is derived from less trusted data, its trust is lowered too."""
    source, target = known_record(view, actor, act.source), known_record(view, actor, act.target)
    if source.id == target.id:
        raise InvalidInput("a record cannot be linked to itself")
    known = view.link(act.source, act.target, act.kind)
    if known is not None and act.fresh is True:
        raise Conflict(f"a link {act.kind!r} from {act.source} to {act.target} already exists")
    trust = lowest([actor.trust, source.trust, target.trust])
    bodies: list[e.AnyBody] = []
    if act.kind == DERIVED and not at_least(lent_by(target), source.trust):
        if may_change(view, Lineage(actor), source, what="tag"):
            trust = lowest([trust, lent_by(target)])
            bodies += lowered(view, actor, source, lent_by(target))
            bodies.append(e.RecordRevised(id=source.id, trust=lent_by(target), reason=LOWERED))
        else:  # this actor may not lower the record's trust, so the link is not trusted
            trust = "unverified" if known is None else known.trust
    name = (known and known.name) if act.name is UNSET else act.name
    if known is None or (known.weight, known.trust, known.name) != (act.weight, trust, name):
        if known is not None and not at_least(actor.trust, known.trust):
            raise Forbidden(f"the link was made with trust {known.trust!r}")
        bodies.append(
            e.LinkAdded(
                source=act.source,
                target=act.target,
                kind=act.kind,
                trust=trust,
                weight=act.weight,
                name=name,
            )
        )
    return [stamped(actor, body) for body in bodies]


def reinforce_link(view: View, actor: c.Actor, act: c.ReinforceLink) -> list[e.AnyBody]:
    source, target = known_record(view, actor, act.source), known_record(view, actor, act.target)
    known = view.link(source.id, target.id, act.kind)
    if known is None:
        return []
    if not may_reinforce(actor.trust):
        raise Forbidden("an unverified source may not reinforce a link")
    body = e.LinkAdded(
        source=source.id,
        target=target.id,
        kind=act.kind,
        trust=known.trust,
        weight=known.weight,
        name=known.name,
    )
    return [stamped(actor, body)]


def unlink(view: View, actor: c.Actor, act: c.Unlink) -> list[e.AnyBody]:
    source, target = known_record(view, actor, act.source), known_record(view, actor, act.target)
    known = view.link(source.id, target.id, act.kind)
    if known is None:
        raise NotFound(f"no link {act.kind!r} from {act.source} to {act.target} was found")
    if not at_least(actor.trust, known.trust):
        raise Forbidden(f"the link was made with trust {known.trust!r}")
    body = e.LinkRemoved(source=act.source, target=act.target, kind=act.kind)
    return [stamped(actor, body)]
