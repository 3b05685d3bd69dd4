"""Deciding what waits.

Responsible for approving, for rejecting and for taking a decision back where that is possible.
Leaves the page to ``pages.review``. Invariant: what is decided is what was shown: the form has its
digest, and the position at which it was shown, so that a changed one can be shown beside it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import Changed, InvalidInput
from recollect.interfaces.web.digits import number
from recollect.interfaces.web.draw.words import Piece
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.pages.review import Case, case, diff
from recollect.interfaces.web.view import Done, Shown, UndoForm
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Proposal

_DIGEST_CHARS: Final = 64
_FINAL: Final = "Rejected. That is final; it can be proposed again."


class Differs(msgspec.Struct, frozen=True, kw_only=True):
    """What was shown, and what waits by now."""

    said: str
    then: Proposal | None  # None if the form does not say what it showed
    then_pieces: tuple[Piece, ...]
    now: Case
    after: str
    reason: str


def approve(form: Form, memory: Memory) -> Done | Shown:
    """Lets a proposal or a waiting record in."""
    try:
        done = memory.review.approve(
            form.names["id"],
            _digest(form),
            reason=form.text("reason") or None,
            idempotency_key=form.command,
        )
    except Changed as error:
        return _differs(form, memory, error)
    return Done(to=_next(form), said="Approved.", undo=_undo(form, memory, done))


def reject(form: Form, memory: Memory) -> Done | Shown:
    """Turns it down."""
    try:
        done = memory.review.reject(
            form.names["id"],
            _digest(form),
            form.text("reason") or None,
            idempotency_key=form.command,
        )
    except Changed as error:
        return _differs(form, memory, error)
    if done.unit == "proposal":
        return Done(to=_next(form), said=_FINAL)
    return Done(to=_next(form), said="Rejected.", undo=_undo(form, memory, done))


def undo(form: Form, memory: Memory) -> Done:
    """Takes the last decision about a waiting record back, unless something was written since."""
    memory.undo(expect=form.number("position"), idempotency_key=form.command)
    to = form.url("review", id=form.names["id"])
    return Done(to=to, said="Taken back. It waits again.")


def _undo(form: Form, memory: Memory, done: Proposal) -> UndoForm | None:
    """A decided proposal stays decided; the record that it changed can be set back."""
    if done.unit == "record":
        return UndoForm(
            action=form.url("review", done.id, "undo"),
            fields={"position": str(memory.events.position)},
        )
    if done.record is None or done.before is None:
        return None
    seq = memory.get(done.record, include=INCLUDES).seq
    return UndoForm(
        action=form.url("r", done.record, "undo"),
        fields={"expect": str(seq)},
        label="Take the change back",
    )


def _differs(form: Form, memory: Memory, error: Changed) -> Shown:
    id = form.names["id"]
    now = memory.review.show(id)
    was = memory.at(form.number("position")).review.show(id)
    then = was if was.digest == _digest(form) else None
    main = Differs(
        said=error.message,
        then=then,
        then_pieces=() if then is None else diff(then),
        now=case(memory, now, memory.events.position),
        after=form.text("after"),
        reason=form.text("reason"),
    )
    return Shown(title=id, template="review_changed.html", main=main)


def _next(form: Form) -> str:
    """The queue, behind what was put off."""
    return form.url("review", after=number(form.text("after")))


def _digest(form: Form) -> str:
    given = form.fields.get("digest", "")
    if len(given) != _DIGEST_CHARS:
        raise InvalidInput("this form is incomplete", hint="load the page again")
    return given
