"""Names: how a person points at a record or an episode.

Responsible for finding what a name means: an id, the key of a record, or the beginning of an id.
Leaves what happens to it to the module of the act. Invariants: an id means itself or is refused, it
never leads to another record; a name that could mean several things is refused with a list of them;
what has less trust never takes a name from what has more; an actor for one user finds only that
user's records and episodes, and those of others do not count.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from msgspec import UNSET

from recollect.errors import Ambiguous, Conflict
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View
from recollect.model.rules import at_least, is_visible

PREFIX_MIN_CHARS: Final = 4
MORE_OF_THE_ID: Final = "give more of the id"  # the hint if only beginnings of ids are unclear
_LISTED_MAX_COUNT: Final = 8
_NAMED: Final = ("active", "forgotten")  # records that people name by key, rather than by id

A = TypeVar("A", bound=c.Act)

# The fields of each act that name a record or an episode.
_NAMES: Final[dict[type[c.Act], tuple[str, ...]]] = {
    c.Remember: ("supersedes",),
    c.Revise: ("id",),
    c.Forget: ("id",),
    c.Restore: ("id",),
    c.Revert: ("id",),
    c.Archive: ("id",),
    c.Settle: ("id",),
    c.Retract: ("id",),
    c.Erase: ("id",),
    c.Reinforce: ("id",),
    c.Tag: ("id",),
    c.Link: ("source", "target"),
    c.ReinforceLink: ("source", "target"),
    c.Unlink: ("source", "target"),
}


def full_id(view: View, user: str | None, name: str) -> str:
    """The id that a name means for this user (None: for the whole space), or the name itself."""
    row = view.version(name) or view.episode(name)
    if row is not None and is_visible(user, row.user):
        check_not_key(view, user, row)
        return name
    found = _under_key(view, user, name)
    if found is None:
        return _beginning_with(view, user, name) or name
    return found.id if found.trust == "person" else _not_a_beginning(view, user, name, found)


def with_full_ids(view: View, actor: c.Actor, act: A) -> A:
    """The act with ids in place of keys and beginnings of ids."""
    if isinstance(act, c.Remember) and act.supersedes is UNSET:
        return act  # almost every act is one
    fields = _NAMES.get(type(act))
    if fields is None or (isinstance(act, c.Erase) and act.what != "memory"):
        return act
    given: dict[str, str] = {field: getattr(act, field) for field in fields}
    ids = {field: full_id(view, actor.user, name) for field, name in given.items()}
    return act if ids == given else msgspec.structs.replace(act, **ids)


def check_not_key(view: View, user: str | None, row: VersionRow | EpisodeRow) -> None:
    """Refuses an id that is also the key of another record with at least as much trust."""
    others = [
        other
        for other in view.under_key(row.id, user, _LISTED_MAX_COUNT + 1)
        if other.status in _NAMED and other.id != row.id and at_least(other.trust, row.trust)
    ]
    if others:
        told = [f"{row.id} (an id)", *(f"{other.id} (its key)" for other in others)]
        hint = "use the id of the record with the key; a filter finds the other by its text"
        raise _several(repr(row.id), told, hint)


def require_free(view: View, actor: c.Actor, id: str) -> None:
    """Refuses a chosen id that is the key of a record: the name would mean two things from then on.

    A text that is not trusted could otherwise make a person's key unusable as a name.
    """
    rows = view.under_key(id, actor.user, _LISTED_MAX_COUNT + 1)
    found = next((row for row in rows if row.status in _NAMED), None)
    if found is not None:
        raise Conflict(
            f"{id!r} is the key of {found.id}, so it cannot be an id too",
            hint="choose another id, or omit it to have one generated",
        )


def _under_key(view: View, user: str | None, key: str) -> VersionRow | None:
    """The record that holds a key; if none does, the one that had it last."""
    rows = view.under_key(key, user, _LISTED_MAX_COUNT + 1)
    found = [row for row in rows if row.status == "active"]
    found = found or [row for row in rows if row.status != "held"] or rows
    if len(rows) <= _LISTED_MAX_COUNT and found and found[0].status != "active":
        ids = {row.id for row in found}
        found = [row for row in found if row.superseded_by not in ids] or found
    if len(found) > 1:
        raise _several(f"the key {key!r}", [_told(row) for row in found], "use one of these ids")
    return found[0] if found else None


def _not_a_beginning(view: View, user: str | None, name: str, row: VersionRow) -> str:
    """The record with a key, unless an id of something with more trust begins with this key."""
    others = [id for id in _beginnings(view, user, name) if _has_more_trust(view, id, row)]
    if others:
        raise _several(repr(name), [f"{row.id} (its key)", *others], "use one of these ids")
    return row.id


def _has_more_trust(view: View, id: str, row: VersionRow) -> bool:
    other = view.version(id) or view.episode(id)
    return other is not None and not at_least(row.trust, other.trust)


def _beginning_with(view: View, user: str | None, prefix: str) -> str | None:
    ids = _beginnings(view, user, prefix)
    if len(ids) > 1:
        raise _several(repr(prefix), ids, MORE_OF_THE_ID)
    return ids[0] if ids else None


def _beginnings(view: View, user: str | None, prefix: str) -> list[str]:
    if len(prefix) < PREFIX_MIN_CHARS or not prefix.isascii():  # ids are ASCII
        return []
    return view.ids_beginning_with(prefix, user, _LISTED_MAX_COUNT + 1)


def _told(row: VersionRow) -> str:
    of_user = f", of {row.user}" if row.user else ""
    return f"{row.id} ({row.status}{of_user})"


def _several(what: str, found: list[str], hint: str) -> Ambiguous:
    listed = ", ".join(found[:_LISTED_MAX_COUNT])
    more = " and more" if len(found) > _LISTED_MAX_COUNT else ""
    return Ambiguous(f"{what} could mean {listed}{more}", hint=hint)
