"""Proposals: a change that waits for a person, and what a person's review does.

Responsible for the events of proposing, reviewing and taking back, over proposals and held records
alike. Leaves proposals in place of a change that may not be made at once to ``lifecycle.filed``.
Invariants: only a person reviews, and exactly what was shown; only a review raises the trust
of what others wrote.
"""

from __future__ import annotations

from collections.abc import Container
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import UNSET

from recollect.errors import Changed, Conflict, Forbidden, InvalidInput, NotFound
from recollect.index.proposals import ProposalRow
from recollect.index.rows import VersionRow, unpack_names, unpack_object
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.filed import (
    FIELDS_OF_NEW,
    LIVE,
    OTHER_FIELDS,
    SPOKEN_OF,
    SUPERSEDE,
    for_user,
    free_id,
    is_stale,
    of_target,
    require_room,
)
from recollect.lifecycle.records.records import added, new_record_id
from recollect.lifecycle.trust.lineage import lineage, spans
from recollect.lifecycle.view import View, known_record, visible
from recollect.model import events as e
from recollect.model import validate
from recollect.model.limits import TAGS_MAX_COUNT
from recollect.model.rules import at_least, lowest, may_review
from recollect.model.validate import Json

# What every record has, to check the other fields of one.
_EMPTY: Final[dict[str, Json]] = {
    "id": "",
    "text": "",
    "kind": "",
    "confidence": 1.0,
    "status": "active",
    "trust": "agent",
}
_SHOW_AGAIN: Final = "`recollect review` shows what is there now"


def propose(view: View, actor: c.Actor, act: c.Propose) -> tuple[list[e.AnyBody], str]:
    """Files a proposal; the target of an addition is the holder of its key."""
    line = lineage(view, actor, act.evidence, act.quotes)
    if act.intent == "add":
        target = view.holder(act.key, actor.user) if act.key else None
    else:
        target = None if act.target is None else _live(view, actor, act.target)
    if target is not None:
        require_room(actor, target, view.waiting_about(target.id))
    body = e.ProposalMade(
        id=free_id(view, act.stamp, act.chance),
        intent=act.intent,
        trust=line.trust,
        target=None if target is None else target.id,
        base=None if target is None else target.seq,
        text=act.text,
        key=act.key,
        kind=act.kind,
        about=act.about,
        evidence=act.evidence,
        spans=spans(line),
        rule=act.rule,
        confidence=act.confidence,
        reason=act.reason,
        changes={} if act.why is None else {"why": act.why},
    )
    return [of_target(actor, target, body)], body.id


def review(view: View, actor: c.Actor, act: c.Review) -> list[e.AnyBody]:
    """Lets a proposal or a held record in, or turns it down."""
    if not may_review(actor.trust):
        raise Forbidden("a review needs a person", hint="ask the person to run `recollect review`")
    row = view.proposal(act.id)
    if row is None or not visible(actor, row):
        return _review_record(view, actor, act)
    _require_waiting(row)
    _require_same(act, digest_of(row))
    if act.verdict == "rejected":
        rejected = e.ProposalRejected(id=row.id, digest=act.digest, reason=act.reason)
        return [for_user(actor, row.user, rejected)]
    if is_stale(view, row):
        raise Changed(
            f"what {row.id} would change has changed since it was proposed",
            hint="reject it, or propose it again; " + _SHOW_AGAIN,
        )
    return approved(view, actor, act, row)


def approved(
    view: View,
    actor: c.Actor,
    act: c.Review,
    row: ProposalRow,
    others: Container[str] = (),
) -> list[e.AnyBody]:
    """The events of an approval: the change is made to what is there now.

    ``others`` are records that the same command changes or ends by other approvals.
    """
    _require_sound(row)
    record, changes = _made(view, actor, act, row, others)
    body = e.ProposalApproved(id=row.id, digest=act.digest, record=record, reason=act.reason)
    return [for_user(actor, row.user, each) for each in (body, *changes)]


def withdraw(view: View, actor: c.Actor, act: c.Withdraw) -> list[e.AnyBody]:
    """Takes a proposal back."""
    row = view.proposal(act.id)
    if row is None or not visible(actor, row):
        raise no_proposal(act.id)
    _require_waiting(row)
    if not at_least(actor.trust, row.origin):
        raise Forbidden(f"{row.id} was proposed by {row.origin!r}")
    return [for_user(actor, row.user, e.ProposalWithdrawn(id=row.id, reason=act.reason))]


def digest_of(row: ProposalRow | VersionRow, holder: VersionRow | None = None) -> str:
    """A digest over everything that a review is about; ``holder`` is whose key a record takes."""
    if isinstance(row, ProposalRow):
        cells: list[Json] = ["proposal", *row[: ProposalRow._fields.index("until")]]
    else:
        cells = ["record", row.id, row.seq, row.text, row.key, row.kind, row.about, row.evidence]
        cells += [row.trust, row.data, row.expires, row.confidence, row.user]
        cells += [None if holder is None else [holder.id, *(getattr(holder, n) for n in SPOKEN_OF)]]
    return sha256(msgspec.json.encode(cells)).hexdigest()


def no_proposal(id: str) -> NotFound:
    return NotFound(
        f"nothing that waits has the id {id!r}", hint="`recollect review` lists what does"
    )


def displaced(view: View, row: VersionRow) -> VersionRow | None:
    """Who would lose its key if a held record were let in."""
    return view.holder(row.key, row.user) if row.key and row.status == "held" else None


def _review_record(view: View, actor: c.Actor, act: c.Review) -> list[e.AnyBody]:
    row = view.version(act.id)
    if row is None or not visible(actor, row):
        raise no_proposal(act.id)
    _require_same(act, digest_of(row, displaced(view, row)))
    if act.verdict == "rejected":
        if row.status != "held":
            raise Conflict(
                f"{row.id} does not wait for review", hint="use forget to take it out of recall"
            )
        return [for_user(actor, row.user, _reviewed(act, row.id, row.trust))]
    if row.status not in LIVE or (row.status != "held" and row.trust == actor.trust):
        raise Conflict(f"{row.id} does not wait for a review: it is {row.status}")
    return [for_user(actor, row.user, body) for body in _let_in(view, actor, act, row)]


def _let_in(view: View, actor: c.Actor, act: c.Review, row: VersionRow) -> list[e.AnyBody]:
    """The events that let a record in; who held its key until now is superseded."""
    bodies: list[e.AnyBody] = []
    holder = displaced(view, row)
    if holder is not None:
        bodies.append(e.RecordSuperseded(id=holder.id, by=row.id))
    return [*bodies, _reviewed(act, row.id, actor.trust)]


def _made(
    view: View, actor: c.Actor, act: c.Review, row: ProposalRow, others: Container[str]
) -> tuple[str | None, list[e.AnyBody]]:
    """The record that an approved proposal adds or changes, and the events that do it."""
    target = view.version(row.target) if row.target else None
    if row.intent == "add":
        return _addition(view, actor, act, row, target, others)
    if target is None or row.intent == "noop":
        return row.target, []
    if row.intent == "delete":
        how = unpack_object(row.changes)
        if how.get("why") == "rejected":
            return target.id, [e.RecordArchived(id=target.id, why="rejected", reason=row.reason)]
        sources: e.Sources = "keep" if how.get("sources") == "keep" else "shadow"
        return target.id, [e.RecordForgotten(id=target.id, sources=sources, reason=row.reason)]
    if unpack_object(row.changes).get(SUPERSEDE) is True:
        return _addition(view, actor, act, row, target, others)
    trust = lowest([target.trust, row.trust])
    evidence = unpack_names(row.evidence)
    body = msgspec.structs.replace(
        _other_changes(row, target.id, trust),
        text=UNSET if row.text is None else row.text,
        evidence=evidence if row.text is not None or _settles(row) else UNSET,
        confidence=UNSET if row.confidence is None else row.confidence,
        kind=UNSET if row.kind is None else row.kind,
        about=UNSET if row.about is None else row.about,
        reason=row.reason,
        proposal=row.id,
    )
    if target.status == "held":  # its own review lets it in, which shows whose key it takes
        return target.id, [body]
    return target.id, [body, *_raised(actor, act, target.id, trust)]


def _settles(row: ProposalRow) -> bool:
    """True if a proposal confirms a hypothesis, with more evidence."""
    return "is_hypothesis" in unpack_object(row.changes)


def _other_changes(row: ProposalRow, id: str, trust: e.Trust) -> e.RecordRevised:
    """A revision with the other fields, as strict as a ledger is read: its event may be forged."""
    given = unpack_object(row.changes)
    if not given.keys() <= set(OTHER_FIELDS):
        raise _unsound(row, "it names other fields than a revision sets")
    try:
        return msgspec.convert({**given, "id": id, "trust": trust}, e.RecordRevised)
    except msgspec.ValidationError as error:
        raise _unsound(row, str(error)) from error


def _require_sound(row: ProposalRow) -> None:
    """Refuses what no call could have proposed."""
    try:
        if row.intent == "add" or row.text is not None:
            validate.text(row.text or "")
        for name in ("key", "kind", "about"):
            validate.optional_name(getattr(row, name), name)
        if row.confidence is not None:
            validate.fraction(row.confidence, "confidence")
    except InvalidInput as error:
        raise _unsound(row, error.message) from error


def _unsound(row: ProposalRow, why: str) -> Conflict:
    return Conflict(f"{row.id} is not a change that can be made: {why}", hint="reject it")


def _addition(
    view: View,
    actor: c.Actor,
    act: c.Review,
    row: ProposalRow,
    holder: VersionRow | None,
    others: Container[str],
) -> tuple[str, list[e.AnyBody]]:
    """The events that add a proposed record, or confirm the one that says the same already.

    It takes the place of ``holder``: who has its key, or whom it would supersede. A record that
    will not say the same after this command is not confirmed in its place.
    """
    twin = view.twin(row.text or "", row.user)
    if twin is not None and twin.key == row.key and twin.id not in others:
        ended = _ended(row, None if holder == twin else holder, twin.id)
        again = e.RecordReinforced(id=twin.id, how="restated")
        return twin.id, [*ended, again, *_raised(actor, act, twin.id, twin.trust)]
    wanted = _wanted(act, row)
    if wanted.id is not None and view.has_version(wanted.id):  # taken since: a new one is made
        wanted = msgspec.structs.replace(wanted, id=None)
    id = new_record_id(view, actor, wanted)
    status: e.Status = "held" if row.trust == "unverified" else "active"
    replaced = None if holder is None else holder.id
    body = added(actor, wanted, id, row.trust, status, replaced)
    body = msgspec.structs.replace(body, proposal=row.id)
    return id, [*_ended(row, holder, id), body, *_raised(actor, act, id, row.trust)]


def _ended(row: ProposalRow, holder: VersionRow | None, by: str) -> list[e.AnyBody]:
    reason = row.reason if row.intent == "update" else None
    return [] if holder is None else [e.RecordSuperseded(id=holder.id, by=by, reason=reason)]


def _wanted(act: c.Review, row: ProposalRow) -> c.Remember:
    """The record that a proposal would add."""
    wanted = c.Remember(
        text=row.text or "",
        id=None,
        stamp=act.stamp,
        chance=act.chance,
        key=row.key,
        kind=UNSET if row.kind is None else row.kind,
        about=UNSET if row.about is None else row.about,
        confidence=UNSET if row.confidence is None else row.confidence,
        evidence=unpack_names(row.evidence),
    )
    given = unpack_object(row.changes)
    given.pop(SUPERSEDE, None)
    is_alone = row.branch is None
    if (row.intent == "add" and is_alone) or not given:  # then other fields are forged
        return wanted
    if not given.keys() <= set(FIELDS_OF_NEW if is_alone else (*FIELDS_OF_NEW, "id")):
        raise _unsound(row, "it names other fields than a record has")
    try:
        body = msgspec.convert({**_EMPTY, **given}, e.RecordAdded)
        validate.names(body.tags, "tags", at_most=TAGS_MAX_COUNT)
        if "id" in given:
            validate.identifier(body.id)
    except (msgspec.ValidationError, InvalidInput) as error:
        raise _unsound(row, str(error)) from error
    return msgspec.structs.replace(wanted, **{name: getattr(body, name) for name in given})


def _raised(actor: c.Actor, act: c.Review, id: str, trust: e.Trust) -> list[e.AnyBody]:
    """The review that lets something in above the trust of what it rests on."""
    return [] if trust == actor.trust else [_reviewed(act, id, actor.trust)]


def _reviewed(act: c.Review, id: str, trust: e.Trust) -> e.RecordReviewed:
    return e.RecordReviewed(
        id=id, trust=trust, digest=act.digest, verdict=act.verdict, reason=act.reason
    )


def _require_waiting(row: ProposalRow) -> None:
    if row.until != STILL:
        raise Conflict(f"{row.id} was {row.outcome} at {row.settled_at}")


def _require_same(act: c.Review, digest: str) -> None:
    if act.digest != digest:
        raise Changed(f"{act.id} is not what was shown", hint=_SHOW_AGAIN)


def _live(view: View, actor: c.Actor, id: str) -> VersionRow:
    target = known_record(view, actor, id)
    if target.status not in LIVE:
        raise Conflict(f"{id} is {target.status}", hint="`undo` brings it back first")
    return target
