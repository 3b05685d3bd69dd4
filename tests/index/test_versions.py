"""What an event makes of a version: the rules that the fold and a retraction share."""

from __future__ import annotations

from contextlib import closing

import pytest

from recollect.index.fold import versions
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.model import events as e
from recollect.model.reasons import Reason
from tests.lifecycle.folding import index_of

State = tuple[e.Status, Reason | None, e.Trust]


def row(status: e.Status, reason: Reason | None = None, trust: e.Trust = "person") -> VersionRow:
    body = e.RecordAdded(
        id="r", text="one", kind="fact", confidence=0.7, status="active", trust="person"
    )
    with closing(index_of([("person", body)])) as db:
        found = Reads(db).version("r")
    assert found is not None
    return found._replace(status=status, reason=reason, trust=trust)


def state(found: VersionRow | None) -> State | None:
    return None if found is None else (found.status, found.reason, found.trust)


ARCHIVED: list[tuple[VersionRow, e.Archival, State | None]] = [
    (row("active"), "decayed", ("archived", "decayed", "person")),
    (row("inbox"), "merged", ("archived", "merged", "person")),
    (row("active"), "rejected", ("archived", "refuted", "person")),
    (row("held"), "rejected", ("archived", "rejected", "person")),
    (row("held"), "decayed", None),
    (row("active", trust="unverified"), "merged", None),
    (row("forgotten"), "rejected", None),
    (row("archived", "superseded"), "decayed", None),
]


@pytest.mark.parametrize(("before", "why", "after"), ARCHIVED)
def test_archiving(before: VersionRow, why: e.Archival, after: State | None) -> None:
    found = versions.archived(before, why)
    assert state(found) == after
    assert found is None or versions.why_of(found) == why


def test_what_waits_does_so_again_when_it_comes_back() -> None:
    for gone in (
        versions.forgotten(row("held"), "shadow"),
        versions.forgotten(row("archived", "rejected"), "keep"),
        versions.archived(row("held"), "rejected"),
        versions.rejected(row("active")),
    ):
        assert gone is not None
        assert state(versions.restored(gone)) == ("held", None, "person")
    forgotten = versions.forgotten(row("active"), "shadow")
    assert state(versions.restored(forgotten)) == ("active", None, "person")


@pytest.mark.parametrize("sources", ["keep", "shadow"])
def test_a_forgetting_says_what_became_of_the_sources(sources: e.Sources) -> None:
    assert versions.sources_of(versions.forgotten(row("active"), sources)) == sources


def test_nobody_vouches_for_what_waits_or_is_gone() -> None:
    assert state(versions.vouched(row("inbox", trust="agent"))) == ("inbox", None, "person")
    for other in (row("held", trust="agent"), row("active", trust="unverified"), row("forgotten")):
        assert versions.vouched(other) is None


def test_a_review_is_of_what_is_there() -> None:
    assert state(versions.approved(row("held"), "agent")) == ("active", None, "agent")
    assert state(versions.approved(row("inbox"), "agent")) == ("inbox", None, "agent")
    assert state(versions.rejected(row("inbox"))) == ("archived", "rejected", "person")
    assert versions.approved(row("held"), "unverified") is None
    assert versions.approved(row("forgotten"), "person") is None
    assert versions.rejected(row("archived", "decayed")) is None


def test_an_approval_that_is_taken_back_raises_no_trust() -> None:
    gone = versions.superseded(row("active", trust="agent"), "other")
    assert (gone.status, gone.reason, gone.superseded_by) == ("archived", "superseded", "other")
    back = versions.reopened(gone, "person")
    assert (state(back), back.superseded_by) == (("held", None, "agent"), None)


def test_a_record_on_unverified_evidence_waits() -> None:
    assert state(versions.revised(row("active"), "unverified")) == ("held", None, "unverified")
    assert state(versions.revised(row("active"), "agent")) == ("active", None, "agent")
    gone = versions.revised(row("archived", "decayed"), "unverified")
    assert state(gone) == ("archived", "decayed", "unverified")


@pytest.mark.parametrize("reason", [None, "settled: or not", ""])
@pytest.mark.parametrize("verdict", ["approved", "rejected", "reopened", "settled"])
def test_a_version_tells_the_verdict_that_began_it(verdict: e.Verdict, reason: str | None) -> None:
    body = e.RecordReviewed(id="r", trust="person", digest="", verdict=verdict, reason=reason)
    assert versions.verdict_of(row("active")._replace(note=versions.note_of(body))) == verdict
