"""What a receipt does to the index.

Responsible for the rows of receipts. Leaves their contents to ``memory``.
Invariant: the first receipt with an id counts.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.preset_rows import receipt_row
from recollect.index.statements import NOW
from recollect.model.events import ContextHanded, Origin


def context_handed(state: State, seq: int, at: str, origin: Origin, body: ContextHanded) -> None:
    known = state.tables.settle(body.id).one("get_receipt", {"id": body.id, "at": NOW})
    if known is None:
        state.tables.write("add_receipt", receipt_row(seq, at, body), body.id)
        if body.session:
            state.tables.name_session(body.session, body.user, seq)
