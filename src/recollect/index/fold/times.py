"""Instants of a forged event that cannot be read as a time.

Responsible for leaving them out before an event is applied. Leaves the instants of headers to
``ledger``. Invariant: every instant that the tables hold can be read as a time.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import structs

from recollect.model.events import (
    AnyBody,
    EpisodeObserved,
    RecordAdded,
    RecordReviewed,
    RecordRevised,
    RecordState,
)
from recollect.model.instants import is_time

T = TypeVar("T", RecordAdded, RecordRevised, RecordState)

_TIMES: Final = ("valid_from", "valid_to", "expires", "said_at")


def timed(body: AnyBody, at: str) -> AnyBody:
    """The body without unreadable instants; an episode was then said when it was written."""
    match body:
        case EpisodeObserved():
            return body if is_time(body.said_at) else structs.replace(body, said_at=at)
        case RecordAdded():
            return _without_bad_times(body)
        case RecordRevised():
            return _without_bad_times(body)
        case RecordReviewed(state=RecordState() as state):
            return structs.replace(body, state=_without_bad_times(state))
        case _:
            return body


def written(body: AnyBody, at: str) -> str:
    """When it was written: in its own ledger, if a merge brought it from there."""
    there = body.written_at
    return there if there is not None and is_time(there) else at


def _without_bad_times(body: T) -> T:
    """The same; an unset field stays unset."""
    said = ((name, getattr(body, name)) for name in _TIMES)
    bad = {name: None for name, value in said if isinstance(value, str) and not is_time(value)}
    return structs.replace(body, **bad) if bad else body
