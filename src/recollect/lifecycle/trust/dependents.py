"""Lowering: what was derived from a record falls in trust with it.

Responsible for finding everything that was derived from a record and for its events. Leaves why a
record falls to the module of the act. Invariant: after an act no record has more trust than one of
its ancestors, unless a person has reviewed it since it was derived.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from recollect.errors import Forbidden, LimitExceeded
from recollect.index.rows import VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.trust.persons_word import may_alter, standing
from recollect.lifecycle.view import View, stamped, visible
from recollect.model import events as e
from recollect.model.limits import LOWER_AT_ONCE_MAX_COUNT
from recollect.model.rules import at_least

LOWERED: Final = "derived from something less trusted"


def lowered(view: View, actor: c.Actor, record: VersionRow, trust: e.Trust) -> list[e.AnyBody]:
    """The events for everything derived from a record, if the record falls to this trust."""
    if at_least(trust, record.trust):
        return []
    found = {record.id: record}  # links may form a ring
    waiting = deque([record])
    while waiting:
        for id in view.derived_from(waiting.popleft(), trust):
            if id not in found:
                found[id] = lowerable(view, actor, id, record)
                waiting.append(found[id])
                require_few(len(found) - 1, record)
    del found[record.id]
    return [stamped(actor, e.RecordRevised(id=id, trust=trust, reason=LOWERED)) for id in found]


def require_few(count: int, record: VersionRow) -> None:
    """Refuses to lower too many at once: every write waits for it."""
    if count > LOWER_AT_ONCE_MAX_COUNT:
        raise LimitExceeded(
            f"more than {LOWER_AT_ONCE_MAX_COUNT:,} records are derived from {record.id} "
            "and would have to be lowered with it",
            hint="lower some of them first, or forget the record instead",
        )


def lowerable(view: View, actor: c.Actor, id: str, record: VersionRow) -> VersionRow:
    """A record that was derived from another, if the actor may lower it too.

    If not, the whole act is refused: nothing stays above what it was derived from.
    """
    row = view.version(id)
    if row is None or not visible(actor, row):
        raise Forbidden(
            f"something of another user is derived from {record.id} and would be lowered with it",
            hint="use a handle for the whole space, or leave out what is less trusted",
        )
    if not may_alter(view, actor, row):
        raise Forbidden(
            f"{row.id} is derived from {record.id} and would be lowered with it; it has the trust "
            f"of {standing(view, row)!r}, and {actor.trust!r} may not change it",
            hint="ask a person to make the change",
        )
    return row
