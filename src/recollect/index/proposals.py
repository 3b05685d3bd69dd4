"""Proposals in the index: their rows, and the questions about them.

Responsible for the columns of ``proposals`` and for finding those that wait or concern something.
Leaves what a proposal does to ``lifecycle.proposals``. Invariant: every read is bound to a
position; a proposal that was settled after it still waits there.
"""

# No postponed annotations here: a NamedTuple would compile each string when it is loaded.
from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import msgspec

from recollect.index.rows import Cell, VersionRow, decoded, unpack_object
from recollect.index.statements import NOW, STILL
from recollect.index.tables import Tables
from recollect.model.events import Intent, Origin, Trust

_SPANS: Final = msgspec.json.Decoder(tuple[tuple[int, int, int], ...])


class ProposalRow(NamedTuple):
    """One proposal; what follows ``until`` is said by the event that settled it."""

    id: str
    seq: int
    at: str
    origin: Origin
    intent: Intent
    trust: Trust
    target: str | None
    base: int | None
    text: str | None
    key: str | None
    kind: str | None
    about: str | None
    evidence: str
    spans: str
    rule: str | None
    confidence: float | None
    reason: str | None
    changes: str
    user: str | None
    session: str | None
    agent: str | None
    until: int
    outcome: str | None
    settled_by: Origin | None
    settled_at: str | None
    note: str | None
    record: str | None
    branch: str | None  # said by the event that made it


_UNTIL: Final = ProposalRow._fields.index("until")


class ProposalReads:
    """Reads of proposals at one position."""

    def __init__(self, tables: Tables, at: int) -> None:
        self._tables = tables
        self.at = at

    def version_at(self, id: str, seq: int) -> VersionRow | None:
        """A record as it was at an event."""
        return self._tables.version(id, seq)

    def proposal(self, id: str) -> ProposalRow | None:
        """A proposal; one that was settled after this position waits here."""
        db = self._tables.settle(proposal_touched(id))
        row = db.one("get_proposal", {"id": id, "at": self.at})
        found = None if row is None else ProposalRow._make(row)
        if found is None or found.until <= self.at:
            return found
        return waiting(found)

    def waiting(self, user: str | None, after: int, limit: int) -> list[tuple[str, str, int]]:
        """What waits for a person, the longest first: unit, id and seq."""
        self._tables.flush()
        params: dict[str, Cell] = {"at": self.at, "user": user, "after": after, "limit": limit}
        rows = self._tables.db.rows("list_waiting", params)
        return [(str(unit), str(id), cast(int, seq)) for unit, id, seq in rows]

    def waiting_about(self, target: str) -> list[ProposalRow]:
        """The proposals about a record that wait, the newest first."""
        db = self._tables.settle(concerns_of(target))
        rows = db.rows("proposals_about", {"target": target, "at": self.at})
        return [waiting(ProposalRow._make(row)) for row in rows]

    def proposals_made(self, first: int, last: int) -> list[str]:
        """The proposals of a range of events, in order."""
        rows = self._tables.db.rows("proposals_made", {"first": first, "last": last})
        return [str(id) for (id,) in rows]

    def proposal_events(self, id: str, episode: int | None) -> set[int]:
        """The seqs of the events about every proposal that concerns a record or an episode.

        ``episode`` is the event of the episode, if it is one. On a branch that includes what was
        written earlier for the record that such a proposal adds.
        """
        found: set[int] = set()
        for subject in [id] if episode is None else [id, concerned_event(episode)]:
            db = self._tables.settle(concerns_of(subject))
            for seq, until, branch, changes in db.rows("proposal_events_of", {"subject": subject}):
                found.update((cast(int, seq), cast(int, until)))
                made = None if branch is None else adds(str(changes))
                if made is not None:
                    found |= self._events_on(str(branch), made)
        return found - {STILL}

    def _events_on(self, branch: str, made: str) -> set[int]:
        """The events about every proposal on a branch that adds the record with this id."""
        self._tables.flush()
        found = self._tables.db.rows("proposals_on", {"branch": branch, "at": NOW})
        rows = [row for row in map(ProposalRow._make, found) if adds(row.changes) == made]
        return {seq for row in rows for seq in (row.seq, row.until)}


def waiting(row: ProposalRow) -> ProposalRow:
    """A row without what a later event says of it."""
    return ProposalRow._make((*row[:_UNTIL], STILL, None, None, None, None, None, row.branch))


def adds(changes: str) -> str | None:
    """The id of the record that a change on a branch adds; None if it adds none."""
    id = unpack_object(changes).get("id")
    return id if isinstance(id, str) else None


def pack_spans(spans: Sequence[Sequence[int]]) -> str:
    """Spans of quoted words in one column."""
    return msgspec.json.encode(spans).decode() if spans else "[]"


def unpack_spans(column: str) -> tuple[tuple[int, int, int], ...]:
    """The inverse of ``pack_spans``."""
    return decoded(_SPANS, column)


def proposal_touched(id: str) -> str:
    """The key of a proposal among the names that writes touch; ids never contain a blank."""
    return f"proposal {id}"


def concerns_of(subject: str) -> str:
    """The same for the proposals that concern something."""
    return f"concerns {subject}"


def concerned_event(seq: int) -> str:
    """How a proposal that quotes an episode names it."""
    return f"event {seq}"
