"""What events about documents and presets do to the index.

Responsible for both as they were set and dropped, and for how far rules have looked. Leaves what a
document means to the code that reads it, and a preset to ``recall.presets``. Invariant: of a type
and a name one document is current at a time, and of a name one preset.
"""

from __future__ import annotations

from recollect.index.fold.state import State
from recollect.index.preset_rows import preset_row
from recollect.index.rows import RULES, DocumentRow, PresetRow, document_row
from recollect.index.statements import NOW, STILL
from recollect.index.tables import document_name
from recollect.model import rules
from recollect.model.events import (
    DocumentDropped,
    DocumentSet,
    FrameDropped,
    FrameSet,
    Origin,
    RulePassed,
    Trust,
)


def document_changed(
    state: State, seq: int, at: str, origin: Origin, body: DocumentSet | DocumentDropped
) -> None:
    touched = document_name(body.type, body.name)
    if not rules.may_set(origin, body, _trust(state, body.type, body.name)):
        return
    state.tables.write("end_document", (seq, body.type, body.name), touched)
    if isinstance(body, DocumentSet):
        state.tables.write("add_document", document_row(seq, STILL, at, body), touched)


def rule_passed(state: State, seq: int, at: str, origin: Origin, body: RulePassed) -> None:
    if not rules.may_pass(origin, body, seq, _trust(state, RULES, body.rule)):
        return
    touched = document_name(RULES, body.rule)
    row = (body.rule, seq, STILL, at, body.through, body.seen, body.made, body.skipped)
    state.tables.write("end_pass", (seq, body.rule), touched)
    state.tables.write("add_pass", row, touched)


def _trust(state: State, type: str, name: str) -> Trust | None:
    """The trust with which a document is set; None if there is none."""
    known = state.tables.document(type, name)
    return None if known is None else DocumentRow._make(known).trust


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
