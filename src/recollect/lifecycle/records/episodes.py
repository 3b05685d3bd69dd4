"""Episodes: what observing means.

Responsible for the event of an observation. Leaves forgetting, restoring and erasing an episode to
``lifecycle.removal``. Invariant: an episode never changes; the same id with another text is a
conflict.
"""

from __future__ import annotations

from recollect.errors import Conflict
from recollect.lifecycle import commands as c
from recollect.lifecycle.ids import ID_MIN_CHARS, episode_id
from recollect.lifecycle.records.names import require_free
from recollect.lifecycle.view import View, visible
from recollect.model import events as e
from recollect.model.rules import said_with


def observe(view: View, actor: c.Actor, act: c.Observe) -> tuple[list[e.AnyBody], str]:
    if act.id is not None:
        known = view.episode(act.id)
        same = known is not None and known.text == act.text and known.role == act.role
        if same and known is not None and visible(actor, known):
            return [], known.id
        if known is not None or view.version(act.id) is not None:
            raise Conflict(f"the id {act.id!r} is already used by something else")
        if said_with(actor.trust, act.role) != "person":  # a person's own words cost no lookup
            require_free(view, actor, act.id)
    id = act.id or _new_episode_id(view, act)
    body = e.EpisodeObserved(
        id=id,
        text=act.text,
        role=act.role,
        said_at=act.said_at,
        metadata=act.metadata,
        user=actor.user,
        session=act.session or actor.session,
        agent=actor.agent,
        tz_minutes=actor.tz_minutes,
    )
    return [body], id


def _new_episode_id(view: View, act: c.Observe) -> str:
    """The shortest free id, made from the act's random bytes."""
    for length in range(ID_MIN_CHARS, len(act.chance) + 1, 2):
        id = episode_id(act, length)
        if view.episode(id) is None:
            return id
    raise Conflict("no free id was found", hint="try again")
