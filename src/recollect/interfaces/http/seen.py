"""What is noted about one request, for figures and the log.

Responsible for the fields that may be told to an operator. Leaves telling them to ``telemetry``.
Invariant: nothing here comes from a body, a query, an id or an answer; a space is only ever told
as a keyed hash.
"""

from __future__ import annotations

from typing import Final

from recollect.serving.guard import Scope

KEY: Final = "recollect.seen"
NO_ROUTE: Final = "none"


class Seen:
    """Filled in while a request is answered."""

    __slots__ = (
        "code", "has_token", "rate_class", "request_id", "route", "space", "token_id",
    )  # fmt: skip

    def __init__(self) -> None:
        self.route = NO_ROUTE  # the name of a row of the table, or of a path that has none
        self.has_token = False  # one in the form of a token came
        self.token_id: int | None = None
        self.space: str | None = None
        self.code: str | None = None
        self.rate_class: str | None = None
        self.request_id: str | None = None


def of(scope: Scope) -> Seen:
    """The notes about a request; without telemetry they are not read."""
    found: Seen | None = scope.get(KEY)
    return Seen() if found is None else found
