"""What a retraction does: the records that go, those that change, and the events.

Responsible for the events after which the memory is as if the closure had never been written
(decision 32). Leaves each question on the way to the module beside it. Invariants: no trust is
raised; every event is one that another act could have made, so an undo brings all of it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from recollect.index.rows import EpisodeRow, VersionRow, is_held
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import LIVE
from recollect.lifecycle.records.earlier import evidence_then, revision, tagging
from recollect.lifecycle.retraction.closure import GONE, Closure
from recollect.lifecycle.retraction.remainder import Cuts, Remainder
from recollect.lifecycle.retraction.rights import require_few, require_right
from recollect.lifecycle.retraction.trust import Fall
from recollect.lifecycle.trust.dependents import LOWERED
from recollect.lifecycle.view import View, known_record, stamped, visible
from recollect.model import events as e

RETRACTED: Final = "what it was derived from was retracted"


class Retraction(NamedTuple):
    """What a retraction does: the records that go, the others that change, and the events."""

    root: EpisodeRow | VersionRow
    taken: tuple[str, ...]
    back: tuple[str, ...]
    events: tuple[e.AnyBody, ...]


def retract(view: View, actor: c.Actor, act: c.Retract) -> list[e.AnyBody]:
    return list(retraction(view, actor, act.id).events)


def retraction(view: View, actor: c.Actor, id: str) -> Retraction:
    """What retracting something would do; refused if the actor may not do all of it."""
    root = _root(view, actor, id)
    cuts = Closure(view, root).found()
    after = _after(view, actor, cuts)
    gone = _present(view, (id for id, cut in cuts.items() if cut == GONE))
    taken = tuple(row.id for row in gone if row.status != "forgotten")
    changed = _changed(view, cuts, after)
    require_right(view, actor, root, {*cuts, *changed}, cuts)
    require_few(view, actor, len(taken))
    fallen = [row for id, row in after.rows.items() if id in after.fallen]
    back = tuple(dict.fromkeys([*(row.id for row in fallen), *changed]))
    bodies = _root_events(view, root)
    bodies += [e.RecordForgotten(id=id, sources="keep", reason=RETRACTED) for id in taken]
    bodies += [e.RecordRevised(id=row.id, trust=row.trust, reason=LOWERED) for row in fallen]
    for made in changed.values():
        bodies += made
    if bodies:
        began = root.seq if isinstance(root, EpisodeRow) else view.versions(root.id)[0].seq
        bodies.insert(0, e.LineageRetracted(root=began, taken=len(taken), back=len(back)))
    return Retraction(root, taken, back, tuple(stamped(actor, body) for body in bodies))


def _root(view: View, actor: c.Actor, id: str) -> EpisodeRow | VersionRow:
    """The episode or the record that is retracted, if this actor may see it."""
    episode = view.episode(id)
    if episode is not None and visible(actor, episode):
        return episode
    return known_record(view, actor, id)


def _root_events(view: View, root: EpisodeRow | VersionRow) -> list[e.AnyBody]:
    """The event that forgets an episode, unless it is; a record is part of its own closure."""
    if not isinstance(root, EpisodeRow) or view.forgotten_by(root.id) is not None:
        return []
    return [e.EpisodeForgotten(id=root.id, reason=RETRACTED)]


def _after(view: View, actor: c.Actor, cuts: Cuts) -> Fall:
    """What everything that a retraction concerns is after it."""
    remainder = Remainder(cuts)
    remainder.fold(row for id in _concerned(view, cuts) for row in view.versions(id))
    fall = Fall(view, actor, cuts, remainder)
    fall.spread()
    return fall


def _concerned(view: View, cuts: Cuts) -> set[str]:
    """The closure, what it took the place of, and everything with a key of one of these."""
    ids = {*cuts, *(other for id in cuts for other in view.superseded_by(id))}
    rows = list(_present(view, ids))
    for key, user in {(row.key, row.user) for row in rows if row.key is not None}:
        ids.update(row.id for row in view.keyed(key or "", user, holder=False))
    return ids


def _present(view: View, ids: Iterable[str]) -> Iterable[VersionRow]:
    return (row for id in ids if (row := view.version(id)) is not None)


def _changed(view: View, cuts: Cuts, after: Fall) -> dict[str, list[e.AnyBody]]:
    """The events for each record that becomes another; a fall alone is not one of them."""
    changed: dict[str, list[e.AnyBody]] = {}
    for now in _present(view, after.rows):
        then = after.rows[now.id]
        made = _content_events(view, now, then) if now.id in cuts else []
        made += _status_events(now, then)
        if made:
            changed[now.id] = made
    return changed


def _content_events(view: View, now: VersionRow, then: VersionRow) -> list[e.AnyBody]:
    """The events after which a record says what it said before its cut, and rests on that alone."""
    body = revision(now, then, then.trust, evidence_then(view, then))
    return [body, *tagging(now, then)]


def _status_events(now: VersionRow, then: VersionRow) -> list[e.AnyBody]:
    is_replaced = then.status == "archived" and now.superseded_by != then.superseded_by
    if now.status == then.status and not is_replaced:
        return []
    if then.status == "archived":
        return [e.RecordSuperseded(id=now.id, by=then.superseded_by or "")]
    if then.status == "held" and not is_held(now) and then.trust != "unverified":
        return [e.RecordReviewed(id=now.id, trust=then.trust, digest="", verdict="reopened")]
    return [] if now.status in LIVE else [e.RecordRestored(id=now.id)]
