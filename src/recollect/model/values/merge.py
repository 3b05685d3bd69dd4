"""What a merge of two ledgers answers.

Responsible for what came, what stayed out and what both sides changed. Leaves finding it to
``memory.merging.merge``. Invariant: values are frozen copies.
"""

from __future__ import annotations

from recollect.model.values.records import Value


class LedgerSide(Value, frozen=True, kw_only=True):
    """What one ledger has of what both changed, and who changed it last there."""

    values: tuple[str, ...]
    key: str | None = None
    by: str
    agent: str | None = None
    at: str


class LedgerConflict(Value, frozen=True, kw_only=True):
    """One thing that both ledgers changed, each without knowing of the other."""

    id: str
    what: str
    ours: LedgerSide
    theirs: LedgerSide


class LedgerMerge(Value, frozen=True, kw_only=True):
    """What came from another copy of this ledger, or would come."""

    space: str
    where: str
    source: str
    fork: int  # the last event that both have
    commands: int  # that came, or would come
    events: int
    known: int  # commands of the other ledger that are here already
    erased: int  # events that were erased here because they were erased there
    decided: int  # things that both sides changed, and which now say the same in both
    left: tuple[str, ...]  # why commands did not come
    signed: int  # the event of the other ledger up to which a known key signed it
    is_mine: bool  # all of it counts as this person's own
    conflicts: tuple[LedgerConflict, ...]
    digest: str  # of what is to be decided
    dry_run: bool
    seq: int
