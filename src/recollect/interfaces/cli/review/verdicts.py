"""The commands that say whether a hypothesis held.

Responsible for their answer. Leaves the work to ``Memory``. Invariant: this module decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.model.values import Record


@verb
def confirm(
    call: Call, id: o.RecordId, evidence: o.Evidence = None, reason: o.Reason = None
) -> None:
    """Confirm a hypothesis: it turned out to hold."""
    _settle(call, id, True, evidence, reason)


@verb
def refute(
    call: Call, id: o.RecordId, evidence: o.Evidence = None, reason: o.Reason = None
) -> None:
    """Refute a hypothesis: it turned out not to hold, and is archived."""
    _settle(call, id, False, evidence, reason)


def _settle(
    call: Call, id: str, holds: bool, evidence: Sequence[str] | None, reason: str | None
) -> None:
    with call.memory(having=id) as memory:
        settle = memory.review.confirm if holds else memory.review.refute
        record = settle(id, evidence=o.words(evidence), reason=reason)
        call.answer(record, _settled, memory)


def _settled(record: Record) -> None:
    if record.pending:
        plain.record("Waits for a review", record)
    else:
        plain.record("Confirmed" if record.status != "archived" else "Refuted", record)
