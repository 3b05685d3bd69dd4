"""The value of a session.

Responsible for its shape. Leaves reading and writing to ``memory.sessions``. Invariant: a session
that is only named is never active.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.values.records import Value

SessionStatus = Literal["named", "open", "closed"]


class Session(Value, frozen=True, kw_only=True):
    """A conversation or a run of work, under the name that what is written in it has.

    ``named`` means that records, episodes or receipts name it and that it was never opened: then it
    started with the first of them. ``seq`` is the event from which it is known.
    """

    id: str
    user: str | None
    status: SessionStatus
    task_type: str | None
    started_at: str
    ended_at: str | None
    start_active_hours: float
    seq: int
