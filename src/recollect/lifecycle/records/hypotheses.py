"""Settling: what becomes of a hypothesis, and of a record that has faded.

Responsible for confirming and refuting a hypothesis, and for archiving. Leaves what has faded to
``memory.correction.faded`` and reviews to ``lifecycle.proposals``. Invariant: what is archived
can be restored, and what was held comes back held.
"""

from __future__ import annotations

from recollect.errors import Conflict, LimitExceeded
from recollect.index.rows import VersionRow, unpack_names
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import LIVE, filed
from recollect.lifecycle.trust.dependents import lowered
from recollect.lifecycle.trust.lineage import Lineage, lineage, may_change, refused
from recollect.lifecycle.trust.persons_word import vouched_again
from recollect.lifecycle.view import View, known_record, stamped
from recollect.model import events as e
from recollect.model.limits import EVIDENCE_MAX_COUNT
from recollect.model.rules import lowest


def archive(view: View, actor: c.Actor, act: c.Archive) -> list[e.AnyBody]:
    """Takes a record out of default reads; one that changed since it was read stays."""
    target = known_record(view, actor, act.id)
    if target.status not in ("inbox", "active") or act.seq not in (None, target.seq):
        return []
    line, body = Lineage(actor), e.RecordArchived(id=target.id, why=act.why, reason=act.reason)
    if may_change(view, line, target, what="delete"):
        return [stamped(actor, body)]
    proposed = filed(view, line, act, target, body) if act.why == "rejected" else None
    return refused(view, line, target, "delete") if proposed is None else proposed


def settle(view: View, actor: c.Actor, act: c.Settle) -> list[e.AnyBody]:
    """Confirms a hypothesis, or archives it as refuted."""
    target = known_record(view, actor, act.id)
    if target.status not in LIVE:
        raise Conflict(f"{target.id} is {target.status}", hint="`undo` brings it back first")
    if not target.is_hypothesis:
        raise Conflict(
            f"{target.id} is not a hypothesis", hint="use `revise` to correct it, or `forget`"
        )
    line = lineage(view, actor, act.evidence, act.quotes)
    body: e.RecordRevised | e.RecordArchived = (
        _confirmed(line, act, target)
        if act.holds
        else e.RecordArchived(id=target.id, why="rejected", reason=act.reason)
    )
    if not may_change(view, line, target, what="update" if act.holds else "delete"):
        proposed = filed(view, line, act, target, body)
        return refused(view, line, target) if proposed is None else proposed
    if not act.holds:
        return [stamped(actor, body)]
    trust = lowest([target.trust, line.trust])
    word = vouched_again(actor, target, trust, says=True)
    fallen = [] if word else lowered(view, actor, target, trust)
    return [*fallen, stamped(actor, body), *word]


def _confirmed(line: Lineage, act: c.Settle, target: VersionRow) -> e.RecordRevised:
    """The revision after which a hypothesis is a statement, with more evidence."""
    known = unpack_names(target.evidence)
    more = tuple(name for name in act.evidence if name not in known)
    if len(known + more) > EVIDENCE_MAX_COUNT:
        raise LimitExceeded(
            f"the record would have more than {EVIDENCE_MAX_COUNT} pieces of evidence"
        )
    return e.RecordRevised(
        id=target.id,
        trust=lowest([target.trust, line.trust]),
        evidence=known + more,
        is_hypothesis=False,
        reason=act.reason,
    )
