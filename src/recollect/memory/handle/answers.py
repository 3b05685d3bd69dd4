"""What a write hands back: read in its own transaction, as the command left it.

Responsible for turning an outcome into the values of the public API. Leaves waiting until they
are durable to ``store``. Invariant: a command that is sent again gets the same answer again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from recollect.errors import Conflict, NotFound
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.index.values import episode_of, record_of
from recollect.lifecycle.removal import sources_of
from recollect.model.events import Intent
from recollect.model.limits import COMMAND_MAX_EVENTS
from recollect.model.values import Episode, Forgotten, Record
from recollect.store.port import Outcome

Unmade = Record | Episode | VersionRow | EpisodeRow


def value_of(row: VersionRow | EpisodeRow) -> Record | Episode:
    """A row as the value it stands for."""
    return record_of(row) if isinstance(row, VersionRow) else episode_of(row)


def _subject(reads: Reads, id: str, outcome: Outcome) -> VersionRow | EpisodeRow:
    """What a command was about, as the command left it."""
    at = left_by(outcome, reads)
    row = at.version(id) or at.episode(id)
    if row is None:
        raise NotFound(f"{id!r} was erased since")
    return row


def left_by(outcome: Outcome, reads: Reads) -> Reads:
    """Reads that see the state in which a command left the memory."""
    return Reads(reads.db, at=outcome.last) if outcome.repeated else reads


def subject(reads: Reads, outcome: Outcome) -> Record | Episode:
    """The one thing, or the last, that a command was about."""
    return value_of(_subject(reads, outcome.subjects[-1], outcome))


def subjects(reads: Reads, outcome: Outcome) -> list[Record | Episode]:
    """Everything that a command was about, an answer for each act."""
    return [value_of(_subject(reads, id, outcome)) for id in outcome.subjects]


def unmade(reads: Reads, outcome: Outcome) -> list[Unmade]:
    """The same for a batch: what it added stays a row until a caller looks at it.

    Anything else is decoded at once: if its row is damaged, the index is repaired now.
    """
    rows = [_subject(reads, id, outcome) for id in outcome.subjects]
    return [row if _is_new(row, outcome) else value_of(row) for row in rows]


def _is_new(row: VersionRow | EpisodeRow, outcome: Outcome) -> bool:
    """True if a row was made from this command's event alone."""
    is_added = isinstance(row, EpisodeRow) or row.what == "added"
    return is_added and row.seq >= outcome.first and not outcome.repeated


def made(answers: Iterable[Unmade]) -> list[Record | Episode]:
    """The values of such answers."""
    return [one if isinstance(one, Record | Episode) else value_of(one) for one in answers]


def record(reads: Reads, outcome: Outcome) -> Record:
    """The record that a command was about."""
    row = None if outcome.repeated else reads.version(outcome.subjects[-1])
    if row is not None:  # almost always, and known without a query
        return record_of(row)
    found = subject(reads, outcome)
    if not isinstance(found, Record):
        raise Conflict(f"{found.id} is an episode")
    return found


def revised(text: str | None) -> Callable[[Reads, Outcome], Record]:
    """Answers with the corrected record; unchanged, with the proposal, if the correction waits."""

    def answer(reads: Reads, outcome: Outcome) -> Record:
        found = record(reads, outcome)
        if found.seq >= outcome.first and not _is_only_tagged(reads, outcome, found.id):
            return found
        new = None if text == found.text else text
        waits = _pending(reads, outcome, found.id, "update", new)
        return found if waits is None else msgspec.structs.replace(found, pending=waits)

    return answer


def _is_only_tagged(reads: Reads, outcome: Outcome, id: str) -> bool:
    """True if a command changed the tags of a record and nothing else of it."""
    rows = reads.events(
        kinds=(),
        id=id,
        user=None,
        after=outcome.first - 1,
        before=outcome.last + 1,
        limit=COMMAND_MAX_EVENTS,
    )
    return {row.kind for row in rows if row.unit == "record"} <= {"record.tagged"}


def superseding(text: str) -> Callable[[Reads, Outcome], Record]:
    """Answers with the new record; with the old one and the proposal, if that waits."""

    def answer(reads: Reads, outcome: Outcome) -> Record:
        found = record(reads, outcome)
        if found.text == text:
            return found
        waits = _pending(reads, outcome, found.id, "update", text)
        return msgspec.structs.replace(found, pending=waits)

    return answer


def settled(holds: bool) -> Callable[[Reads, Outcome], Record]:
    """Answers with the hypothesis that was decided; unchanged, with the proposal, if that waits."""

    def answer(reads: Reads, outcome: Outcome) -> Record:
        found = record(reads, outcome)
        if found.seq >= outcome.first:
            return found
        waits = _pending(reads, outcome, found.id, "update" if holds else "delete")
        return found if waits is None else msgspec.structs.replace(found, pending=waits)

    return answer


def _pending(
    reads: Reads, outcome: Outcome, id: str, intent: Intent, text: str | None = None
) -> str | None:
    """The newest proposal of this kind and text about a record, as the command left it."""
    waiting = left_by(outcome, reads).waiting_about(id)
    return next((row.id for row in waiting if (row.intent, row.text) == (intent, text)), None)


def records(reads: Reads, outcome: Outcome) -> list[Record]:
    """The records that a command was about."""
    return [found for found in subjects(reads, outcome) if isinstance(found, Record)]


def episodes(reads: Reads, outcome: Outcome) -> list[Episode]:
    """The episodes that a command was about."""
    at = left_by(outcome, reads)
    rows = [at.episode(id) for id in outcome.subjects]  # a new one is known without a query
    if all(rows):
        return [episode_of(row) for row in rows if row is not None]
    return [found for found in subjects(reads, outcome) if isinstance(found, Episode)]


def forgotten(reads: Reads, outcome: Outcome) -> Forgotten:
    """What a forgetting took along, and what still shows."""
    id = outcome.subjects[-1]
    version = left_by(outcome, reads).version(id)
    seq = outcome.last if outcome.last >= outcome.first else 0
    if version is None:
        return Forgotten(id=id, unit="episode", seq=seq)
    if version.status != "forgotten":
        pending = _pending(reads, outcome, id, "delete")
        return Forgotten(id=id, unit="record", pending=pending)
    known = sources_of(reads, id)
    return Forgotten(
        id=id,
        unit="record",
        hidden=tuple(episode.id for episode in known if episode.hidden is not None),
        showing=tuple(episode.id for episode in known if episode.hidden is None),
        seq=seq,
    )


def nothing(reads: Reads, outcome: Outcome) -> None:
    """For writes that return nothing."""
