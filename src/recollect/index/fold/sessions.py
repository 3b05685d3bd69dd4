"""What events about sessions and receipts do to the index.

Responsible for sessions that are opened and closed, for what is left of one after an erasure, and
for the rows of receipts.
Records, episodes and receipts make the sessions that they name known: ``Tables.name_session``.
Leaves what a session means to its readers. Invariants: a session is opened once and closed once;
the event from which it is known is the first of those that name or open it; the first receipt with
an id counts.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.preset_rows import receipt_row
from recollect.index.rows import SessionRow
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Db, session_name
from recollect.model import rules
from recollect.model.events import ContextHanded, Origin, SessionClosed, SessionOpened


def session_opened(state: State, seq: int, at: str, origin: Origin, body: SessionOpened) -> None:
    known = _own(state, body)
    if not rules.may_run(origin, body) or (known is not None and known.opened != STILL):
        return
    state.tables.name_session(body.id, body.user, seq)
    cells = (seq, body.task_type, body.start_active_hours, body.id, body.user or "")
    state.tables.write("open_session", cells, session_name(body.id))


def session_closed(state: State, seq: int, at: str, origin: Origin, body: SessionClosed) -> None:
    known = _own(state, body)
    if known is None or known.opened == STILL or known.closed != STILL:
        return
    if rules.may_run(origin, body):
        cells = (seq, body.id, body.user or "")
        state.tables.write("close_session", cells, session_name(body.id))


def forget_event(db: Db, seq: int) -> tuple[str, str] | None:
    """Takes an event out of the session that it opened, closed or made known; returns which."""
    row = db.one("session_of_event", {"seq": seq})
    if row is None:
        return None
    session = SessionRow._make(row)
    named = (session.id, session.user)
    if seq == session.opened:
        db.many("open_session", [(STILL, None, None, *named)])
    if seq in (session.opened, session.closed):
        db.many("close_session", [(STILL, *named)])
    return named


def known_again(db: Db, id: str, user: str) -> None:
    """Finds the event from which a session is known now; without one the session is gone."""
    first = db.one("first_in_session", {"id": id, "user": user})
    if first == (STILL,):
        db.many("drop_session", [(id, user)])
    else:
        db.many("move_session", [(*(first or ()), id, user)])


def _own(state: State, body: SessionOpened | SessionClosed) -> SessionRow | None:
    """The session that an event is about: it belongs to the event's user."""
    db = state.tables.settle(session_name(body.id))
    return _named(db, body.id, body.user or "")


def _named(db: Db, id: str, user: str) -> SessionRow | None:
    rows = db.rows("sessions_named", {"id": id, "at": NOW})
    return next((row for row in map(SessionRow._make, rows) if row.user == user), None)


def context_handed(state: State, seq: int, at: str, origin: Origin, body: ContextHanded) -> None:
    known = state.tables.settle(body.id).one("get_receipt", {"id": body.id, "at": NOW})
    if known is None:
        state.tables.write("add_receipt", receipt_row(seq, at, body), body.id)
        if body.session:
            state.tables.name_session(body.session, body.user, seq)
