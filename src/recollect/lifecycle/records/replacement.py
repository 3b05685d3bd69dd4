"""Superseding: a new record takes the place of an old one, which stays in the history.

Responsible for remembering in the place of a named record. Leaves remembering alone to
``lifecycle.records``, and the proposal in place of a refused change to ``lifecycle.filed``.
Invariants: only what could be revised is superseded; the old record has one successor; the key
moves with it.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, UnsetType, structs

from recollect.errors import Conflict
from recollect.index.rows import VersionRow, unpack_names, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import filed
from recollect.lifecycle.records import records
from recollect.lifecycle.trust.lineage import Lineage, lineage, may_replace, refused
from recollect.lifecycle.trust.persons_word import vouched
from recollect.lifecycle.view import View, known_record, stamped, visible
from recollect.model import events as e

_BACK: Final = "`undo` brings it back first"
_CHAIN_MAX_COUNT: Final = 20  # records that superseded each other, one after the other
# What says where a statement belongs stays. What says how it came to be known is that of the new
# words: evidence, confidence, dates, whether it is a guess.
_TAKEN_OVER: Final = ("about", "kind", "decay_tier")


def remember(view: View, actor: c.Actor, act: c.Remember) -> tuple[list[e.AnyBody], str]:
    """Holds a belief: beside the others, or in the place of a record that the act names."""
    if isinstance(act.supersedes, UnsetType):
        return records.remember(view, actor, act)
    return _supersede(view, actor, act, act.supersedes)


def _supersede(
    view: View, actor: c.Actor, act: c.Remember, name: str
) -> tuple[list[e.AnyBody], str]:
    old = _replaceable(view, actor, name)
    if act.text == old.text:
        raise Conflict(
            f"{old.id} says exactly this already",
            hint="give the new words, or use `revise` to change the rest of it",
        )
    mine = structs.replace(actor, user=old.user)
    line = lineage(view, actor, act.evidence, act.quotes)._replace(actor=mine)
    new = _with_what_stays(act, old)
    holder = view.holder(new.key, old.user) if new.key else None
    twin = view.twin(new.text, old.user)
    same = records.same_record(view, mine, new, holder, twin)
    found = [] if same else records.replaced_by(new, holder, twin)
    ended = [old, *(row for row in found if row.id != old.id)]
    key = new.key if same is None else same.key
    blocked = next((row for row in ended if not may_replace(view, line, row, new, key)), None)
    if blocked is not None:
        return _waiting(view, line, new, old, blocked), old.id
    id = records.new_record_id(view, actor, new) if same is None else same.id
    reason = None if isinstance(act.reason, UnsetType) else act.reason
    bodies: list[e.AnyBody] = [
        stamped(mine, e.RecordSuperseded(id=row.id, by=id, reason=reason)) for row in ended
    ]
    if same is not None:
        return [*bodies, *records.restated(view, line, act, same)], id
    bodies.append(records.added(mine, new, id, line.trust, "active", old.id))
    return [*bodies, *vouched(mine, id, line.trust)], id


def _replaceable(view: View, actor: c.Actor, name: str) -> VersionRow:
    """The record that the new one comes for, if it holds."""
    old = known_record(view, actor, name)
    if old.status == "active":
        return old
    if old.superseded_by is not None:
        last = _last(view, actor, old)
        raise Conflict(
            f"{old.id} was replaced by {old.superseded_by}",
            hint=_BACK if last is None else f"replace {last.id} instead",
        )
    waits = old.status in ("held", "inbox")
    raise Conflict(
        f"{old.id} is {records.state_of(old)}",
        hint="only what holds is replaced: review it first" if waits else _BACK,
    )


def _last(view: View, actor: c.Actor, row: VersionRow) -> VersionRow | None:
    """The record at the end of a chain of superseding, if it holds and this actor may see it."""
    for _ in range(_CHAIN_MAX_COUNT):  # a forged chain may be a ring
        after = view.version(row.superseded_by or "")
        if after is None or not visible(actor, after):
            return None
        if after.status == "active":
            return after
        row = after
    return None


def _with_what_stays(act: c.Remember, old: VersionRow) -> c.Remember:
    """The act with everything of the old record that it does not set itself."""
    stays: dict[str, object] = {
        name: getattr(old, name) for name in _TAKEN_OVER if getattr(act, name) is UNSET
    }
    if old.about is None:
        stays.pop("about", None)
    if act.data is UNSET:
        stays["data"] = unpack_object(old.data)
    if act.key is None:
        stays["key"] = old.key
    if not act.tags and act.untagged is not True:
        stays["tags"] = unpack_names(old.tags)
    return structs.replace(act, **stays)


def _waiting(
    view: View, line: Lineage, new: c.Remember, old: VersionRow, blocked: VersionRow
) -> list[e.AnyBody]:
    """A proposal in place of what this actor may not supersede at once.

    One that would also take a key from another record is refused: its review would not show that.
    """
    body = records.added(line.actor, new, old.id, line.trust, "active", old.id)
    may_wait = new.files is True and new.key == old.key
    proposed = filed(view, line, new, old, body) if may_wait else None
    return refused(view, line, blocked) if proposed is None else proposed
