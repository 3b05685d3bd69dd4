"""Proposals in the index: what is left if only a part of their events is erased."""

from __future__ import annotations

from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.statements import STILL
from recollect.index.tables import Tables
from recollect.model import events as e
from recollect.store.sqlite import memory_index

AT = "2026-01-01T00:00:00.000000Z"


def test_a_proposal_whose_outcome_was_erased_waits_again() -> None:
    db = memory_index("main")
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    bodies: list[e.AnyBody] = [
        e.ProposalMade(id="p", intent="add", trust="person", text="tea"),
        e.ProposalApproved(id="p", digest="0", record="r", reason="zanzibar"),
        e.EventsErased(targets=(2,)),
    ]
    for seq, body in enumerate(bodies, 1):
        fold.event(seq, AT, "person", body)
    tables.flush()
    reads = Reads(db)
    row = reads.proposal("p")
    assert row is not None
    assert (row.until, row.outcome, row.note, row.record) == (STILL, None, None, None)
    assert reads.proposal_events("r", None) == set()
    assert "zanzibar" not in "".join(db._connection.iterdump())
    db.close()
