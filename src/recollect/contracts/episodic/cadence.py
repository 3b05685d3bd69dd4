"""When a rule is due.

Responsible for the cadence of a rule, and for the note of when it last ran: the document
"episodic/RULE" of the memory, so that it outlives the process. Leaves running it to ``store``.
Invariant: a note is written after what the pass found was applied, so a pass that was stopped runs
again, which changes nothing twice.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from recollect.contracts.episodic.reads import Shown
from recollect.contracts.episodic.values import ConsolidationRule
from recollect.contracts.episodic.where import condition_of
from recollect.errors import Forbidden, NotFound
from recollect.exchange.importers.stargraph import KEY
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.rules.unread import is_time
from recollect.model.instants import INSTANT

_THROUGH: Final = "through"  # the last event that a pass had before it
_AT: Final = "at"


class Noted(NamedTuple):
    """How far a rule has looked, and when; of one that never ran "" and 0."""

    through: int = 0
    at: str = ""


def due_at(memory: Memory, rule: ConsolidationRule) -> Noted | None:
    """What to note after a pass that is due now; None if it is not."""
    handle = handle_of(memory)
    handle.require_whole("a cadence")
    if memory.scope.trust == "unverified":  # it could not note that the rule has run
        raise Forbidden(
            "a cadence needs an agent's trust", hint="call consolidate and apply_delta yourself"
        )
    now = Noted(memory.events.position, handle.now())
    last = _noted(memory, rule)
    if last.through > now.through or last.at > now.at:  # nothing that we wrote, or a clock set back
        last = Noted()
    if "cron" in rule.cadence:
        is_due = not last.at or is_time(handle, rule.cadence["cron"], last.at)
    else:
        where = condition_of(rule.when_filter, now.at)
        rows = Shown(handle).oldest_first(None if where is None else where.narrowed)
        new = (row for row in rows if row.seq > last.through and (not where or where.matches(row)))
        is_due = sum(1 for _ in new) >= rule.cadence["every"]
    return now if is_due else None


def note(memory: Memory, rule: ConsolidationRule, now: Noted) -> None:
    """Notes that a rule has run."""
    memory.settings.documents.set(KEY, rule.id, {_THROUGH: now.through, _AT: now.at})


def _noted(memory: Memory, rule: ConsolidationRule) -> Noted:
    """The note of a rule; another program may have written anything under its name."""
    try:
        data = memory.settings.documents.get(KEY, rule.id).data
    except NotFound:
        return Noted()
    through, at = data.get(_THROUGH), data.get(_AT)
    is_ours = type(through) is int and isinstance(at, str) and INSTANT.fullmatch(at)
    return Noted(through, at) if is_ours else Noted()  # type: ignore[arg-type]
