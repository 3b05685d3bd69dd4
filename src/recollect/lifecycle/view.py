"""What a decision sees of a memory, and checks that every act shares.

Responsible for what an actor may see and for the fields of an event that describe its actor. Leaves
what an act means to ``lifecycle.decide``. Invariant: an actor for one user sees only that user's
data; data of others is reported as not found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from recollect.errors import Forbidden, NotFound
from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow
from recollect.index.rows import (
    AuthorRow,
    CommandRow,
    DocumentRow,
    EpisodeRow,
    LinkRow,
    PassRow,
    PresetRow,
    ReceiptRow,
    SessionRow,
    VersionRow,
)
from recollect.lifecycle import commands as c
from recollect.model import events as e
from recollect.model.rules import at_least, is_visible


class View(Protocol):
    """The reads of the current state that decisions use."""

    def command(self, id: str) -> CommandRow | None: ...
    def version(self, id: str) -> VersionRow | None: ...
    def versions(self, id: str) -> list[VersionRow]: ...
    def has_version(self, id: str) -> bool: ...
    def holder(self, key: str, user: str | None) -> VersionRow | None: ...
    def under_key(self, key: str, user: str | None, limit: int) -> list[VersionRow]: ...
    def ids_beginning_with(self, prefix: str, user: str | None, limit: int) -> list[str]: ...
    def twin(self, text: str, user: str | None) -> VersionRow | None: ...
    def episode(self, id: str) -> EpisodeRow | None: ...
    def ended_by(self, id: str) -> list[e.Origin]: ...
    def forgotten_by(self, id: str) -> e.Origin | None: ...
    def evidence_of(self, record: str) -> list[str]: ...
    def has_rested(self, record: str, episode: EpisodeRow) -> bool: ...
    def evidence_for(self, episode: EpisodeRow) -> list[VersionRow]: ...
    def keyed(self, key: str, user: str | None, *, holder: bool) -> list[VersionRow]: ...
    def links(self, id: str) -> list[LinkRow]: ...
    def named_by(self, id: str) -> list[tuple[str, int, int]]: ...
    def superseded_by(self, id: str) -> list[str]: ...
    def is_vouched(self, id: str, key: str | None, user: str | None) -> bool: ...
    def derived_from(self, record: VersionRow, above: e.Trust) -> list[str]: ...
    def link(self, source: str, target: str, kind: str) -> LinkRow | None: ...
    def events_about(self, id: str) -> list[int]: ...
    def preset(self, name: str) -> PresetRow | None: ...
    def events_about_preset(self, name: str) -> list[int]: ...
    def document(self, type: str, name: str) -> DocumentRow | None: ...
    def last_pass(self, rule: str) -> PassRow | None: ...
    def events_about_document(self, type: str, name: str) -> list[int]: ...
    def sessions_named(self, id: str) -> list[SessionRow]: ...
    def namings(self, id: str) -> list[AuthorRow]: ...
    def receipt(self, id: str) -> ReceiptRow | None: ...
    def version_at(self, id: str, seq: int) -> VersionRow | None: ...
    def proposal(self, id: str) -> ProposalRow | None: ...
    def waiting_about(self, target: str) -> list[ProposalRow]: ...
    def branch(self, id: str) -> BranchRow | None: ...
    def branches_named(self, name: str) -> list[BranchRow]: ...
    def proposals_on(self, branch: str) -> list[ProposalRow]: ...


def known_record(view: View, actor: c.Actor, id: str) -> VersionRow:
    """The record, if there is one that this actor may see."""
    row = view.version(id)
    if row is None or not visible(actor, row):
        raise NotFound(f"record {id!r} was not found", hint="`recollect list` lists all of them")
    return row


def visible(
    actor: c.Actor, row: VersionRow | EpisodeRow | ReceiptRow | ProposalRow | BranchRow
) -> bool:
    """True if this actor may see the row; an actor for one user sees only that user's."""
    return is_visible(actor.user, row.user)


def require_undo(actor: c.Actor, by: Iterable[e.Origin]) -> None:
    """Refuses to take back acts of these origins if one of them has more trust."""
    for origin in by:
        if not at_least(actor.trust, origin):
            raise Forbidden(
                f"{actor.trust!r} may not undo a change made by {origin!r}",
                hint="ask a person to undo it",
            )


def require_whole_space(actor: c.Actor, what: str = "a preset") -> None:
    if actor.user is not None:
        raise Forbidden(
            f"{what} belongs to the whole space", hint="use a handle without a user to change it"
        )


def no_preset(name: str) -> NotFound:
    return NotFound(
        f"preset {name!r} was not found", hint="`recollect settings preset list` lists all of them"
    )


def stamped(actor: c.Actor, body: e.AnyBody) -> e.AnyBody:
    """The body with the actor's user, session, agent and time zone."""
    if actor == c.Actor(trust=actor.trust):
        return body
    return msgspec.structs.replace(
        body,
        user=actor.user,
        session=actor.session,
        agent=actor.agent,
        tz_minutes=actor.tz_minutes,
    )
