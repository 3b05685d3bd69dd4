"""Who may retract.

Responsible for refusing a retraction that its actor may not make whole. Leaves what it does to
``plan``. Invariant: nothing is half taken back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from recollect.errors import Forbidden
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import LIVE
from recollect.lifecycle.retraction.remainder import Cuts
from recollect.lifecycle.settings.policy import policy_of, require_at_once
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.lifecycle.view import View, visible
from recollect.model.rules import at_least

_LISTED_MAX_COUNT: Final = 8


def require_right(
    view: View,
    actor: c.Actor,
    root: EpisodeRow | VersionRow,
    ids: Iterable[str],
    cuts: Cuts,
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


def require_few(view: View, actor: c.Actor, count: int) -> None:
    """Refuses to take back more than this actor may forget at once."""
    if actor.trust != "person" and count > (at_most := policy_of(view, actor).forget_at_once):
        raise Forbidden(
            f"taking back more than {at_most} at once needs a person",
            hint="ask a person to retract it",
        )


def _may_take_back(view: View, actor: c.Actor, row: VersionRow, cuts: Cuts) -> bool:
    since = cuts.get(row.id)
    changes = [] if since is None else [each for each in view.versions(row.id) if each.seq >= since]
    origins = [each.origin for each in changes if each.what != "reinforced"]
    if row.status not in LIVE:
        origins += [row.origin, *view.ended_by(row.id)]
    is_equal = all(at_least(actor.trust, origin) for origin in origins)
    return is_equal and may_alter(view, actor, row)
