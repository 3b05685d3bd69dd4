"""What is shown when something could not be shown or done.

Responsible for the sentence, the hint and the status of an error, and for putting two texts side by
side where one was expected: what a form wanted, and what the record says by now. Leaves the page to
a template and deciding to the person. Invariants: an unexpected error shows no word of its own,
because it may quote a memory of others; taking mine names the version that was shown here, so a
third change is noticed too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import msgspec

from recollect.errors import Changed, RecollectError
from recollect.interfaces.web.draw.errors import sentence
from recollect.interfaces.web.draw.words import Piece, compared
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.guard import Turned
from recollect.interfaces.web.view import Shown
from recollect.memory import Memory
from recollect.model.values import INCLUDES
from recollect.serving.failures import frames, status_of

_log: Final = logging.getLogger(__name__)
_TITLES: Final = {
    401: "Who is looking?",
    403: "Not allowed",
    404: "Not here",
    409: "It has changed",
    421: "Not here",
    422: "That cannot be asked",
    503: "Not now",
}
_HIDDEN = ("command", "expect", "text")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error as a page shows it."""

    status: int
    title: str
    said: str
    hint: str | None
    request: str  # its number, which is also in the log


def problem_of(error: Exception, request: str) -> Problem:
    """The page of an error; what was not expected goes to the log, without its words."""
    if isinstance(error, Turned):
        status, said, hint = error.status, error.problem.message, error.problem.hint
    elif isinstance(error, RecollectError):
        status, said, hint = status_of(error), error.message, error.hint
    else:
        _log.error("request %s failed: %s", request, frames(error))
        status, said = 500, "something went wrong in the inspector"
        hint = "the terminal where it runs says where"
    said, hint = sentence(said), None if hint is None else sentence(hint)
    title = _TITLES.get(status, "Something went wrong")
    return Problem(status=status, title=title, said=said, hint=hint, request=request)


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
