"""Applying events in order: which function handles which event.

Responsible for the table of events, for recording commands, and for leaving out instants of a
forged event that cannot be read as a time. Leaves the effect of an event to the module of its
subject. Invariants: every kind of event has a row in the table; every instant that a body brings to
the tables can be read as a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast, get_args

from msgspec import structs

from recollect.index.fold.branches import branch_closed, branch_opened
from recollect.index.fold.documents import document_changed, preset_changed, rule_passed
from recollect.index.fold.episodes import episode_forgotten, episode_observed, episode_restored
from recollect.index.fold.erasure import events_erased
from recollect.index.fold.proposals import proposal_made, proposal_settled
from recollect.index.fold.records import (
    link_added,
    link_removed,
    record_added,
    record_archived,
    record_forgotten,
    record_reinforced,
    record_restored,
    record_reviewed,
    record_revised,
    record_superseded,
    record_tagged,
    record_vouched,
)
from recollect.index.fold.sessions import context_handed, session_closed, session_opened
from recollect.index.fold.state import Clock, State
from recollect.index.tables import Tables, author_name
from recollect.model import rules
from recollect.model.events import (
    KIND_OF,
    TRUST_RANK,
    AnyBody,
    AuthorNamed,
    Body,
    BranchClosed,
    BranchOpened,
    ContextHanded,
    DocumentDropped,
    DocumentSet,
    EpisodeForgotten,
    EpisodeObserved,
    EpisodeRestored,
    Event,
    EventsErased,
    FrameDropped,
    FrameSet,
    LedgerSealed,
    LineageRetracted,
    LinkAdded,
    LinkRemoved,
    LossAccepted,
    Origin,
    ProposalApplied,
    ProposalApproved,
    ProposalMade,
    ProposalRejected,
    ProposalWithdrawn,
    RecordAdded,
    RecordArchived,
    RecordForgotten,
    RecordReinforced,
    RecordRestored,
    RecordReviewed,
    RecordRevised,
    RecordState,
    RecordSuperseded,
    RecordTagged,
    RecordVouched,
    RulePassed,
    SessionClosed,
    SessionOpened,
    SpaceOpened,
    TailCut,
)
from recollect.model.instants import is_time

B = TypeVar("B", bound=Body)
Applying = Callable[[State, int, str, Origin, AnyBody], None]
# Bodies that claim a trust for something of their own. A link may restate one that others made:
# ``link_added`` knows. A revision that claims too much has no effect: its record may be another's.
_CLAIMS: Final = frozenset((RecordAdded, FrameSet, DocumentSet, ProposalMade))
_CHANGES: Final = frozenset((RecordAdded, *get_args(rules.Change)))
_TIMED: Final = frozenset((EpisodeObserved, RecordAdded, RecordRevised, RecordReviewed))
T = TypeVar("T", RecordAdded, RecordRevised, RecordState)
_TIMES: Final = ("valid_from", "valid_to", "expires", "said_at")


def _row(
    body: type[B], applying: Callable[[State, int, str, Origin, B], None]
) -> tuple[type[Body], Applying]:
    return body, cast(Applying, applying)


def _noted(state: State, seq: int, at: str, origin: Origin, body: Body) -> None:
    """What the store itself notes about its ledger is listed, and changes nothing else."""
    if origin == "system":  # no other origin may say it
        kind = KIND_OF[type(body)]
        state.tables.write("add_note", (seq, kind, kind.partition(".")[2]))


def _retracted(state: State, seq: int, at: str, origin: Origin, body: LineageRetracted) -> None:
    """It is listed; the events beside it change what was derived."""
    state.tables.write("add_note", (seq, KIND_OF[type(body)], "retracted"))


def _author_named(state: State, seq: int, at: str, origin: Origin, body: AuthorNamed) -> None:
    """Every naming is kept, and readers take the first: nobody takes over what another one did."""
    row = (seq, body.id, body.name, body.checked, body.user)
    state.tables.write("add_author", row, author_name(body.id), author_name(body.name))


_NOTED: Final = cast(Applying, _noted)
TABLE: Final = dict(
    [
        _row(SpaceOpened, _noted),
        _row(AuthorNamed, _author_named),
        _row(EpisodeObserved, episode_observed),
        _row(EpisodeForgotten, episode_forgotten),
        _row(EpisodeRestored, episode_restored),
        _row(RecordAdded, record_added),
        _row(RecordRevised, record_revised),
        _row(RecordSuperseded, record_superseded),
        _row(RecordReinforced, record_reinforced),
        _row(RecordForgotten, record_forgotten),
        _row(RecordArchived, record_archived),
        _row(RecordRestored, record_restored),
        _row(RecordTagged, record_tagged),
        _row(RecordVouched, record_vouched),
        _row(RecordReviewed, record_reviewed),
        _row(LinkAdded, link_added),
        _row(LinkRemoved, link_removed),
        _row(FrameSet, preset_changed),
        _row(FrameDropped, preset_changed),
        _row(DocumentSet, document_changed),
        _row(DocumentDropped, document_changed),
        _row(RulePassed, rule_passed),
        _row(SessionOpened, session_opened),
        _row(SessionClosed, session_closed),
        _row(ProposalMade, proposal_made),
        _row(ProposalApproved, proposal_settled),
        _row(ProposalRejected, proposal_settled),
        _row(ProposalApplied, proposal_settled),
        _row(ProposalWithdrawn, proposal_settled),
        _row(BranchOpened, branch_opened),
        _row(BranchClosed, branch_closed),
        _row(LineageRetracted, _retracted),
        _row(ContextHanded, context_handed),
        _row(EventsErased, events_erased),
        _row(TailCut, _noted),
        _row(LedgerSealed, _noted),
        _row(LossAccepted, _noted),
    ]
)


class Fold:
    """Applies events, in order, to one space's tables."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._state = State(tables, clock)
        self.clock = clock

    def append(self, events: Sequence[Event]) -> None:
        """Applies whole appends, one or several, as read from a ledger."""
        start, id, first = 0, "", 0
        for index, event in enumerate(events):
            command_id = event.id.rpartition(".")[0]
            if event.first != first or command_id != id:
                if index > start:
                    self._command(id, events[start:index])
                start, id, first = index, command_id, event.first
        if events:
            self._command(id, events[start:])

    def _command(self, id: str, events: Sequence[Event]) -> None:
        """Applies the events of one command."""
        self.clock.advance(events[0].at)
        marks: list[str] = []
        is_erased = False
        author: str | None = None
        for event in events:
            if event.body is None:
                is_erased = True
                continue
            self.event(event.seq, event.at, event.origin, event.body)
            author = author or event.body.author
            if event.body.command:
                marks.append(event.body.command)
        origins = [event.origin for event in events]
        self.close(id, events[0].seq, origins, marks=[] if is_erased else marks, author=author)

    def close(
        self,
        command_id: str,
        first: int,
        origins: Sequence[Origin],
        *,
        marks: Sequence[str],
        author: str | None = None,
    ) -> None:
        """Records that a command happened, so that a repetition is recognised."""
        last, origin = first + len(origins) - 1, origins[0]
        if len(origins) > 1:
            origin = max(origins, key=TRUST_RANK.__getitem__)
        row = (
            last,
            first,
            command_id,
            " ".join(marks),
            self.clock.at,
            self.clock.active_us,
            origin,
            author,
        )
        self._state.tables.write("add_command", row, command_id)

    def event(self, seq: int, at: str, origin: Origin, body: AnyBody) -> None:
        """Applies one event. The clock has already advanced to its append.

        What came by a merge keeps the instant at which it was written, but for active time. A
        forged event may say any text for an instant; if it cannot be read as one, it is left out.
        """
        applying = TABLE[type(body)]
        if type(body) in _TIMED:
            body = timed(body, at)
        if origin != "person" and type(body) in _CLAIMS:
            body = rules.within(origin, cast(rules.Claim, body))
        if applying is _NOTED or rules.is_actor(origin, body):
            applying(self._state, seq, written(body, at), origin, body)
        if type(body) in _CHANGES:
            self._note_ineffective(seq, cast(rules.Change, body).id)

    def _note_ineffective(self, seq: int, record: str) -> None:
        """Keeps the number of a change that began no version, so that erasing finds its words."""
        held = self._state.tables.version(record)
        if held is not None and held.seq != seq:
            self._state.tables.write("add_ineffective", (seq, record), record)


def timed(body: AnyBody, at: str) -> AnyBody:
    """The body without unreadable instants; an episode was then said when it was written."""
    match body:
        case EpisodeObserved():
            return body if is_time(body.said_at) else structs.replace(body, said_at=at)
        case RecordAdded():
            return _without_bad_times(body)
        case RecordRevised():
            return _without_bad_times(body)
        case RecordReviewed(state=RecordState() as state):
            return structs.replace(body, state=_without_bad_times(state))
        case _:
            return body


def written(body: AnyBody, at: str) -> str:
    """When it was written: in its own ledger, if a merge brought it from there."""
    there = body.written_at
    return there if there is not None and is_time(there) else at


def _without_bad_times(body: T) -> T:
    """The same; an unset field stays unset."""
    said = ((name, getattr(body, name)) for name in _TIMES)
    bad = {name: None for name, value in said if isinstance(value, str) and not is_time(value)}
    return structs.replace(body, **bad) if bad else body
