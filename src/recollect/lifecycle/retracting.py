"""Retracting: everything that was derived from an episode or a record is taken back.

Responsible for who may, and for the events after which the memory is as if the closure had never
been written (decision 32). Leaves what is in the closure to ``lifecycle.closing``, what then holds
to ``lifecycle.masking`` and what falls in trust to ``lifecycle.falling``. Invariants: nothing is
half taken back; no trust is raised; every event is one that another act could have made, so an undo
brings all of it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from recollect.errors import Forbidden
from recollect.index.rows import EpisodeRow, VersionRow, is_held
from recollect.lifecycle import commands as c
from recollect.lifecycle.closing import GONE, Closure
from recollect.lifecycle.falling import Falling
from recollect.lifecycle.filing import LIVE
from recollect.lifecycle.lowering import LOWERED
from recollect.lifecycle.masking import Masked
from recollect.lifecycle.policy import policy_of, require_at_once
from recollect.lifecycle.reverting import evidence_then, revision, tagging
from recollect.lifecycle.view import View, known_record, stamped, visible
from recollect.lifecycle.vouching import may_alter
from recollect.model import events as e
from recollect.model.rules import at_least

RETRACTED: Final = "what it was derived from was retracted"
_LISTED_MAX_COUNT: Final = 8


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
    episode = view.episode(id)
    is_episode = episode is not None and visible(actor, episode)
    root = episode if episode is not None and is_episode else known_record(view, actor, id)
    cuts = Closure(view, root).found()
    concerned = _concerned(view, cuts)
    masked = Masked(cuts)
    masked.replay(_versions(view, concerned))
    after = Falling(view, actor, cuts, masked)
    after.settle()
    gone = _present(view, [id for id, cut in cuts.items() if cut == GONE])
    taken = [row for row in gone if row.status != "forgotten"]
    changed = {
        now.id: made
        for now in _present(view, after.rows)
        if (made := _events(view, now, after.rows[now.id], cuts))
    }
    _require_right(view, actor, root, {*cuts, *changed}, cuts)
    _require_few(view, actor, len(taken))
    bodies: list[e.AnyBody] = []
    if episode is not None and is_episode and view.forgotten_by(id) is None:
        bodies.append(e.EpisodeForgotten(id=id, reason=RETRACTED))
    bodies += [e.RecordForgotten(id=row.id, sources="keep", reason=RETRACTED) for row in taken]
    fallen = [row for id, row in after.rows.items() if id in after.fallen]
    bodies += [e.RecordRevised(id=row.id, trust=row.trust, reason=LOWERED) for row in fallen]
    bodies += [body for made in changed.values() for body in made]
    back = tuple(dict.fromkeys([*(row.id for row in fallen), *changed]))
    if bodies:
        began = root.seq if isinstance(root, EpisodeRow) else view.versions(root.id)[0].seq
        first = e.LineageRetracted(root=began, taken=len(taken), back=len(back))
        bodies.insert(0, first)
    return Retraction(
        root,
        tuple(row.id for row in taken),
        back,
        tuple(stamped(actor, body) for body in bodies),
    )


def _concerned(view: View, cuts: Mapping[str, int]) -> set[str]:
    """The closure, what it took the place of, and everything with a key of one of these."""
    ids = {*cuts, *(other for id in cuts for other in view.superseded_by(id))}
    rows = list(_present(view, ids))
    for key, user in {(row.key, row.user) for row in rows if row.key is not None}:
        ids.update(row.id for row in view.keyed(key or "", user, holder=False))
    return ids


def _present(view: View, ids: Iterable[str]) -> Iterable[VersionRow]:
    return (row for id in ids if (row := view.version(id)) is not None)


def _versions(view: View, ids: Iterable[str]) -> Iterable[VersionRow]:
    for id in ids:
        yield from view.versions(id)


def _events(
    view: View, now: VersionRow, then: VersionRow, cuts: Mapping[str, int]
) -> list[e.AnyBody]:
    """The events from what a record is to what it would be; a fall alone is not one of them."""
    content = _content_events(view, now, then) if now.id in cuts else []
    return [*content, *_status_events(now, then)]


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


def _require_right(
    view: View,
    actor: c.Actor,
    root: EpisodeRow | VersionRow,
    ids: Iterable[str],
    cuts: Mapping[str, int],
) -> None:
    """Refuses an actor with less trust than something that goes or comes back, or its author."""
    require_at_once(view, actor, "delete")
    is_episode = isinstance(root, EpisodeRow)
    refused = [root.id] if is_episode and not at_least(actor.trust, root.trust) else []
    for id in ids:
        row = view.version(id)
        if row is None or not visible(actor, row):
            raise Forbidden(
                f"something of another user is derived from {root.id}",
                hint="use a handle for the whole space",
            )
        if not _may_take_back(view, actor, row, cuts):
            refused.append(id)
    if refused:
        named = ", ".join(sorted(refused)[:_LISTED_MAX_COUNT])
        more = " and more" if len(refused) > _LISTED_MAX_COUNT else ""
        raise Forbidden(
            f"{actor.trust!r} may not take back {named}{more}, which have more trust or were "
            "changed by a person",
            hint="ask a person to retract it",
        )


def _may_take_back(view: View, actor: c.Actor, row: VersionRow, cuts: Mapping[str, int]) -> bool:
    since = cuts.get(row.id)
    changes = [] if since is None else [each for each in view.versions(row.id) if each.seq >= since]
    origins = [each.origin for each in changes if each.what != "reinforced"]
    if row.status not in LIVE:
        origins += [row.origin, *view.ended_by(row.id)]
    is_equal = all(at_least(actor.trust, origin) for origin in origins)
    return is_equal and may_alter(view, actor, row)


def _require_few(view: View, actor: c.Actor, count: int) -> None:
    if actor.trust != "person" and count > (at_most := policy_of(view, actor).forget_at_once):
        raise Forbidden(
            f"taking back more than {at_most} at once needs a person",
            hint="ask a person to retract it",
        )
