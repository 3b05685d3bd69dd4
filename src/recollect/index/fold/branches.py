"""What events about branches do to the index.

Responsible for branches as they were opened and closed, and for what is left of one after an
erasure. Leaves the proposals on a branch to ``fold.proposals``. Invariant: a branch is opened once
and closed once.
"""

from __future__ import annotations

from recollect.index.branches import BranchRow, branch_touched
from recollect.index.fold.state import State
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Db
from recollect.model import rules
from recollect.model.events import BranchClosed, BranchOpened, Origin


def branch_opened(state: State, seq: int, at: str, origin: Origin, body: BranchOpened) -> None:
    if _known(state, body.id) is not None or not rules.may_branch(origin, body):
        return
    said = (body.id, seq, at, origin, body.name, body.parent, body.reason)
    row = (*said, body.user, body.session, body.agent, STILL)
    state.tables.write("add_branch", row, branch_touched(body.id))


def branch_closed(state: State, seq: int, at: str, origin: Origin, body: BranchClosed) -> None:
    row = _known(state, body.id)
    if row is None or row.until != STILL:
        return
    if rules.may_close(origin, body, row.user, row.origin):
        ended = (seq, body.how, origin, at, body.reason, body.record, body.id)
        state.tables.write("end_branch", ended, branch_touched(body.id))


def forget_branch(db: Db, seq: int) -> None:
    """Removes the branch that an event opened, or opens again the one that it closed."""
    opened = db.one("branch_of_event", {"seq": seq})
    if opened is not None:
        db.many("drop_branch", [opened])
    closed = db.one("branch_closed_by", {"seq": seq})
    if closed is not None:
        db.many("reopen_branch", [closed])


def _known(state: State, id: str) -> BranchRow | None:
    found = state.tables.settle(branch_touched(id)).one("get_branch", {"id": id, "at": NOW})
    return None if found is None else BranchRow._make(found)
