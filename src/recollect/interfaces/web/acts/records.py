"""Acts on one record.

Responsible for revising, forgetting, restoring, tagging and linking it, and for taking the last of
these back. Leaves the page to ``pages.record``. Invariant: each act that can be taken back says
how, without a word of the memory: what is kept for the next page must not outlive an erasure.
"""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.view import Done, UndoForm
from recollect.memory import Memory
from recollect.model.values import INCLUDES


def revise(form: Form, memory: Memory) -> Done:
    """Changes what a record says."""
    id = form.names["id"]
    done = memory.revise(
        id,
        form.text("text"),
        reason=form.text("reason") or None,
        expect=form.expect,
        idempotency_key=form.command,
    )
    return Done(to=form.url("r", id), said="Revised.", undo=_undo(form, id, done.seq))


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
    said = "Forgotten. It is no longer recalled."
    return Done(to=form.url("r", id), said=said, undo=_undo(form, id, seq))


def restore(form: Form, memory: Memory) -> Done:
    """Brings a forgotten or archived record back."""
    id = form.names["id"]
    done = memory.undo(id, expect=form.expect, idempotency_key=form.command).record
    seq = form.seq if done is None else done.seq
    said = "Restored. It is recalled again."
    return Done(to=form.url("r", id), said=said, undo=_undo(form, id, seq))


def tag(form: Form, memory: Memory) -> Done:
    """Adds tags, or takes one away."""
    id, removed = form.names["id"], form.text("remove")
    added = tuple(part.strip() for part in form.text("add").split(",") if part.strip())
    if not added and not removed:
        raise InvalidInput("no tag was named", hint="go back and write one")
    done = memory.revise(
        id,
        tags=() if removed else added,
        untag=(removed,) if removed else (),
        expect=form.expect,
        idempotency_key=form.command,
    )
    said = "Tag taken away." if removed else "Tagged."
    return Done(to=form.url("r", id), said=said, undo=_undo(form, id, done.seq))


def link(form: Form, memory: Memory) -> Done:
    """Relates a record to another one."""
    id, target = form.names["id"], form.text("target").strip()
    kind = form.text("kind").strip() or "relates_to"
    done = memory.graph.link(id, target, kind, expect=form.expect, idempotency_key=form.command)
    undo = UndoForm(
        action=form.url("r", id, "unlink"),
        fields={"target": done.target, "kind": done.kind, "expect": str(form.seq)},
    )
    return Done(to=form.url("r", id), said="Linked.", undo=undo)


def unlink(form: Form, memory: Memory) -> Done:
    """Takes a link away."""
    id, target, kind = form.names["id"], form.text("target"), form.text("kind")
    memory.graph.unlink(id, target, kind, expect=form.expect, idempotency_key=form.command)
    undo = UndoForm(
        action=form.url("r", id, "link"),
        fields={"target": target, "kind": kind, "expect": str(form.seq)},
    )
    return Done(to=form.url("r", id), said="The link is gone.", undo=undo)


def undo(form: Form, memory: Memory) -> Done:
    """Takes back the last change of a record, unless another came since."""
    id = form.names["id"]
    memory.undo(id, expect=form.expect, idempotency_key=form.command)
    return Done(to=form.url("r", id), said="Taken back. It is as it was before.")


def _undo(form: Form, id: str, seq: int) -> UndoForm:
    return UndoForm(action=form.url("r", id, "undo"), fields={"expect": str(seq)})
