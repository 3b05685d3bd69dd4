"""Sessions and what happens in one: an episode is observed, a context is handed over.

Responsible for the events of opening and closing a session, of an observation and of a receipt, and
for which session a name means. Leaves forgetting and erasing to ``lifecycle.removal``. A session
that is only named by what is written in it needs no act. Invariants: a session is opened once and
closed once; an episode never changes; a receipt is written once.
"""

from __future__ import annotations

import msgspec

from recollect.errors import Ambiguous, Conflict, Forbidden, NotFound
from recollect.index.rows import SessionRow
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.ids import ID_MIN_CHARS, episode_id, session_id
from recollect.lifecycle.records.names import require_free
from recollect.lifecycle.view import View, stamped, visible
from recollect.model import events as e
from recollect.model.rules import is_visible, said_with


def open_session(view: View, actor: c.Actor, act: c.OpenSession) -> tuple[list[e.AnyBody], str]:
    _require_trust(actor)
    id = act.id or _new_session_id(view, act)
    known = session_of(view, id, actor.user)
    if known is not None and known.opened != STILL:
        if known.closed != STILL:
            raise Conflict(f"the session {id!r} is closed", hint="open one with another id")
        if act.fresh is True or known.task_type != act.task_type:
            raise Conflict(
                f"the session {id!r} is open already, with the task type {known.task_type!r}",
                hint="close it first, and open one with another id",
            )
        return [], id
    body = e.SessionOpened(
        id=id, task_type=act.task_type, start_active_hours=act.start_active_hours
    )
    return [stamped(actor, body)], id


def close_session(view: View, actor: c.Actor, act: c.CloseSession) -> list[e.AnyBody]:
    _require_trust(actor)
    known = opened_session(view, actor, act.id)
    if known.closed != STILL:
        return []
    body = stamped(actor, e.SessionClosed(id=act.id))
    return [msgspec.structs.replace(body, user=known.user or None)]


def session_of(view: View, id: str, user: str | None) -> SessionRow | None:
    """The session of this name that belongs to a user, or to none."""
    return next((row for row in view.sessions_named(id) if row.user == (user or "")), None)


def opened_session(view: View, actor: c.Actor, id: str) -> SessionRow:
    """The session of this name that an actor means: one that was opened, and is visible."""
    rows = [
        row
        for row in view.sessions_named(id)
        if row.opened != STILL and is_visible(actor.user, row.user or None)
    ]
    if not rows:
        raise NotFound(
            f"no session {id!r} was opened", hint="`recollect sessions list` lists all of them"
        )
    if len(rows) > 1 and rows[0].user:
        users = ", ".join(row.user for row in rows)
        raise Ambiguous(f"the session {id!r} is one of {users}", hint="use a handle for one user")
    return rows[0]


def events_about(session: SessionRow | None) -> set[int]:
    """The events whose subject is this session."""
    return set() if session is None else {session.opened, session.closed} - {STILL}


def _new_session_id(view: View, act: c.OpenSession) -> str:
    """The shortest free id, made from the act's random bytes."""
    for length in range(ID_MIN_CHARS, len(act.chance) + 1, 2):
        id = session_id(act, length)
        if not view.sessions_named(id):
            return id
    raise Conflict("no free id was found", hint="try again")


def _require_trust(actor: c.Actor) -> None:
    if actor.trust == "unverified":
        raise Forbidden("an unverified source may not open or close a session")


def hand(view: View, actor: c.Actor, act: c.Hand) -> list[e.AnyBody]:
    return [] if view.receipt(act.receipt.id) is not None else [stamped(actor, act.receipt)]


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
