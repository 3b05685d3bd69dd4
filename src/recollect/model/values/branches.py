"""Values of branches: what one is, and what merging it would change.

Responsible for their shape. Leaves reading and writing to ``memory.branches``. Invariant: a value
is an independent copy.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Ending, Intent, Origin
from recollect.model.validate import Json
from recollect.model.values.records import Record, Scope, Value


class Branch(Value, frozen=True, kw_only=True):
    """A named line of proposals.

    ``events`` are the positions of the proposals that were made on it, ``changes`` how many of them
    wait. A closed branch says ``how`` it ended, why (``note``), and which ``record`` sums it up.
    """

    id: str
    name: str
    parent: str | None  # the id of the branch that it comes from
    events: tuple[int, ...]
    changes: int
    is_open: bool
    how: Ending | None
    reason: str | None  # what it is for
    note: str | None  # the reason that was given when it was closed
    record: str | None
    by: Origin
    scope: Scope
    at: str
    seq: int
    closed_at: str | None = None
    closed_by: Origin | None = None


class BranchChange(Value, frozen=True, kw_only=True):
    """One change on a branch, with both sides.

    ``base`` is the record that it was made against, ``ours`` what the memory has now, and ``text``
    with ``changes`` what the branch would make of it (``theirs``). It is a ``conflict`` if the
    base has changed since.
    """

    id: str  # of the proposal
    record: str  # the record that it adds or changes
    intent: Intent
    text: str | None
    key: str | None
    changes: dict[str, Json]
    base: Record | None
    ours: Record | None
    conflict: bool
    reason: str | None
    by: Origin
    at: str
    seq: int


class Diff(Value, frozen=True, kw_only=True):
    """What merging a branch would change; ``digest`` is over both sides, and a merge needs it."""

    branch: Branch
    changes: tuple[BranchChange, ...]
    digest: str

    @property
    def conflicts(self) -> tuple[BranchChange, ...]:
        """The changes whose base has moved."""
        return tuple(change for change in self.changes if change.conflict)


class Merged(Value, frozen=True, kw_only=True):
    """What a merge did."""

    branch: Branch
    records: tuple[str, ...]  # added or changed
    kept: tuple[str, ...]  # the proposals that were rejected: what the memory had stays


Choice = Literal["ours", "theirs"]
