"""What events about proposals do to the index.

Responsible for proposals as they were made and settled. Leaves the change that an approval makes to
the events that follow it. Invariant: a proposal is settled once.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.index.fold.state import State
from recollect.index.proposals import (
    ProposalRow,
    concerned_event,
    concerns_of,
    pack_spans,
    proposal_touched,
)
from recollect.index.rows import pack_names, pack_object
from recollect.index.statements import NOW, STILL
from recollect.model import rules
from recollect.model.events import (
    KIND_OF,
    Origin,
    ProposalApplied,
    ProposalApproved,
    ProposalMade,
    Settled,
)


def proposal_made(state: State, seq: int, at: str, origin: Origin, body: ProposalMade) -> None:
    if _known(state, body.id) is not None or not rules.may_propose(origin, body):
        return
    row = (
        body.id,
        seq,
        at,
        origin,
        body.intent,
        body.trust,
        body.target,
        body.base,
        body.text,
        body.key,
        body.kind,
        body.about,
        pack_names(body.evidence),
        pack_spans(body.spans),
        body.rule,
        body.confidence,
        body.reason,
        pack_object(body.changes),
        body.user,
        body.session,
        body.agent,
        STILL,
        body.branch,
    )
    state.tables.write("add_proposal", row, proposal_touched(body.id))
    for subject in dict.fromkeys(_subjects(body)):
        _concern(state, subject, body.id, seq)


def proposal_settled(state: State, seq: int, at: str, origin: Origin, body: Settled) -> None:
    row = _known(state, body.id)
    if row is None or row.until != STILL:
        return
    if not rules.may_settle(origin, body, row.user, row.origin):
        return
    outcome = KIND_OF[type(body)].partition(".")[2]
    made = body.record if isinstance(body, ProposalApproved | ProposalApplied) else None
    note = None if isinstance(body, ProposalApplied) else body.reason
    state.tables.settle(proposal_touched(body.id))  # the row to end must have been sent
    ended = (seq, outcome, origin, at, note, made, body.id)
    touched = (proposal_touched(body.id), concerns_of(row.target or ""))
    state.tables.write("end_proposal", ended, *touched)
    if made is not None:
        _concern(state, made, body.id, seq)


def _known(state: State, id: str) -> ProposalRow | None:
    found = state.tables.settle(proposal_touched(id)).one("get_proposal", {"id": id, "at": NOW})
    return None if found is None else ProposalRow._make(found)


def _subjects(body: ProposalMade) -> Iterator[str]:
    """What a proposal is about, and what it rests on."""
    if body.target is not None:
        yield body.target
    yield from body.evidence
    for episode, _, _ in body.spans:
        yield concerned_event(episode)


def _concern(state: State, subject: str, proposal: str, seq: int) -> None:
    state.tables.write("add_concern", (subject, proposal, seq), concerns_of(subject))
