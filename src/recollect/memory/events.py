"""``memory.events``: what happened to a memory, event by event.

Responsible for checking what is asked for and for the values. Leaves finding the events to
``index.reads``. Invariant: a handle for one user lists events about that user's memory alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from recollect.errors import InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import EventRow
from recollect.lifecycle.naming import full_id
from recollect.memory.authors import Authors
from recollect.memory.handle import Handle
from recollect.model import limits, validate
from recollect.model.events import KINDS
from recollect.model.values import Change, EventUnit, Scope


def events(
    handle: Handle,
    *,
    kinds: Iterable[str] = (),
    id: str | None = None,
    after: int = 0,
    before: int | None = None,
    limit: int = 100,
) -> list[Change]:
    """Lists events, oldest first; ``Memory.events`` documents the arguments."""
    wanted = _checked_kinds(kinds)
    if id is not None:
        id = validate.name(id, "id")
    limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
    after = validate.position(after, "after")
    if before is not None:
        before = validate.position(before, "before")
    with handle.reading() as reads:
        user = handle.actor.user

        def about(id: str | None) -> list[EventRow]:
            return reads.events(
                kinds=wanted, id=id, user=user, after=after, before=before, limit=limit
            )

        rows = about(id)
        full = id if rows or id is None else full_id(reads, user, id)
        if full != id:
            rows = about(full)
        return changes_of(reads, rows)


def _checked_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    if isinstance(kinds, str):
        raise InvalidInput("kinds is a list of names, not one name", hint=f"use [{kinds!r}]")
    if not isinstance(kinds, Iterable):
        raise InvalidInput(f"kinds is a list of names, not {validate.shown(kinds)}")
    wanted = tuple(kinds)
    for kind in wanted:
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidInput(
                f"unknown kind of event {validate.shown(kind)}",
                hint=f"choose from {', '.join(sorted(KINDS))}",
            )
    return wanted


def changes_of(reads: Reads, rows: Iterable[EventRow]) -> list[Change]:
    """Events as the list of events shows them."""
    authors = Authors(reads)
    return [_change(row, authors) for row in rows]


def _change(row: EventRow, authors: Authors) -> Change:
    return Change(
        seq=row.seq,
        at=row.at,
        kind=row.kind,
        origin=row.origin,
        unit=cast("EventUnit | None", row.unit),
        id=row.id,
        what=row.what,
        text=row.text,
        key=row.key,
        trust=row.trust,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        erased=row.kind is None,
        idempotency_key=row.command,
        author=None if row.kind is None else authors.known(row.author),
    )
