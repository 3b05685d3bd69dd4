"""Expiring: when a record ends, who may let it end sooner, and what else makes it count for less.

Responsible for whose word about the end of a record counts. Leaves erasing what has ended to
``memory.erasure.erasure``. Invariant: only an origin with the highest trust that a record has had
lets it end sooner.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from recollect.index.rows import VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.lifecycle.view import View
from recollect.model.rules import at_least


def may_expire(
    view: View, actor: c.Actor, row: VersionRow, expires: str | UnsetType | None
) -> bool:
    """True if this actor may give a record this end. What has expired may be erased for good."""
    if expires is UNSET or not _is_sooner(expires, row.expires) or actor.trust == "person":
        return True
    if not may_alter(view, actor, row):
        return False
    return all(at_least(actor.trust, one.trust) for one in view.versions(row.id))


def weakens(act: c.Remember | c.Revise, row: VersionRow) -> bool:
    """True if what is said in the place of a record ends sooner, or is said with more doubt."""
    if act.confidence is not UNSET and act.confidence < row.confidence:
        return True
    if act.is_hypothesis is True and not row.is_hypothesis:
        return True
    is_short = isinstance(act, c.Remember) and _is_sooner(act.valid_to, row.valid_to)
    return is_short or _is_sooner(act.expires, row.expires)


def end_of(rows: Sequence[VersionRow]) -> str | None:
    """The end of a record that has these versions, without ends that no rule allows.

    Earlier releases let an agent's correction set one, so such events are in ledgers.
    """
    before, end, most = None, None, rows[0].trust
    for row in rows:
        most = row.trust if at_least(row.trust, most) else most
        is_allowed = at_least(row.origin, most) or not _is_sooner(row.expires, end)
        if row.expires != before and is_allowed:
            end = row.expires
        before = row.expires
    return end


def _is_sooner(expires: str | UnsetType | None, than: str | None) -> bool:
    return isinstance(expires, str) and (than is None or expires < than)
