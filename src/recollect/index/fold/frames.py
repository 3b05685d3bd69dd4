"""What events about frames do to the index.

Responsible for frames as they were set and dropped. Leaves what a frame means to ``recall.frames``.
Invariant: at most one frame of a name is current.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.frame_rows import frame_row
from recollect.index.rows import FrameRow
from recollect.index.statements import NOW, STILL
from recollect.model import rules
from recollect.model.events import FrameDropped, FrameSet, Origin


def frame_changed(
    state: State, seq: int, at: str, origin: Origin, body: FrameSet | FrameDropped
) -> None:
    name = _frame(body.name)
    known = state.tables.settle(name).one("get_frame", {"name": body.name, "at": NOW})
    trust = None if known is None else FrameRow._make(known).trust
    if not rules.may_set(origin, body, trust):
        return
    state.tables.write("end_frame", (seq, body.name), name)
    if isinstance(body, FrameSet):
        state.tables.write("add_frame", frame_row(seq, STILL, at, body), name)


def _frame(name: str) -> str:
    """The key of a frame among ids, which never contain a blank."""
    return f"frame {name}"
