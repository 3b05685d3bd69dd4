"""S4: sessions, each clause once, on every engine."""

from __future__ import annotations

import inspect

import pytest

from recollect import InvalidInput, NotFound
from recollect.contracts.blocks import (
    IntegrityError,
    SessionRow,
    end_session,
    get_active_session,
    start_session,
)
from tests.contract.conftest import Call


def start(call: Call, id: str, hours: float = 0.0, task_type: str = "coding") -> None:
    call(start_session, session_id=id, task_type=task_type, start_active_hours=hours)


def active(call: Call) -> SessionRow:
    row = call(get_active_session)
    assert row is not None
    return row


def test_a_session_has_five_columns(call: Call) -> None:  # S4-252
    start(call, "s-1", 12.25)
    row = active(call)
    assert list(row) == "id task_type started_at ended_at start_active_hours".split()
    assert row == {
        "id": "s-1",
        "task_type": "coding",
        "started_at": call.memory.status().at,
        "ended_at": None,
        "start_active_hours": 12.25,
    }
    with pytest.raises(IntegrityError, match="open already"):
        start(call, "s-1")
    call(end_session, "s-1")
    with pytest.raises(IntegrityError, match="closed"):
        start(call, "s-1")
    call.memory.sessions.open("mine")  # by another API, without a task type
    assert active(call)["task_type"] == "general"


def test_a_session_is_started_and_ended(call: Call) -> None:  # S4-286
    assert list(inspect.signature(start_session).parameters)[1:] == [
        "session_id",
        "task_type",
        "start_active_hours",
    ]
    start(call, "s-1")
    call(end_session, "s-1")
    (ended,) = call.memory.sessions.list()
    assert (ended.id, ended.status, ended.ended_at) == ("s-1", "closed", call.memory.status().at)
    call(end_session, "s-1")
    assert call.memory.sessions.list() == [ended]
    with pytest.raises(NotFound):
        call(end_session, "nobody's")
    for wrong in ("soon", True, float("nan"), None):
        with pytest.raises(InvalidInput, match="must be a number"):
            start(call, "s-2", wrong)  # type: ignore[arg-type]


def test_the_active_session_has_not_ended_and_is_the_last(call: Call) -> None:  # S4-287
    assert call(get_active_session) is None
    call.memory.scoped(session="named").remember("Tea is at four.")
    assert call(get_active_session) is None
    for id in ("s-1", "s-2", "s-3"):
        start(call, id)
    assert active(call)["id"] == "s-3"
    call(end_session, "s-3")
    assert active(call)["id"] == "s-2"
    call(end_session, "s-1")
    assert active(call)["id"] == "s-2"
    call(end_session, "s-2")
    assert call(get_active_session) is None
