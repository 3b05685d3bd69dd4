"""What is shown when something could not be shown or done.

Responsible for the sentence, the hint and the status of an error. Leaves the page to a template.
Invariant: an unexpected error shows no word of its own, because it may quote a memory of others.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from recollect.errors import RecollectError
from recollect.interfaces.web.draw.errors import sentence
from recollect.interfaces.web.guard import Turned
from recollect.serving.failures import frames, status_of

_log: Final = logging.getLogger(__name__)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error as a page shows it."""

    status: int
    title: str
    said: str
    hint: str | None
    request: str  # its number, which is also in the log


_TITLES: Final = {
    401: "Who is looking?",
    403: "Not allowed",
    404: "Not here",
    409: "It has changed",
    421: "Not here",
    422: "That cannot be asked",
    503: "Not now",
}


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
