"""What erasing does to the index.

Responsible for removing all rows about the subjects of erased events. Leaves choosing those events
to ``lifecycle.removal`` and removing their bytes to the engines. Invariant: the remaining rows are
those of a ledger in which the subjects never existed.
"""

from __future__ import annotations

from typing import cast

from recollect.index.fold.branches import forget_branch
from recollect.index.fold.records import note_over_gap
from recollect.index.fold.sessions import forget_event, known_again
from recollect.index.fold.state import State
from recollect.index.rows import (
    RULES,
    EpisodeRow,
    VersionRow,
    recallable_episode,
    recallable_record,
    searched_text,
    version_row,
)
from recollect.index.statements import NOW
from recollect.model import rules
from recollect.model.events import EventsErased, Origin


def events_erased(state: State, seq: int, at: str, origin: Origin, body: EventsErased) -> None:
    """Removes all rows about the subjects of these events."""
    if not rules.may_erase(origin):
        return
    state.tables.flush()
    db = state.tables.db
    sources: dict[str, None] = {}  # of the removed records
    sessions: dict[tuple[str, str], None] = {}  # that lost an event
    for target in body.targets:
        if db.one("get_erased", {"seq": target}) is not None:
            continue  # named twice, or erased before: only the first order counts
        db.many("add_erased", [(target, seq)])
        db.many("blank_command", [(target, target)])
        record = db.one("record_of_event", {"seq": target})
        if record is not None:
            sources.update(dict.fromkeys(_drop_record(state, str(record[0]))))
        episode = db.one("episode_of_event", {"seq": target, "at": NOW})
        if episode is not None:
            _drop_episode(state, EpisodeRow._make(episode))
        link = db.one("link_of_event", {"seq": target})
        if link is not None:
            db.many("drop_link", [(target,)])
        preset = db.one("preset_of_event", {"seq": target})
        if preset is not None:
            db.many("drop_preset", [(preset[0],)])
        document = db.one("document_of_event", {"seq": target})
        if document is not None:
            db.many("drop_document", [document])
        passed = db.one("pass_of_event", {"seq": target})
        if passed is not None:  # a rule goes with its passes: they are one subject
            db.many("drop_passes", [passed])
            db.many("drop_document", [(RULES, *passed)])
        elif document is not None and document[0] == RULES:
            db.many("drop_passes", [document[1:]])
        proposal = db.one("proposal_of_event", {"seq": target})
        if proposal is not None:
            db.many("drop_concerns", [proposal])  # first: whose they are stands in the proposal
            db.many("drop_proposal", [proposal])
        settled = db.one("proposal_settled_by", {"seq": target})
        if settled is not None:  # only the event that settled it is erased: it waits again
            db.many("drop_concern", [(settled[0], target)])
            db.many("reopen_proposal", [settled])
        forget_branch(db, target)
        db.many("drop_receipt", [(target,)])
        for name in ("drop_note", "drop_author", "drop_ineffective"):
            db.many(name, [(target,)])
        session = forget_event(db, target)
        if session is not None:
            sessions[session] = None
    for session in sessions:
        known_again(db, *session)
    for source in sources:
        state.reshelve(state.shadows.compute(source))
    state.tables.flush()
    state.tables.drop()  # nothing that it keeps of them is true any more


def _drop_record(state: State, id: str) -> list[str]:
    """Removes a record; returns what it named as evidence."""
    db = state.tables.db
    episodes = db.rows("evidence_of_record", {"record": id})
    for row in map(version_row, db.rows("get_versions", {"id": id, "at": NOW})):
        if row.text_seq == row.seq:
            now = state.tables.version(id)
            live = now is not None and now.text_seq == row.seq and recallable_record(now)
            words = searched_text(now) if now is not None and live else row.text
            state.unshelve(row.text_seq, words, live)
    state.tables.flush()
    followers = _followers(state, id)
    state.tables.drop()
    for name in (
        "drop_versions",
        "drop_tags",
        "drop_evidence",
        "drop_replaced",
        "drop_replaced_by",
        "drop_ineffective_of",
    ):
        db.many(name, [(id,)])
    for follower in followers:
        note_over_gap(state, id, follower)
    return [str(episode) for (episode,) in episodes]


def _followers(state: State, id: str) -> list[VersionRow]:
    """The records that were added in the place of one that took another's place itself."""
    db = state.tables.db
    if db.one("has_superseded", {"id": id}) is None:
        return []
    added = ((str(name), cast(int, seq)) for name, seq in db.rows("added_over", {"id": id}))
    found = (state.tables.version(name, seq) for name, seq in added if name != id)
    return [row for row in found if row is not None]


def _drop_episode(state: State, episode: EpisodeRow) -> None:
    state.unshelve(episode.seq, episode.text, recallable_episode(episode))
    state.tables.flush()
    state.tables.drop()
    for name in ("drop_episode", "drop_hidden", "drop_resting_on"):
        state.tables.db.many(name, [(episode.id,)])
