"""The values that the public API returns: frozen, each an independent copy.

Responsible for the shape of answers. Leaves how they are found to ``index`` and ``recall``.
Invariant: changing anything reachable from an answer does not change a memory.

Every value can be imported from here. A module is loaded when one of its names is first used, so
that a hook, which only reads, does not load the values of upkeep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.model.values.answers import (
        Absence,
        Graph,
        Overview,
        Session,
        SessionStatus,
        Why,
        WhyNot,
    )
    from recollect.model.values.branches import Branch, BranchChange, Choice, Diff, Merged
    from recollect.model.values.contexts import Context, Omitted, Receipt, ReceiptItem, Replay
    from recollect.model.values.events import (
        Archived,
        Change,
        EventUnit,
        EventView,
        Undone,
    )
    from recollect.model.values.evidence import AuditEntry, AuditHead, AuditLine, Proof
    from recollect.model.values.exchange import (
        Checked,
        Exported,
        Imported,
        LedgerConflict,
        LedgerMerge,
        LedgerSide,
        Refused,
    )
    from recollect.model.values.pages import (
        Cleaned,
        Condensed,
        PageChange,
        PageChanges,
        PageInfo,
        PageLimits,
        PageProblem,
        PagesStatus,
        Refusal,
        Rendered,
        Synced,
    )
    from recollect.model.values.proposals import Proposal, Quoted, State, Suggestion
    from recollect.model.values.recall import Hit, Recall, Slice, Strength
    from recollect.model.values.records import (
        INCLUDES,
        Author,
        Episode,
        EpisodeStatus,
        Include,
        Link,
        MemoryScope,
        Op,
        Quote,
        Record,
        Scope,
        Source,
        Unit,
        Value,
        Version,
    )
    from recollect.model.values.rules import Derived, Document, Pass, Rule, Skipped
    from recollect.model.values.upkeep import (
        JOB_KINDS,
        Backup,
        Certified,
        Checkpoint,
        Copied,
        Drop,
        Dropped,
        Embedded,
        Erasure,
        Finding,
        Forgotten,
        Job,
        JobKind,
        JobState,
        MadeToken,
        Migrated,
        OrderedErasure,
        Rebuilt,
        Schedule,
        Sealed,
        SigningKey,
        SpaceStatus,
        Token,
        Vacuumed,
        Verification,
        Witnessed,
        WitnessKey,
    )

__all__ = [
    "Absence",
    "AuditEntry",
    "Author",
    "AuditHead",
    "AuditLine",
    "Backup",
    "Branch",
    "BranchChange",
    "Copied",
    "Change",
    "Checked",
    "Checkpoint",
    "Cleaned",
    "Condensed",
    "Context",
    "Derived",
    "Archived",
    "Diff",
    "Document",
    "Drop",
    "Dropped",
    "Embedded",
    "Episode",
    "EpisodeStatus",
    "Certified",
    "Erasure",
    "EventUnit",
    "EventView",
    "Exported",
    "Finding",
    "Forgotten",
    "Graph",
    "Hit",
    "INCLUDES",
    "Imported",
    "Include",
    "JOB_KINDS",
    "Job",
    "JobKind",
    "JobState",
    "LedgerConflict",
    "LedgerMerge",
    "LedgerSide",
    "Link",
    "MemoryScope",
    "MadeToken",
    "Merged",
    "Migrated",
    "Omitted",
    "Op",
    "OrderedErasure",
    "Overview",
    "PageChange",
    "PageChanges",
    "PageInfo",
    "PageLimits",
    "PageProblem",
    "PagesStatus",
    "Pass",
    "Proof",
    "Proposal",
    "Quote",
    "Quoted",
    "Rebuilt",
    "Recall",
    "Receipt",
    "ReceiptItem",
    "Record",
    "Refusal",
    "Refused",
    "Rendered",
    "Replay",
    "Rule",
    "Scope",
    "Sealed",
    "Schedule",
    "Session",
    "SessionStatus",
    "Choice",
    "SigningKey",
    "Skipped",
    "Slice",
    "Source",
    "SpaceStatus",
    "State",
    "Strength",
    "Suggestion",
    "Synced",
    "Token",
    "Undone",
    "Unit",
    "Vacuumed",
    "Value",
    "Verification",
    "Version",
    "Why",
    "WhyNot",
    "WitnessKey",
    "Witnessed",
]

# In the order in which they depend on each other.
_HOMES = (
    "records",
    "recall",
    "contexts",
    "answers",
    "events",
    "rules",
    "pages",
    "proposals",
    "branches",
    "upkeep",
    "exchange",
    "evidence",
)

if not TYPE_CHECKING:  # pragma: no branch  # otherwise type checkers assume that every name exists

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        homes = (vars(__import__(f"{__name__}.{home}", fromlist=[name])) for home in _HOMES)
        value = next(names[name] for names in homes if name in names)
        globals()[name] = value
        return value
