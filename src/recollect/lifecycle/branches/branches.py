"""Branches: what opening, merging, abandoning and condensing one mean, and who may.

Responsible for the events that begin and end a branch, and for what a conflict is. Leaves writing
on a branch to ``lifecycle.branches.branch_writes`` and what an approval does to
``lifecycle.proposals``. Invariants: a merge decides every change of a branch, of exactly what was
shown; a change whose base has moved is never made unless it was settled by name.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec
from msgspec import UnsetType

from recollect.errors import Changed, Conflict, Forbidden, InvalidInput, LimitExceeded
from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow, unpack_spans
from recollect.index.rows import VersionRow, pack_object, unpack_names, unpack_object
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_names import (
    branch_known,
    changes_on,
    made_by,
    open_branch_known,
)
from recollect.lifecycle.filed import (
    FIELDS_OF_NEW,
    LIVE,
    SPOKEN_OF,
    SUPERSEDE,
    for_user,
    free_id,
    is_stale,
)
from recollect.lifecycle.ids import ID_MIN_CHARS, branch_id
from recollect.lifecycle.proposals.proposals import approved, digest_of
from recollect.lifecycle.records.replacement import remember
from recollect.lifecycle.view import View, stamped
from recollect.model import events as e
from recollect.model.limits import BRANCH_MAX_CHANGES, EVIDENCE_MAX_COUNT
from recollect.model.rules import at_least, lowest, may_review
from recollect.model.validate import Json

_SHOW_AGAIN: Final = "`recollect branches diff` shows what is there now"
_LISTED_MAX_COUNT: Final = 5


def open_branch(view: View, actor: c.Actor, act: c.OpenBranch) -> tuple[list[e.AnyBody], str]:
    """Begins a branch; open branches of one user have different names."""
    require_trust(actor)
    for row in view.branches_named(act.name):
        if row.until == STILL and row.user == actor.user:
            raise Conflict(
                f"the branch {act.name!r} is open already ({row.id})",
                hint="choose another name, or close it first",
            )
    parent = None if act.parent is None else branch_known(view, actor, act.parent).id
    id = _free_id(view, act)
    body = e.BranchOpened(id=id, name=act.name, parent=parent, reason=act.reason)
    return [stamped(actor, body)], id


def close_branch(view: View, actor: c.Actor, act: c.CloseBranch) -> list[e.AnyBody]:
    """Ends a branch, and settles everything on it."""
    require_trust(actor)
    branch = open_branch_known(view, actor, act.branch)
    if not at_least(actor.trust, branch.origin):
        raise Forbidden(f"the branch {branch.name!r} was opened by {branch.origin!r}")
    rows = changes_on(view, branch)
    record = None
    if act.how == "merged":
        bodies = _merged(view, actor, act, branch, rows)
    elif not isinstance(act.into, UnsetType):
        bodies = _handed_on(view, actor, act, branch, rows, act.into)
    else:
        bodies = _turned_down(actor, act, rows)
        if not isinstance(act.summary, UnsetType):
            added, record = remember(view, actor, _with_lineage(act.summary, rows))
            bodies += added
    closed = e.BranchClosed(id=branch.id, how=act.how, reason=act.reason, record=record)
    return [*bodies, for_user(actor, branch.user, closed)]


def try_branch(view: View, actor: c.Actor, act: c.TryBranch) -> list[e.AnyBody]:
    """What a merge would change, with the branch's side of every conflict."""
    bodies: list[e.AnyBody] = []
    taken: set[str] = set()
    rows = changes_on(view, open_branch_known(view, actor, act.branch))
    for row in rows:
        made = made_over(view, row)
        try:
            changed = approved(view, actor, _review(act, row, None), made, _others(rows, row))
        except Conflict:  # forged: a merge refuses it, and there is nothing to show
            continue
        if taken.isdisjoint(places(made)):
            taken |= places(made)
            bodies += _unreviewed(changed)
    return bodies


def _unreviewed(changed: list[e.AnyBody]) -> list[e.AnyBody]:
    """A change as it shows before a person merges it: with the trust of who wrote it.

    What rests on an unverified source is held until then, and takes nothing's place.
    """
    is_held = any(isinstance(body, e.RecordAdded) and body.status == "held" for body in changed)
    left_out = (e.RecordReviewed, e.RecordSuperseded) if is_held else (e.RecordReviewed,)
    return [body for body in changed if not isinstance(body, left_out)]


def _others(rows: list[ProposalRow], row: ProposalRow) -> set[str]:
    """The records that the other changes of a merge change or end."""
    return {other.target for other in rows if other.target and other.id != row.id}


def places(row: ProposalRow) -> set[str]:
    """The record that a change would change or end, and the key that it would take."""
    if row.intent == "noop":
        return set()
    record = set() if row.target is None else {f"record {row.target}"}
    return record if row.key is None else {*record, key_place(row.key, row.user)}


def key_place(key: str, user: str | None) -> str:
    """A user's key, among the places of changes."""
    return f"key {key} of {user}"


def require_trust(actor: c.Actor) -> None:
    """Refuses an unverified source."""
    if actor.trust == "unverified":
        raise Forbidden(
            "an unverified source may not open, write or close a branch",
            hint="propose the change instead: `memory.review.propose`",
        )


def other_side(view: View, row: ProposalRow) -> VersionRow | None:
    """What the memory has now where a change would be made; None if nothing holds there."""
    key = made_over(view, row).key
    holder = view.holder(key, row.user) if key is not None else None
    if holder is not None or row.key is not None:
        return holder
    target = view.version(row.target) if row.target else None
    return target if target is not None and target.user == row.user else None


def digest_of_diff(view: View, branch: BranchRow, rows: list[ProposalRow]) -> str:
    """A digest over everything that a merge is about: each change, and what it would replace."""
    cells: list[Json] = [branch.id]
    for row in rows:
        side = other_side(view, row)
        now = None if side is None else [side.id, *(getattr(side, name) for name in SPOKEN_OF)]
        cells.append([row.id, digest_of(row), is_stale(view, row), now])
    return sha256(msgspec.json.encode(cells)).hexdigest()


def _merged(
    view: View, actor: c.Actor, act: c.CloseBranch, branch: BranchRow, rows: list[ProposalRow]
) -> list[e.AnyBody]:
    if not may_review(actor.trust):
        raise Forbidden(
            "merging a branch needs a person",
            hint=f"ask the person to run `recollect branches merge {branch.name}`",
        )
    _check_settled(view, act, branch, rows)
    bodies: list[e.AnyBody] = []
    taken: dict[str, str] = {}
    wanted = [row for row in rows if row.id not in act.ours]
    for row in rows:
        if row.id in act.ours:
            body = e.ProposalRejected(id=row.id, digest=digest_of(row), reason=act.reason)
            bodies.append(for_user(actor, row.user, body))
            continue
        text = act.edits.get(row.id)
        made = made_over(view, row if text is None else row._replace(text=text))
        for place in sorted(places(made)):
            if place in taken:
                raise Conflict(
                    f"{taken[place]} and {row.id} would both change the {place}",
                    hint="decide one of them with `ours`",
                )
            taken[place] = row.id
        bodies += approved(view, actor, _review(act, row, act.reason), made, _others(wanted, row))
    return bodies


def _check_settled(
    view: View, act: c.CloseBranch, branch: BranchRow, rows: list[ProposalRow]
) -> None:
    """Refuses a merge of something else than was shown, or with a conflict that is not settled."""
    named = _named(view, act, branch, rows)
    left = [row.id for row in rows if row.id not in named and is_stale(view, row)]
    if left:
        more = ", …" if len(left) > _LISTED_MAX_COUNT else ""
        raise Conflict(
            f"what these would change has changed since: {', '.join(left[:_LISTED_MAX_COUNT])}"
            + more,
            hint="decide each: `ours` keeps what the memory has, `theirs` takes the branch's, "
            "or give an edited text; `recollect branches diff` shows both sides",
        )


def _named(view: View, act: c.CloseBranch, branch: BranchRow, rows: list[ProposalRow]) -> list[str]:
    """The changes that are settled by name; refuses to close something else than was shown."""
    if act.digest != digest_of_diff(view, branch, rows):
        raise Changed(f"the branch {branch.name!r} is not what was shown", hint=_SHOW_AGAIN)
    waiting = {row.id: row for row in rows}
    named = [*act.ours, *act.theirs, *act.edits]
    for id in named:
        if id not in waiting:
            raise InvalidInput(f"{id!r} is not a change on the branch {branch.name!r}")
        if named.count(id) > 1:
            raise InvalidInput(f"{id!r} is decided in two ways")
    for id in act.edits:
        if waiting[id].text is None:
            raise InvalidInput(
                f"{id} has no text to edit", hint="decide it with `ours` or `theirs`"
            )
    return named


def _turned_down(actor: c.Actor, act: c.CloseBranch, rows: list[ProposalRow]) -> list[e.AnyBody]:
    """Rejects every change; less than a person takes back what it may."""
    bodies: list[e.AnyBody] = []
    for row in rows:
        body: e.AnyBody = e.ProposalRejected(id=row.id, digest=digest_of(row), reason=act.reason)
        if not may_review(actor.trust):
            body = taken_back(actor, row, act.reason)
        bodies.append(for_user(actor, row.user, body))
    return bodies


def _handed_on(
    view: View,
    actor: c.Actor,
    act: c.CloseBranch,
    branch: BranchRow,
    rows: list[ProposalRow],
    name: str,
) -> list[e.AnyBody]:
    """Makes every change on another branch instead, against what it was made against here."""
    into = open_branch_known(view, actor, name)
    if into.id == branch.id or into.user != branch.user:
        raise InvalidInput(f"the changes of {branch.name!r} cannot go to {into.name!r}")
    named = _named(view, act, branch, rows)
    wanted = [row for row in rows if row.id not in act.ours]
    there = changes_on(view, into)
    if len(there) + len(wanted) > BRANCH_MAX_CHANGES:
        raise LimitExceeded(f"the branch {into.name!r} cannot have so many changes")
    bodies = [for_user(actor, row.user, taken_back(actor, row, act.reason)) for row in rows]
    for row in wanted:
        for other in [other for other in there if _meet(row, other)]:
            if row.id not in named:
                raise Conflict(
                    f"{row.id} and {other.id}, on the branch {into.name!r}, change the same",
                    hint="decide it: `ours` keeps what that branch has, `theirs` takes this one's",
                )
            there.remove(other)
            body = taken_back(actor, other, f"replaced by {row.id}")
            bodies.append(for_user(actor, other.user, body))
        bodies.append(for_user(actor, row.user, _again(view, actor, act, row, into)))
    return bodies


def _meet(one: ProposalRow, other: ProposalRow) -> bool:
    """True if two changes are about the same record, or would take the same key."""
    is_same = made_by(one) is not None and made_by(one) == made_by(other)
    return is_same or not places(one).isdisjoint(places(other))


def _again(
    view: View, actor: c.Actor, act: c.CloseBranch, row: ProposalRow, into: BranchRow
) -> e.ProposalMade:
    """A change as it was made, on another branch."""
    return e.ProposalMade(
        id=free_id(view, act.stamp, _chance(act, row)),
        intent=row.intent,
        trust=lowest([row.trust, actor.trust]),
        target=row.target,
        base=row.base,
        text=act.edits.get(row.id, row.text),
        key=row.key,
        kind=row.kind,
        about=row.about,
        evidence=unpack_names(row.evidence),
        spans=unpack_spans(row.spans),
        confidence=row.confidence,
        reason=row.reason,
        changes=unpack_object(row.changes),
        branch=into.id,
    )


def taken_back(actor: c.Actor, row: ProposalRow, reason: str | None) -> e.ProposalWithdrawn:
    """Takes a change back, if it was not made with more trust."""
    if not at_least(actor.trust, row.origin):
        raise Forbidden(
            f"{row.id} was written on the branch by {row.origin!r}",
            hint="ask a person to change it",
        )
    return e.ProposalWithdrawn(id=row.id, reason=reason)


def _with_lineage(summary: c.Remember, rows: list[ProposalRow]) -> c.Remember:
    """A summary that rests on what the branch rested on and was about."""
    named = [name for row in rows for name in (*unpack_names(row.evidence), row.target) if name]
    evidence = tuple(dict.fromkeys((*summary.evidence, *named)))[:EVIDENCE_MAX_COUNT]
    return msgspec.structs.replace(summary, evidence=evidence)


def made_over(view: View, row: ProposalRow) -> ProposalRow:
    """The change as it can be made to what is there now, if its base has moved."""
    if not is_stale(view, row):
        return row
    target = view.version(row.target) if row.target else None
    lives = target is not None and target.status in LIVE and target.user == row.user
    if row.intent == "delete":
        return row if lives else row._replace(intent="noop")
    changes = unpack_object(row.changes)
    if row.intent == "update" and SUPERSEDE not in changes:
        return row if lives else _as_addition(view, row)
    holder = view.holder(row.key, row.user) if row.key else None
    if holder is None and row.intent == "update" and lives:
        return row
    changes.pop(SUPERSEDE, None)
    place = None if holder is None else holder.id
    return row._replace(intent="add", target=place, changes=pack_object(changes))


def _as_addition(view: View, row: ProposalRow) -> ProposalRow:
    """A revision of a record that does not hold any more, as a record with the revised words."""
    then = view.version_at(row.target or "", row.base or 0)
    if then is None:  # forged
        return row._replace(intent="noop")
    holder = view.holder(then.key, row.user) if then.key else None
    fields = {**_other_fields(then), **unpack_object(row.changes)}
    return row._replace(
        intent="add",
        changes=pack_object(fields),
        target=None if holder is None else holder.id,
        text=row.text or then.text,
        key=then.key,
        kind=row.kind or then.kind,
        about=row.about or then.about,
        confidence=then.confidence if row.confidence is None else row.confidence,
    )


def _other_fields(row: VersionRow) -> dict[str, Json]:
    """What a record has beside its words, which a revision leaves as it is."""
    found: dict[str, Json] = {name: getattr(row, name) for name in FIELDS_OF_NEW}
    found |= {
        "data": unpack_object(row.data),
        "tags": list(unpack_names(row.tags)),
        "is_hypothesis": bool(row.is_hypothesis),
    }
    return {name: value for name, value in found.items() if value not in (None, [], {}, False)}


def _review(act: c.CloseBranch | c.TryBranch, row: ProposalRow, reason: str | None) -> c.Review:
    return c.Review(
        id=row.id,
        verdict="approved",
        digest=digest_of(row),
        stamp=act.stamp,
        chance=_chance(act, row),
        reason=reason,
    )


def _chance(act: c.CloseBranch | c.TryBranch, row: ProposalRow) -> str:
    """What the ids are made from that come of one change."""
    return sha256(f"{act.chance} {row.id}".encode()).hexdigest()[: len(act.chance)]


def _free_id(view: View, act: c.OpenBranch) -> str:
    """The shortest free id."""
    for length in range(ID_MIN_CHARS, len(act.chance) + 1, 2):
        id = branch_id(act.stamp, act.chance, length)
        if view.branch(id) is None:
            return id
    raise Conflict("no free id was found", hint="try again")
