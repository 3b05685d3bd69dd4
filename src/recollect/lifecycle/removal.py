"""Leaving: forgetting, restoring and erasing.

Responsible for hiding records and episodes from reads and bringing them back, and for listing every
event that erasing removes: those about a subject and about the sources that only it has. Leaves
removing their bytes to the engines. Invariants: forgetting can be undone; only a person erases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from msgspec import UNSET

from recollect.errors import Conflict, Forbidden, NotFound
from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow
from recollect.index.rows import EpisodeRow, ReceiptRow, VersionRow, is_held
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_names import branch_known
from recollect.lifecycle.filed import LIVE, filed
from recollect.lifecycle.sessions import events_about, opened_session, session_of
from recollect.lifecycle.settings.documents import no_document
from recollect.lifecycle.settings.policy import require_at_once
from recollect.lifecycle.trust.lineage import Lineage, may_change, refused, require_change
from recollect.lifecycle.trust.persons_word import vouched
from recollect.lifecycle.view import (
    View,
    known_record,
    no_preset,
    require_undo,
    require_whole_space,
    stamped,
    visible,
)
from recollect.model import events as e
from recollect.model.rules import at_least, is_visible, may_erase

R = TypeVar("R", bound=VersionRow | EpisodeRow | ReceiptRow | ProposalRow | BranchRow)

# What less than a person can do instead of erasing.
_INSTEAD: Final = {
    "memory": "use forget instead: it hides the text and can be undone",
    "frame": "drop it without erase: its past stays readable",
    "document": "drop it without erase: its past stays readable",
    "session": "close it without erase: that it ran stays readable",
    "receipt": "ask a person to erase it",
    "proposal": "withdraw it instead: it stays readable",
    "branch": "abandon it instead: it stays readable",
}


def forget(view: View, actor: c.Actor, act: c.Forget) -> list[e.AnyBody]:
    episode = view.episode(act.id)
    if episode is not None and visible(actor, episode):
        if not at_least(actor.trust, episode.trust):
            raise Forbidden(
                f"{actor.trust!r} may not forget an episode with trust {episode.trust!r}"
            )
        if episode.hidden == "forgotten" or (act.visible is True and episode.hidden):
            return []
        require_at_once(view, actor, "delete")
        return [stamped(actor, e.EpisodeForgotten(id=act.id, reason=act.reason))]
    target = known_record(view, actor, act.id)
    body = e.RecordForgotten(id=act.id, sources=act.sources, reason=act.reason)
    if may_change(view, Lineage(actor), target, what="delete"):
        return [] if target.status == "forgotten" else [stamped(actor, body)]
    proposed = filed(view, Lineage(actor), act, target, body) if target.status in LIVE else None
    return refused(view, Lineage(actor), target, "delete") if proposed is None else proposed


def restore(view: View, actor: c.Actor, act: c.Restore) -> list[e.AnyBody]:
    episode = view.episode(act.id)
    if episode is not None and visible(actor, episode):
        if not at_least(actor.trust, episode.trust):
            raise Forbidden(
                f"{actor.trust!r} may not restore an episode with trust {episode.trust!r}"
            )
        by = view.forgotten_by(act.id)
        if by is None:
            return []
        require_undo(actor, [by])
        require_at_once(view, actor, "update")
        return [stamped(actor, e.EpisodeRestored(id=act.id))]
    target = known_record(view, actor, act.id)
    require_change(view, Lineage(actor), target)
    if target.status in ("active", "held"):
        return []
    if act.alone is True and target.status == "archived" and target.superseded_by is not None:
        raise Conflict(
            f"{target.id} was replaced by {target.superseded_by}",
            hint="call `undo` outside the batch: it comes back in the place of that one",
        )
    ended_by = view.ended_by(target.id)
    require_undo(actor, [target.origin, *ended_by])
    key = None if is_held(target) else target.key  # what comes back held takes no key
    holder = view.holder(key, target.user) if key else None
    if holder is not None:
        held = (row.seq for row in reversed(view.versions(target.id)) if row.status in LIVE)
        raise Conflict(
            f"the key {target.key!r} is held by {holder.id} now",
            hint=f"`undo` with to={next(held, 0)} brings it back and replaces {holder.id}",
        )
    # A person who takes back what an agent ended says that it holds.
    is_word = key == target.key and any(origin != "person" for origin in ended_by)
    word = vouched(actor, act.id, target.trust) if is_word else []
    return [stamped(actor, e.RecordRestored(id=act.id)), *word]


def erase(view: View, actor: c.Actor, act: c.Erase) -> list[e.AnyBody]:
    _require_eraser(actor, act.what)
    targets = _events_to_erase(view, actor, act)
    if act.sources and act.what == "memory":
        for source in own_sources(view, act.id):
            targets.update(view.events_about(source))
    body = e.EventsErased(targets=tuple(sorted(targets)), reason=act.reason)
    return [stamped(actor, body)]


def erase_all(view: View, actor: c.Actor, act: c.EraseAll) -> list[e.AnyBody]:
    """Erases what is still there of many; their sources are named with them."""
    _require_eraser(actor, "memory")
    targets = set(_events_of_many(view, actor, act))
    subjects = () if act.subjects is UNSET else act.subjects
    if subjects:
        require_whole_space(actor, "a subject")
    body = e.EventsErased(targets=tuple(sorted(targets)), reason=act.reason, subjects=subjects)
    return [stamped(actor, body)] if targets or subjects else []


def _events_of_many(view: View, actor: c.Actor, act: c.EraseAll) -> Iterator[int]:
    """Every event about what an act names and its actor may see."""
    for row in _seen(actor, (view.version(id) or view.episode(id) for id in act.ids)):
        yield from view.events_about(row.id)
    for receipt in _seen(actor, map(view.receipt, act.receipts)):
        yield receipt.seq
    for proposal in _seen(actor, map(view.proposal, act.proposals)):
        yield from of_proposal(proposal)
    for branch in _seen(actor, map(view.branch, act.branches)):
        yield from of_branch(view, branch)
    for id in act.sessions:
        yield from events_about(session_of(view, id, act.user))
    for id in () if act.authors is UNSET else act.authors:
        namings = view.namings(id)
        yield from (one.seq for one in namings if is_visible(actor.user, one.user))


def _seen(actor: c.Actor, rows: Iterable[R | None]) -> Iterator[R]:
    """Those that there are and that this actor may see."""
    return (row for row in rows if row is not None and visible(actor, row))


def of_proposal(row: ProposalRow) -> set[int]:
    """The events about a proposal; what it made is a subject of its own."""
    return {row.seq} if row.until == STILL else {row.seq, row.until}


def of_branch(view: View, branch: BranchRow) -> set[int]:
    """The events about a branch, and about the proposals on it."""
    events = {branch.seq, branch.until} - {STILL}
    return events.union(*map(of_proposal, view.proposals_on(branch.id)))


def _require_eraser(actor: c.Actor, what: str) -> None:
    if not may_erase(actor.trust):
        raise Forbidden("erasing cannot be undone, so it needs a person", hint=_INSTEAD[what])


def _events_to_erase(view: View, actor: c.Actor, act: c.Erase) -> set[int]:
    """Every event about one subject."""
    if act.what == "receipt":
        receipt = view.receipt(act.id)
        if receipt is None or not visible(actor, receipt):
            raise NotFound(
                f"receipt {act.id!r} was not found", hint="`proof receipts` lists all of them"
            )
        return {receipt.seq}
    if act.what == "proposal":
        proposal = view.proposal(act.id)
        if proposal is None or not visible(actor, proposal):
            raise NotFound(
                f"proposal {act.id!r} was not found", hint="`recollect review` lists them"
            )
        return of_proposal(proposal)
    if act.what == "branch":
        return of_branch(view, branch_known(view, actor, act.id))
    if act.what in ("frame", "document"):
        return set(_events_of_setting(view, actor, act))
    if act.what == "session":
        return events_about(opened_session(view, actor, act.id))
    episode = view.episode(act.id)
    if episode is None or not visible(actor, episode):
        known_record(view, actor, act.id)
    return set(view.events_about(act.id))


def _events_of_setting(view: View, actor: c.Actor, act: c.Erase) -> list[int]:
    """Every event about a preset or a document, which belong to the whole space."""
    if act.what == "frame":
        require_whole_space(actor)
        found, missing = view.events_about_preset(act.id), no_preset(act.id)
    else:
        require_whole_space(actor, "a document")
        type, _, name = act.id.partition("/")
        found, missing = view.events_about_document(type, name), no_document(type, name)
    if not found:
        raise missing
    return found


def own_sources(view: View, id: str) -> list[str]:
    """The episodes that are evidence for this record and for no other."""
    sources = sources_of(view, id)
    return [one.id for one in sources if all(row.id == id for row in view.evidence_for(one))]


def sources_of(view: View, id: str) -> list[EpisodeRow]:
    """The episodes that any version of this record rests on."""
    named = (view.episode(name) for name in view.evidence_of(id))
    return [one for one in named if one and view.has_rested(id, one)]
