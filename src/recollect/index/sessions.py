"""Reads of sessions: how one stood at a position, which one is open, and when they began.

Responsible for sessions in the order in which they became known. Leaves sessions by their name,
which decisions read too, to ``index.reads``. Invariant: nothing that happened to a session after
the position shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec

from recollect.index.rows import Cell, Row, SessionRow
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Db


def session_then(row: Row, at: int) -> SessionRow:
    """A session as it stood at a position."""
    session = SessionRow._make(row)
    if session.opened > at:
        return session._replace(opened=STILL, closed=STILL, task_type=None, hours=None)
    return session._replace(closed=STILL) if session.closed > at else session


def sessions_named(db: Db, at: int, id: str) -> list[SessionRow]:
    """The sessions of this name, one for each user that has one; none of a user comes first."""
    return [session_then(row, at) for row in db.rows("sessions_named", {"id": id, "at": at})]


def list_sessions(db: Db, at: int, user: str | None, before: int, limit: int) -> list[SessionRow]:
    """The sessions of one user or of all, the last known first."""
    params: dict[str, Cell] = {"last": min(at, before - 1), "limit": limit}
    name = "list_sessions"
    if user is not None:
        name, params["user"] = "list_sessions_of_user", user
    return [session_then(row, at) for row in db.rows(name, params)]


def open_session(db: Db, at: int, user: str | None) -> SessionRow | None:
    """The session of one user or of all that was opened last and is not closed."""
    params: dict[str, Cell] = {"user": user}
    if at != NOW:
        name, params["at"] = "open_session_at", at
    else:
        name = "open_session_now" if user is None else "open_session_of_user_now"
    row = db.one(name, params)
    return None if row is None else session_then(row, at)


def sessions_opened_by(db: Db, user: str) -> list[SessionRow]:
    """The sessions that a user has opened."""
    return [SessionRow._make(row) for row in db.rows("sessions_opened_by", {"user": user})]


def sessions_opened(db: Db) -> list[SessionRow]:
    """Every session that was opened, of every user."""
    return [SessionRow._make(row) for row in db.rows("sessions_opened", {})]


def instants_of(db: Db, events: Iterable[int]) -> dict[int, str]:
    """When each of these events was written."""
    seqs = msgspec.json.encode(sorted(set(events))).decode()
    rows = db.rows("instants_of_events", {"seqs": seqs})
    return {cast(int, seq): cast(str, at) for seq, at in rows}
