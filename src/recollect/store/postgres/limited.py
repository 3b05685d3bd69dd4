"""What a token for one user cannot do, and what it needs to know.

Responsible for refusing what needs the whole space, and for ids that are used in rows which such a
token cannot see. Leaves what it sees and writes to the server (``index/sql/postgres_guard.sql``).
Invariant: these checks only give better messages; the server enforces the rules.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.errors import Unavailable
from recollect.lifecycle.commands import Observe, Remember
from recollect.store.grants import Grant
from recollect.store.group import AnyRequest
from recollect.store.postgres.db import PostgresDb


def require_fold(grant: Grant) -> None:
    """Refuses to fold events that the token cannot see."""
    if grant.user is not None:
        raise Unavailable(
            "this space's index must be folded again, and this token is for the user "
            f"{grant.user!r} alone",
            hint="run `recollect admin rebuild` with a token for the whole space",
        )


def taken_ids(db: PostgresDb, requests: Iterable[AnyRequest]) -> list[str]:
    """Those of the caller-chosen ids that belong to other users."""
    chosen = {
        act.id
        for request in requests
        for act in request.command.acts
        if isinstance(act, Remember | Observe) and act.id is not None
    }
    if not chosen:
        return []
    ids = msgspec.json.encode(sorted(chosen)).decode()
    return [str(id) for (id,) in db.rows("others_of", {"ids": ids})]
