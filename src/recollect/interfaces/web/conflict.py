"""Two texts where one was expected: what a form wanted, and what the record says by now.

Responsible for putting them side by side. Leaves deciding to the person. Invariant: taking mine
names the version that was shown here, so a third change is noticed too.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from recollect.errors import Changed
from recollect.interfaces.web.draw.words import Piece, compared
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.view import Shown
from recollect.memory import Memory
from recollect.model.values import INCLUDES

_HIDDEN = ("command", "expect", "text")


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """What was wanted and what is there."""

    said: str
    id: str
    mine: str | None  # None for an act without a text
    theirs: str
    pieces: tuple[Piece, ...]
    seq: int
    action: str
    fields: Mapping[str, str]
    back: str


def conflict(form: Form, memory: Memory, error: Changed) -> Shown:
    """Both sides, as they are now; an act without a record is told that it was not done."""
    if "id" not in form.names:
        raise error
    id = form.names["id"]
    now = memory.get(id, include=INCLUDES)
    mine = form.text("text") if "text" in form.fields else None
    main = Conflict(
        said=error.message,
        id=id,
        mine=mine,
        theirs=now.text,
        pieces=() if mine is None else compared(now.text, mine),
        seq=now.seq,
        action=form.url(*form.asked.path),
        fields={name: form.text(name) for name in form.fields if name not in _HIDDEN},
        back=form.url("r", id),
    )
    return Shown(title=id, template="changed.html", main=main)
