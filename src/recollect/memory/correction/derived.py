"""Forgetting something with all that was derived from it.

Responsible for checking what is asked, and for what such a forgetting would do or did. Leaves
what is derived from what to ``lifecycle.retraction``. Invariant: a dry run writes nothing.
"""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.lifecycle.records.names import full_id
from recollect.lifecycle.retraction.plan import retraction
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.model.limits import COMMAND_MAX_EVENTS
from recollect.model.values import Forgotten, Unit
from recollect.model.words import Sources
from recollect.store.port import Outcome


def checked(id: str, derived: bool, sources: Sources | None, reason: str | None) -> str:
    """The id, if the other arguments fit."""
    if not derived:
        raise InvalidInput(
            "dry_run shows what is derived from something", hint="call it with derived=True"
        )
    if sources not in (None, "keep"):
        raise InvalidInput(
            f"derived keeps the sources, so sources cannot be {validate.shown(sources)}",
            hint="leave sources out",
        )
    if reason is not None:
        raise InvalidInput("derived takes no reason", hint="leave reason out")
    return validate.reference(id)


def would_retract(handle: Handle, id: str) -> Forgotten:
    """What would be forgotten with everything that was derived from it."""
    with handle.reading() as reads:
        found = retraction(reads, handle.actor, full_id(reads, handle.actor.user, id))
    unit: Unit = "record" if isinstance(found.root, VersionRow) else "episode"
    return Forgotten(id=found.root.id, unit=unit, taken=found.taken, back=found.back)


def retracted(reads: Reads, outcome: Outcome) -> Forgotten:
    """What was forgotten with everything that was derived from it, as its events tell."""
    id = outcome.subjects[-1]
    rows = reads.events(
        kinds=(),
        id=None,
        user=None,
        after=outcome.first - 1,
        before=outcome.last + 1,
        limit=COMMAND_MAX_EVENTS,
    )
    changed = [(row.id, row.kind) for row in rows if row.unit == "record" and row.id]
    taken = {id: None for id, kind in changed if kind == "record.forgotten"}
    back = {id: None for id, _ in changed if id not in taken}
    return Forgotten(
        id=id,
        unit="episode" if reads.episode(id) else "record",
        taken=tuple(taken),
        back=tuple(back),
        seq=outcome.last if rows else 0,
    )
