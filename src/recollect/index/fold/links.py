"""What events about links do to the index.

Responsible for links and how often they were reinforced. Leaves the trust that a link lowers to
``lifecycle.records.links``. Invariant: at most one link of a kind between two records is current.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.rows import LinkRow
from recollect.index.statements import STILL
from recollect.model import rules
from recollect.model.events import LinkAdded, LinkRemoved, Origin


def link_added(state: State, seq: int, at: str, origin: Origin, body: LinkAdded) -> None:
    old = state.tables.link(body.source, body.target, body.kind)
    known = None if old is None else (old.weight, old.trust, old.name)
    if known != (body.weight, body.trust, body.name):  # else it is restated
        body = rules.within(origin, body)
    if not rules.may_link(origin, body, known):
        return
    count = 0
    if old is not None:
        state.tables.write("end_link", (seq, *old[:3]), body.source, body.target)
        again = known == (body.weight, body.trust, body.name)
        count = old.reinforcement_count + again
    row = LinkRow(
        body.source,
        body.target,
        body.kind,
        seq,
        STILL,
        body.weight,
        body.trust,
        at,
        count,
        body.name,
    )
    state.tables.write("add_link", row, body.source, body.target)


def link_removed(state: State, seq: int, at: str, origin: Origin, body: LinkRemoved) -> None:
    old = state.tables.link(body.source, body.target, body.kind)
    if old is not None and rules.at_least(origin, old.trust):
        ended = (seq, body.source, body.target, body.kind)
        state.tables.write("end_link", ended, body.source, body.target)
