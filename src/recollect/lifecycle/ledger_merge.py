"""Merging: the events of another copy of this ledger, as they were written there.

Responsible for what a command of the other ledger becomes here: its bodies with the event numbers
of this ledger, and with no more than its author may have. Leaves which commands come to
``memory.merging.merge``. Invariants: a command comes once; what no signature shows to be this
person's changes nothing that a person vouched for, and its trust is never above its evidence here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, structs

from recollect.errors import Changed, Forbidden
from recollect.index.rows import VersionRow
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.removal import of_branch, of_proposal
from recollect.lifecycle.settings.policy import at_once
from recollect.lifecycle.trust.lineage import lineage
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.lifecycle.view import View
from recollect.model import events as e
from recollect.model.rules import CLAIMED, lowest

# Changes of a record, for each of which its present trust counts.
_CHANGES: Final = (
    e.RecordRevised,
    e.RecordSuperseded,
    e.RecordForgotten,
    e.RecordArchived,
    e.RecordRestored,
    e.RecordTagged,
)
_CLAIMS: Final = (e.LinkAdded, e.FrameSet, e.DocumentSet, e.ProposalMade)


class Take(c.Act, frozen=True, kw_only=True):
    """Write the events of one command of another ledger, under the id that they have here.

    ``fork`` is the last event that both ledgers have, and ``named`` the subjects of later events
    that a body refers to by number. ``is_mine`` is true if the command is this person's own. It is
    written only after the command that it ``follows``.
    """

    id: str
    bodies: tuple[e.AnyBody, ...]
    fork: int
    named: dict[int, str] = {}  # noqa: RUF012  # copied by msgspec
    is_mine: bool = False
    follows: str | None = None


class TakeErasure(c.Act, frozen=True, kw_only=True):
    """Erase here what was erased in the other ledger: events, and all about these subjects."""

    targets: tuple[int, ...]
    about: tuple[tuple[str, ...], ...] = ()  # each with what it is
    reason: str | None = None
    written_at: str | None = None
    follows: str | None = None


def take(view: View, actor: c.Actor, act: Take) -> list[e.AnyBody]:
    """The bodies of a command as they are written here; none if it is here already."""
    if view.command(act.id) is not None:
        return []
    _check_order(view, act)
    mapped = [_mapped(view, act, body) for body in act.bodies]
    return mapped if act.is_mine else _limited(view, actor, mapped)


def take_erasure(view: View, actor: c.Actor, act: TakeErasure) -> list[e.AnyBody]:
    """The event that erases here what is still here of it."""
    _check_order(view, act)
    targets = {*act.targets}.union(*(_about(view, what, names) for what, *names in act.about))
    return [
        e.EventsErased(targets=tuple(sorted(targets)), reason=act.reason, written_at=act.written_at)
    ]


def _check_order(view: View, act: Take | TakeErasure) -> None:
    """Refuses a command whose predecessor was refused: it may say nothing without that one."""
    if act.follows is not None and view.command(act.follows) is None:
        raise Changed("the command before it was not written", hint="merge again")


def _about(view: View, what: str, names: list[str]) -> Iterable[int]:
    """Every event about a subject; of a link or a session only those go that were named."""
    match what:
        case "memory":
            return view.events_about(names[0])
        case "proposal":
            proposal = view.proposal(names[0])
            return () if proposal is None else of_proposal(proposal)
        case "branch":
            branch = view.branch(names[0])
            return () if branch is None else of_branch(view, branch)
        case "document":
            return view.events_about_document(*names)
        case "preset":
            return view.events_about_preset(names[0])
        case _:
            return ()


# Numbers of events, which differ from ledger to ledger.


def _mapped(view: View, act: Take, body: e.AnyBody) -> e.AnyBody:
    match body:
        case e.RecordAdded() if view.has_version(body.id):
            return _as_revision(view, body)
        case e.RecordArchived() if not _lives(view.version(body.id)):
            return structs.replace(body, reason=None)  # without effect: no text may hide in it
        case e.ProposalMade():
            return _proposal(view, act, body)
        case e.LineageRetracted():
            return structs.replace(body, root=_number(view, act, body.root))
        case e.RulePassed():  # what came has not been looked at here
            row = view.last_pass(body.rule)
            return structs.replace(body, through=0 if row is None else row.through)
        case _ if isinstance(body, e.Settled) and _is_settled(view, body.id):
            return (
                body if isinstance(body, e.ProposalApplied) else structs.replace(body, reason=None)
            )
        case _:
            return body


def _lives(row: VersionRow | None) -> bool:
    return row is None or row.status in ("inbox", "active", "held")


def _is_settled(view: View, id: str) -> bool:
    row = view.proposal(id)
    return row is not None and row.until != STILL


def _number(view: View, act: Take, seq: int) -> int:
    """The number here of an event there; that of the last common one if it is not here."""
    if seq <= act.fork:
        return seq
    id = act.named.get(seq, "")
    row = view.episode(id) or view.version(id)
    return act.fork if row is None else row.seq


def _proposal(view: View, act: Take, body: e.ProposalMade) -> e.ProposalMade:
    base = body.base
    if base is not None and base > act.fork:
        row = view.version(body.target or "")
        base = None if row is None else row.seq
    spans = tuple((_number(view, act, seq), first, end) for seq, first, end in body.spans)
    return structs.replace(body, base=base, spans=spans)


def _as_revision(view: View, body: e.RecordAdded) -> e.RecordRevised:
    """Both ledgers gave a record the same id: what the other one said is a version of this one."""
    row = view.version(body.id)
    return e.RecordRevised(
        id=body.id,
        trust=body.trust if row is None else lowest([body.trust, row.trust]),
        text=body.text,
        evidence=body.evidence,
        user=body.user,
        session=body.session,
        agent=body.agent,
        tz_minutes=body.tz_minutes,
        command=body.command,
        author=body.author,
        written_at=body.written_at,
    )


# What no signature shows to be this person's.


def _limited(view: View, actor: c.Actor, bodies: list[e.AnyBody]) -> list[e.AnyBody]:
    """The bodies with at most the actor's trust; refuses the command if one may not be."""
    ended = {body.id for body in bodies if isinstance(body, e.RecordSuperseded)}
    named = {body.id for body in bodies if isinstance(body, e.AuthorNamed)}
    return [_claimed(view, _limit(view, actor, body, ended), named) for body in bodies]


def _claimed(view: View, body: e.AnyBody, named: set[str]) -> e.AnyBody:
    """The body with an author who is nobody else here, whatever the other ledger says."""
    if isinstance(body, e.AuthorNamed):
        body = structs.replace(body, id=CLAIMED + body.id, checked=None)
    if body.author is None:
        return body
    author = CLAIMED + body.author
    is_named = body.author in named or bool(view.namings(author))
    return structs.replace(body, author=author if is_named else None)


def _limit(view: View, actor: c.Actor, body: e.AnyBody, ended: set[str]) -> e.AnyBody:
    if isinstance(body, e.RecordAdded):
        return _added(view, actor, body, ended)
    if isinstance(body, _CHANGES):
        return _change(view, actor, body)
    if isinstance(body, _CLAIMS):
        return structs.replace(body, trust=lowest([actor.trust, body.trust]))
    return body


def _added(view: View, actor: c.Actor, body: e.RecordAdded, ended: set[str]) -> e.RecordAdded:
    """A record waits for a person if it may not be added at once or its key is taken."""
    line = lineage(view, structs.replace(actor, user=body.user), body.evidence)
    trust = lowest([body.trust, line.trust])
    holder = view.holder(body.key, body.user) if body.key else None
    is_taken = holder is not None and holder.id not in ended
    waits = trust == "unverified" or is_taken or not at_once(view, actor, "add")
    return structs.replace(body, trust=trust, status="held" if waits else body.status)


def _change(view: View, actor: c.Actor, body: e.AnyBody) -> e.AnyBody:
    row = view.version(getattr(body, "id", ""))
    if row is not None and not may_alter(view, actor, row):
        raise Forbidden(
            f"it changes {row.id}, which a person vouched for, and no signature of a key known "
            "here shows that it is yours"
        )
    if not isinstance(body, e.RecordRevised):
        return body
    evidence = () if body.evidence is UNSET else body.evidence
    line = lineage(view, structs.replace(actor, user=body.user), evidence)
    known = actor.trust if row is None else row.trust
    return structs.replace(body, trust=lowest([body.trust, line.trust, known]))
