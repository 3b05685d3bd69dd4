"""Writing on a branch: a change becomes a proposal with the version that it was made against.

Responsible for remembering, revising and forgetting on a branch. Leaves closing a branch to
``lifecycle.branches.branches``. Invariants: the waiting changes of a branch are about different
records and keys, so the order in which they are merged does not matter; a later change of the same
record takes the place of the earlier one and keeps its base.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from recollect.errors import Conflict, InvalidInput, LimitExceeded
from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow, unpack_spans
from recollect.index.rows import VersionRow, pack_object, unpack_names, unpack_object
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_names import (
    changes_on,
    made_by,
    open_branch_known,
    subject_of,
)
from recollect.lifecycle.branches.branches import (
    key_place,
    made_over,
    places,
    require_trust,
    taken_back,
)
from recollect.lifecycle.filed import FIELDS_OF_NEW, LIVE, SUPERSEDE, for_user, free_id
from recollect.lifecycle.records.names import full_id
from recollect.lifecycle.records.records import added, new_record_id, state_of
from recollect.lifecycle.trust.lineage import lineage, spans
from recollect.lifecycle.view import View, known_record
from recollect.model import events as e
from recollect.model.limits import BRANCH_MAX_CHANGES, BRANCH_MAX_CHARS
from recollect.model.rules import lowest
from recollect.model.validate import Json

_REVISED: Final = ("expires", "data", *e.NOTED)  # what a revision on a branch sets beside the text
_NOT_REVISED: Final = (
    *("patch", "confidence", "decay_tier", "about"),
    *("kind", "source_type", "is_hypothesis", "regrounds"),
)


class _Branch(NamedTuple):
    """The branch that is written on, and what waits there."""

    view: View
    actor: c.Actor
    act: c.OnBranch
    row: BranchRow
    changes: list[ProposalRow]

    def making(self, name: str) -> ProposalRow | None:
        """The change that adds the record with this id or key."""
        for row in self.changes:
            if made_by(row) is not None and name in (made_by(row), row.key):
                return row
        return None

    def taking(self, key: str, user: str | None) -> ProposalRow | None:
        """The change that would take a key: it adds a record, or brings one back that is gone."""
        place = key_place(key, user)
        found = (row for row in self.changes if place in places(made_over(self.view, row)))
        return next(found, None)

    def about(self, id: str) -> ProposalRow | None:
        """The change that is about a record of the memory, or ends it."""
        return next((row for row in self.changes if row.target == id), None)


class _Place(NamedTuple):
    """Where a new record comes: what it replaces on the branch and in the memory."""

    intent: e.Intent = "add"
    target: str | None = None
    base: int | None = None
    user: str | None = None
    earlier: ProposalRow | None = None


def on_branch(view: View, actor: c.Actor, act: c.OnBranch) -> tuple[list[e.AnyBody], str]:
    """The events of a change on a branch; the id of its proposal, or of its record if none."""
    require_trust(actor)
    row = open_branch_known(view, actor, act.branch)
    if row.user is not None:  # what is written on a user's branch is that user's
        actor = msgspec.structs.replace(actor, user=row.user)
    branch = _Branch(view, actor, act, row, changes_on(view, row))
    if isinstance(act.wanted, c.Remember):
        return _remember(branch, act.wanted)
    if isinstance(act.wanted, c.Revise):
        return _revise(branch, act.wanted)
    return _forget(branch, act.wanted)


def _remember(branch: _Branch, act: c.Remember) -> tuple[list[e.AnyBody], str]:
    _check_evidence(branch, act.evidence)
    if act.status is not UNSET:
        raise InvalidInput("a record on a branch is not put into the inbox")
    act, place = _placed(branch, act)
    view, actor = branch.view, msgspec.structs.replace(branch.actor, user=place.user)
    same = _said_already(branch, act, place)
    if same is not None:
        return [], same
    id = new_record_id(view, actor, act)
    if branch.making(id) is not None:
        raise Conflict(f"the branch adds a record with the id {id!r} already")
    line = lineage(view, branch.actor, act.evidence, act.quotes)
    new = added(actor, act, id, line.trust, "active", None)
    plain: dict[str, Json] = msgspec.to_builtins(new)
    changes: dict[str, Json] = {"id": id}
    if place.intent == "update":
        changes[SUPERSEDE] = True
    changes.update({str(name): plain[name] for name in FIELDS_OF_NEW if name in plain})
    body = e.ProposalMade(
        id=free_id(view, branch.act.stamp, branch.act.chance),
        intent=place.intent,
        trust=line.trust,
        target=place.target,
        base=place.base,
        text=act.text,
        key=act.key,
        kind=new.kind,
        about=new.about,
        evidence=act.evidence,
        spans=spans(line),
        confidence=new.confidence,
        reason=None if act.reason is UNSET else act.reason,
        changes=changes,
        branch=branch.row.id,
    )
    return _filed(branch, body, place.earlier, place.user)


def _placed(branch: _Branch, act: c.Remember) -> tuple[c.Remember, _Place]:
    """Where a new record comes, and the record with what it takes over from the one before it."""
    if isinstance(act.supersedes, str):
        return _in_place_of(branch, act, act.supersedes)
    user = branch.actor.user
    if act.key is None:
        return act, _Place(user=user)
    own = branch.taking(act.key, user)
    if own is not None:
        intent = "add" if made_by(own) is None else own.intent
        return act, _Place(intent, own.target, own.base, user, own)
    holder = branch.view.holder(act.key, user)
    if holder is None:
        return act, _Place(user=user)
    earlier = branch.about(holder.id)
    base = holder.seq if earlier is None else earlier.base
    return act, _Place("add", holder.id, base, user, earlier)


def _in_place_of(branch: _Branch, act: c.Remember, name: str) -> tuple[c.Remember, _Place]:
    own = branch.making(name)
    if own is not None:
        key, place = own.key, _Place(own.intent, own.target, own.base, own.user, own)
        kind, about = own.kind, own.about
    else:
        old = _live(branch, name)
        earlier = branch.about(old.id)
        _require_there(earlier, old.id)
        base = old.seq if earlier is None else earlier.base
        key, place = old.key, _Place("update", old.id, base, old.user, earlier)
        kind, about = old.kind, old.about
    if act.key not in (None, key):
        raise InvalidInput(
            "on a branch a record that replaces another keeps its key",
            hint=f"leave the key out, or give {key!r}",
        )
    act = msgspec.structs.replace(
        act,
        key=key,
        kind=(kind or UNSET) if act.kind is UNSET else act.kind,
        about=(about or UNSET) if act.about is UNSET else act.about,
    )
    return act, place


def _said_already(branch: _Branch, act: c.Remember, place: _Place) -> str | None:
    """The change, or else the record of the memory, that says this already under the same key."""
    if act.id is not None or act.fresh is True:
        return None
    for row in branch.changes:
        if made_by(row) is not None and (row.text, row.key, row.user) == (
            act.text,
            act.key,
            place.user,
        ):
            return row.id
    twin = branch.view.twin(act.text, place.user)
    if twin is None or twin.key != act.key or branch.about(twin.id) is not None:
        return None
    return twin.id


def _revise(branch: _Branch, act: c.Revise) -> tuple[list[e.AnyBody], str]:
    if act.text is UNSET or any(getattr(act, name) is not UNSET for name in _NOT_REVISED):
        raise InvalidInput("on a branch `revise` takes a text, evidence, data and an expiry")
    _check_evidence(branch, act.evidence)
    line = lineage(branch.view, branch.actor, act.evidence, act.quotes)
    body = e.ProposalMade(
        id=free_id(branch.view, branch.act.stamp, branch.act.chance),
        intent="update",
        trust=line.trust,
        text=act.text,
        evidence=tuple(dict.fromkeys(act.evidence)),
        spans=spans(line),
        reason=act.reason,
        changes={name: value for name in _REVISED if (value := getattr(act, name)) is not UNSET},
        branch=branch.row.id,
    )
    own = branch.making(act.id)
    if own is not None:
        return _revised_again(branch, body, own, own.user)
    target = _live(branch, act.id)
    earlier = branch.about(target.id)
    if earlier is not None:
        _require_there(earlier, target.id)
        return _revised_again(branch, body, earlier, target.user)
    if _says(target, body):
        return [], target.id
    body = msgspec.structs.replace(body, target=target.id, base=target.seq)
    return _filed(branch, body, None, target.user)


def _revised_again(
    branch: _Branch, body: e.ProposalMade, earlier: ProposalRow, user: str | None
) -> tuple[list[e.AnyBody], str]:
    """The events of a revision of what the branch has changed already; the rest of that stays."""
    body = msgspec.structs.replace(
        body,
        intent=earlier.intent,
        trust=lowest([body.trust, earlier.trust]),
        target=earlier.target,
        base=earlier.base,
        key=earlier.key,
        kind=earlier.kind,
        about=earlier.about,
        evidence=tuple(dict.fromkeys((*unpack_names(earlier.evidence), *body.evidence))),
        spans=(*unpack_spans(earlier.spans), *body.spans),
        confidence=earlier.confidence,
        changes={**unpack_object(earlier.changes), **body.changes},
    )
    if _same(earlier, body):
        return [], subject_of(earlier)
    return _filed(branch, body, earlier, user)


def _forget(branch: _Branch, act: c.Forget) -> tuple[list[e.AnyBody], str]:
    own = branch.making(act.id)
    if own is not None and own.target is None:
        body = taken_back(branch.actor, own, act.reason)
        return [for_user(branch.actor, own.user, body)], subject_of(own)
    earlier = own
    if own is not None:  # what it replaced does not come back
        target, base, user = own.target, own.base, own.user
    else:
        row = _live(branch, act.id)
        earlier = branch.about(row.id)
        if earlier is not None and earlier.intent == "delete":
            return [], row.id
        _require_there(earlier, row.id)
        target, base, user = row.id, row.seq if earlier is None else earlier.base, row.user
    made = e.ProposalMade(
        id=free_id(branch.view, branch.act.stamp, branch.act.chance),
        intent="delete",
        trust=branch.actor.trust,
        target=target,
        base=base,
        reason=act.reason,
        changes={"sources": "keep"} if act.sources == "keep" else {},
        branch=branch.row.id,
    )
    return _filed(branch, made, earlier, user)


def _filed(
    branch: _Branch, body: e.ProposalMade, earlier: ProposalRow | None, user: str | None
) -> tuple[list[e.AnyBody], str]:
    """The events of a new change: what it takes the place of is taken back first."""
    if earlier is None and len(branch.changes) >= BRANCH_MAX_CHANGES:
        raise LimitExceeded(
            f"the branch {branch.row.name!r} has {BRANCH_MAX_CHANGES} changes already",
            hint="ask a person to merge it, and open another one",
        )
    chars = sum(_chars(row) for row in branch.changes if row != earlier) + _chars(body)
    if chars > BRANCH_MAX_CHARS:
        raise LimitExceeded(
            f"the changes of {branch.row.name!r} have over {BRANCH_MAX_CHARS:,} characters",
            hint="ask a person to merge it, and open another one",
        )
    bodies: list[e.AnyBody] = [body]
    if earlier is not None:
        reason = f"replaced by {body.id}"
        bodies.insert(0, taken_back(branch.actor, earlier, reason))
    return [for_user(branch.actor, user, each) for each in bodies], body.id


def _chars(change: ProposalRow | e.ProposalMade) -> int:
    return len(change.text or "")


def _live(branch: _Branch, name: str) -> VersionRow:
    """The record of the memory that a name means, if it holds."""
    id = full_id(branch.view, branch.actor.user, name)
    if branch.view.episode(id) is not None:
        raise InvalidInput(
            f"{id} is an episode, which a branch does not change", hint="use the memory itself"
        )
    row = known_record(branch.view, branch.actor, id)
    _require_apart(branch, row)
    earlier = branch.about(row.id)
    if row.status not in LIVE and earlier is None:
        raise Conflict(f"{id} is {state_of(row)}", hint="`undo` brings it back first")
    return row


def _require_apart(branch: _Branch, row: VersionRow) -> None:
    """Refuses a record that has come in the place of one that the branch changes.

    Merging that change would end this record, so two changes would be about the same.
    """
    for other in branch.changes:
        if other.target != row.id and f"record {row.id}" in places(made_over(branch.view, other)):
            raise Conflict(
                f"{row.id} has come in the place of what {other.id} changes on this branch",
                hint="merge or abandon the branch first",
            )


def _require_there(earlier: ProposalRow | None, id: str) -> None:
    """Refuses a record that the branch has forgotten or replaced."""
    if earlier is None:
        return
    if earlier.intent == "delete":
        raise Conflict(f"{id} is forgotten on this branch", hint="remember it there")
    made = made_by(earlier)
    if made is not None:
        raise Conflict(f"{id} is replaced by {made} on this branch", hint=f"use {made}")


def _check_evidence(branch: _Branch, evidence: tuple[str, ...]) -> None:
    """Refuses evidence that exists only on the branch: its trust is not decided yet."""
    for name in evidence:
        if branch.making(name) is not None:
            raise InvalidInput(
                f"{name!r} is a record of the branch, so nothing can rest on it yet",
                hint="merge the branch first, or name what it rests on",
            )


def _says(target: VersionRow, body: e.ProposalMade) -> bool:
    """True if a record of the memory is what a change would make of it."""
    now: dict[str, Json] = {"data": unpack_object(target.data), "expires": target.expires}
    return (target.text, now) == (body.text, {**now, **body.changes})


def _same(earlier: ProposalRow, body: e.ProposalMade) -> bool:
    """True if a change says what the earlier one said."""
    now = (body.text, pack_object(body.changes), body.evidence)
    return now == (earlier.text, earlier.changes, unpack_names(earlier.evidence))
