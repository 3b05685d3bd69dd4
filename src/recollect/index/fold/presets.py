"""What events about presets do to the index.

Responsible for presets as they were set and dropped. Leaves what a preset means to
``recall.presets``. Invariant: at most one preset of a name is current.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.preset_rows import preset_row
from recollect.index.rows import PresetRow
from recollect.index.statements import NOW, STILL
from recollect.model import rules
from recollect.model.events import FrameDropped, FrameSet, Origin


def preset_changed(
    state: State, seq: int, at: str, origin: Origin, body: FrameSet | FrameDropped
) -> None:
    name = _preset(body.name)
    known = state.tables.settle(name).one("get_preset", {"name": body.name, "at": NOW})
    trust = None if known is None else PresetRow._make(known).trust
    if not rules.may_set(origin, body, trust):
        return
    state.tables.write("end_preset", (seq, body.name), name)
    if isinstance(body, FrameSet):
        state.tables.write("add_preset", preset_row(seq, STILL, at, body), name)


def _preset(name: str) -> str:
    """The key of a preset among ids, which never contain a blank."""
    return f"preset {name}"
