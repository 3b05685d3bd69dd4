"""What a decision between two ledgers makes of a record, and when something was written."""

from __future__ import annotations

from contextlib import closing

import pytest

from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.model import events as e
from tests.bodies import AT
from tests.lifecycle.folding import Event, index_of

ADDED: Event = (
    "person",
    e.RecordAdded(
        id="r", text="ours", kind="fact", confidence=0.7, status="active", trust="person", key="k"
    ),
)
SAID: Event = ("person", e.EpisodeObserved(id="e-1", text="said", role="user", said_at=AT))
THEIRS = e.RecordState(
    text="theirs", kind="fact", confidence=0.9, status="active", evidence=("e-1",), data={"n": 1}
)


def settled(state: e.RecordState | None, origin: e.Origin = "person") -> VersionRow:
    """The record after the decision."""
    body = e.RecordReviewed(
        id="r", trust="agent", digest="", verdict="settled", reason="theirs", state=state
    )
    with closing(index_of([SAID, ADDED, (origin, body)])) as db:
        row = Reads(db).version("r")
        assert row is not None
        return row


def test_the_whole_state_is_what_was_chosen() -> None:
    row = settled(THEIRS)
    assert (row.text, row.confidence, row.trust, row.key) == ("theirs", 0.9, "agent", "k")
    assert (row.what, row.note, row.evidence) == ("reviewed", "settled: theirs", '["e-1"]')
    assert row.text_seq == row.seq


def test_the_same_text_stays_where_it_is() -> None:
    gone = e.RecordState(text="ours", kind="fact", confidence=0.7, status="forgotten")
    row = settled(gone)
    assert (row.status, row.text_seq) == ("forgotten", 2)


def test_without_a_reason_the_note_is_the_verdict() -> None:
    body = e.RecordReviewed(id="r", trust="agent", digest="", verdict="settled", state=THEIRS)
    with closing(index_of([ADDED, ("person", body)])) as db:
        row = Reads(db).version("r")
    assert row is not None
    assert row.note == "settled"


@pytest.mark.parametrize("origin", ["agent", "unverified"])
def test_only_a_person_decides(origin: e.Origin) -> None:
    assert settled(THEIRS, origin).text == "ours"


def test_a_decision_without_a_state_changes_nothing() -> None:
    assert settled(None).what == "added"


def test_what_came_by_a_merge_has_the_instant_at_which_it_was_written() -> None:
    then = "2020-01-01T00:00:00.000000Z"
    body = e.EpisodeObserved(id="e-2", text="x", role="user", said_at=AT, written_at=then)
    with closing(index_of([("person", body)])) as db:
        row = Reads(db).episode("e-2")
    assert row is not None
    assert row.at == then
