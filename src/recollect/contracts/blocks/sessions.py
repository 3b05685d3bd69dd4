"""Sessions under the functions of this API.

Responsible for their columns. Leaves opening and closing to the memory. Invariant: a session that
is only named by what was written in it was never started, so it is never the active one.
"""

from __future__ import annotations

import math
from typing import TypedDict

from recollect.contracts.blocks.connection import Connection, IntegrityError
from recollect.errors import Conflict, InvalidInput
from recollect.exchange.importers.blocks import GENERAL
from recollect.lifecycle.commands import OpenSession
from recollect.memory import Memory
from recollect.model import validate


class SessionRow(TypedDict):
    """A session with the columns of this API; ``ended_at`` is None while it is active."""

    id: str
    task_type: str
    started_at: str
    ended_at: str | None
    start_active_hours: float


async def start_session(
    conn: Connection, *, session_id: str, task_type: str, start_active_hours: float
) -> None:
    """Record that a session starts, at the active hours that the caller counted."""
    act = OpenSession(
        id=validate.name(session_id, "session_id"),
        stamp="",
        chance="",
        task_type=validate.name(task_type, "task_type"),
        start_active_hours=_hours(start_active_hours),
        fresh=True,
    )

    def work(memory: Memory) -> None:
        try:
            memory.events.submit(act)
        except Conflict as error:
            raise IntegrityError(error.message, hint=error.hint) from error

    await conn.run(work)


async def end_session(conn: Connection, session_id: str) -> None:
    """Record that a session has ended. One that has ended keeps its end."""
    await conn.run(lambda memory: memory.sessions.close(session_id))


async def get_active_session(conn: Connection) -> SessionRow | None:
    """The session that was started last and has not ended, or None."""
    found = await conn.run(lambda memory: memory.sessions.active())
    if found is None:
        return None
    return SessionRow(
        id=found.id,
        task_type=found.task_type or GENERAL,
        started_at=found.started_at,
        ended_at=found.ended_at,
        start_active_hours=found.start_active_hours,
    )


def _hours(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"start_active_hours must be a number, not {validate.shown(value)}")
    return float(value)
