"""Values of background work: what was asked for, and what is asked for again and again.

Responsible for their shape, and for the kinds of work. Leaves doing it to ``memory.jobs.worker``.
Invariant: none of them contains a token or the text of a memory.
"""

from __future__ import annotations

from typing import Final, Literal

from recollect.model.events import Trust
from recollect.model.validate import Json
from recollect.model.values.records import Value

JobKind = Literal[
    "embed", "consolidate", "curate", "retain", "verify", "seal", "rebuild", "checkpoint"
]
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
JOB_KINDS: Final = (
    "embed", "consolidate", "curate", "retain", "verify", "seal", "rebuild", "checkpoint",
)  # fmt: skip


class Job(Value, frozen=True, kw_only=True):
    """One pass over a memory that was asked for."""

    id: int
    space: str
    kind: JobKind
    params: dict[str, Json]
    state: JobState
    asked_by: int | None  # the id of a token; None for the owner of the folder
    trust: Trust  # the highest trust of what the pass writes
    asked_at: str
    due_at: str  # not before this instant
    lease_until: str | None  # while it runs: then another worker takes it
    attempts: int
    done: int  # of total, as far as the last worker told
    total: int
    error: str | None  # the code of the last error


class Schedule(Value, frozen=True, kw_only=True):
    """A pass that is asked for again and again, as a person set it."""

    space: str
    kind: JobKind
    params: dict[str, Json]
    cron: str | None  # in UTC
    every_s: int | None
    set_by: int | None  # the id of a token; None for the owner of the folder
    next_at: str
