"""Acts on one record.

Responsible for revising, forgetting and restoring it. Leaves the page to ``pages.record``.
Invariant: each act that can be taken back says how.
"""

from __future__ import annotations

from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.view import Done, UndoForm
from recollect.memory import Memory
from recollect.model.values import INCLUDES


def revise(form: Form, memory: Memory) -> Done:
    """Changes what a record says."""
    id = form.names["id"]
    shown = [each.record.text for each in memory.history(id) if each.seq <= form.seq]
    done = memory.revise(
        id,
        form.text("text"),
        reason=form.text("reason") or None,
        expect=form.expect,
        idempotency_key=form.command,
    )
    undo = UndoForm(
        action=form.url("r", id, "revise"),
        fields={"text": shown[-1] if shown else "", "reason": "undo", "expect": str(done.seq)},
    )
    return Done(to=form.url("r", id), said="Revised.", undo=undo)


def forget(form: Form, memory: Memory) -> Done:
    """Takes a record out of recall; its history stays."""
    id = form.names["id"]
    memory.forget(
        id,
        reason=form.text("reason") or None,
        expect=form.expect,
        idempotency_key=form.command,
    )
    seq = memory.get(id, include=INCLUDES).seq
    undo = UndoForm(action=form.url("r", id, "restore"), fields={"expect": str(seq)})
    return Done(to=form.url("r", id), said="Forgotten. It is no longer recalled.", undo=undo)


def restore(form: Form, memory: Memory) -> Done:
    """Brings a forgotten or archived record back."""
    id = form.names["id"]
    memory.restore(id, expect=form.expect, idempotency_key=form.command)
    return Done(to=form.url("r", id), said="Restored. It is recalled again.")
