"""Values of the way in and out: what an import, an export or a merge of two ledgers did.

Responsible for their shape. Leaves the work to ``memory``. Invariant: none of them contains the
text of a memory, but for what both ledgers changed.
"""

from __future__ import annotations

from recollect.model.values.records import Value


class Refused(Value, frozen=True, kw_only=True):
    """Something that was not imported: where it stands, and why."""

    where: str
    why: str


class Checked(Value, frozen=True, kw_only=True):
    """How far a foreign chain of hashes holds; ``broken_at`` is the number of a line."""

    where: str
    lines: int
    dialect: str
    broken_at: int | None = None


class Imported(Value, frozen=True, kw_only=True):
    """What an import did, or would do.

    ``known`` was imported before and has not changed there since. ``problems`` names the first of
    what was ``refused``. ``left_out`` counts what the format has and a memory does not take.
    """

    format: str
    source: str
    kept: int = 0
    changed: int = 0
    known: int = 0
    refused: int = 0
    forgotten: int = 0  # deleted there, and so forgotten here
    missing: int = 0  # imported before and not in it now; unchanged here
    records: int = 0  # of those kept
    episodes: int = 0
    links: int = 0
    waiting: bool = False  # what was kept waits for a review
    dry_run: bool = False
    redacted: dict[str, int] = {}
    left_out: dict[str, int] = {}
    chains: tuple[Checked, ...] = ()
    problems: tuple[Refused, ...] = ()


class Exported(Value, frozen=True, kw_only=True):
    """What an export wrote: everything that the handle saw at one position.

    ``digest`` is over what a complete export has, without seq, instants of writing and receipts:
    a memory that imported it has the same one when it is exported.
    """

    format: str
    target: str
    position: int
    records: int
    episodes: int
    links: int
    size_bytes: int
    digest: str | None = None
    pages: int = 0


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
