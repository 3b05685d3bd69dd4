"""An event that no rule lets its origin do changes nothing, however it came into the ledger."""

from __future__ import annotations

import msgspec
import pytest

from recollect.index.digest import state_digest
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import Row
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.model import events as e
from recollect.store.sqlite import SqliteDb, memory_index
from tests.bodies import ONE_OF_EACH

AT = "2026-01-01T00:00:00.000000Z"
TABLES = (
    "versions",
    "tags",
    "evidence",
    "episodes",
    "hidden",
    "links",
    "presets",
    "documents",
    "passes",
    "sessions",
    "proposals",
    "branches",
    "erased",
)
Step = tuple[e.Origin, e.AnyBody]


def added(id: str, trust: e.Trust, status: e.Status = "active", **more: object) -> e.RecordAdded:
    fields: dict[str, object] = {"text": f"{id} words", "kind": "fact", "confidence": 0.7}
    return e.RecordAdded(id=id, trust=trust, status=status, **{**fields, **more})  # type: ignore[arg-type]


def said(id: str, role: e.Role, user: str | None = None) -> e.EpisodeObserved:
    return e.EpisodeObserved(id=id, text=f"{id} words", role=role, said_at=AT, user=user)


def linked(source: str, target: str, trust: e.Trust, weight: float = 1.0) -> e.LinkAdded:
    return e.LinkAdded(source=source, target=target, kind="k", trust=trust, weight=weight)


def framed(name: str, trust: e.Trust, user: str | None = None) -> e.FrameSet:
    (known,) = [body for body in ONE_OF_EACH if isinstance(body, e.FrameSet)]
    return msgspec.structs.replace(known, name=name, trust=trust, user=user)


def ruled(name: str, trust: e.Trust, user: str | None = None) -> e.DocumentSet:
    return e.DocumentSet(type="rules", name=name, trust=trust, data={"n": 1}, user=user)


def proposed(id: str, trust: e.Trust, user: str | None = None) -> e.ProposalMade:
    return e.ProposalMade(id=id, intent="delete", trust=trust, target="agent", base=6, user=user)


def reviewed(
    id: str, trust: e.Trust, verdict: e.Verdict = "approved", user: str | None = None
) -> e.RecordReviewed:
    return e.RecordReviewed(id=id, trust=trust, digest="0", verdict=verdict, user=user)


DROPPED = e.DocumentDropped(type="rules", name="mine")
RULED = e.RulePassed(rule="mine", through=3, seen=1)
MISPASSED: list[dict[str, object]] = [
    {"rule": "none"},
    {"user": "ann"},
    {"through": -1},
    {"through": 10**6},
]

HONEST: list[Step] = [
    ("person", said("e-person", "user")),
    ("agent", said("e-agent", "assistant")),
    ("unverified", said("e-web", "tool")),
    ("person", said("e-ann", "user", user="ann")),
    ("person", added("person", "person", evidence=("e-person",), tags=("t",))),
    ("agent", added("agent", "agent")),
    ("unverified", added("web", "unverified", "held")),
    ("person", added("ann", "person", user="ann")),
    ("person", added("gone", "agent")),
    ("person", e.RecordForgotten(id="gone")),
    ("person", e.EpisodeForgotten(id="e-person")),
    ("agent", said("e-gone", "assistant")),
    ("person", e.EpisodeForgotten(id="e-gone")),
    ("agent", said("e-own", "assistant")),
    ("agent", e.EpisodeForgotten(id="e-own")),
    ("person", added("hid", "agent")),
    ("person", e.RecordForgotten(id="hid")),
    ("agent", e.RecordTagged(id="hid", add=("x",))),
    ("agent", e.RecordForgotten(id="hid")),
    ("person", linked("person", "agent", "person")),
    ("agent", linked("agent", "person", "agent")),
    ("person", framed("mine", "person")),
    ("person", ruled("mine", "person")),
    ("agent", e.SessionOpened(id="open")),
    ("agent", e.SessionOpened(id="ran", user="ann")),
    ("person", e.SessionClosed(id="ran", user="ann")),
    ("agent", proposed("p-agent", "agent")),
    ("person", proposed("p-person", "person")),
    ("person", proposed("p-ann", "agent", user="ann")),
    ("agent", e.BranchOpened(id="b-agent", name="one")),
    ("person", e.BranchOpened(id="b-person", name="two")),
    ("person", e.BranchOpened(id="b-shut", name="three")),
    ("person", e.BranchClosed(id="b-shut", how="merged")),
]

# What it would take, and who it was that did it.
FORGED: list[Step] = [
    # on a record of more trust
    *(
        (origin, body)
        for origin in ("unverified", "agent")
        for body in (
            e.RecordForgotten(id="person"),
            e.RecordForgotten(id="person", sources="keep"),
            e.RecordTagged(id="person", add=("x",), remove=("t",)),
            e.RecordRevised(id="person", trust="agent", text="forged"),
            e.RecordRevised(id="person", trust="person", text="forged", evidence=("e-person",)),
        )
    ),
    ("unverified", e.RecordForgotten(id="agent")),
    ("unverified", e.RecordTagged(id="agent", add=("x",))),
    ("unverified", e.RecordSuperseded(id="person", by="web")),
    ("unverified", e.RecordSuperseded(id="web", by="web")),
    ("unverified", e.RecordReinforced(id="person", how="used")),
    ("unverified", e.RecordReinforced(id="web", how="restated")),
    ("unverified", e.RecordRevised(id="person", trust="unverified")),
    ("unverified", e.RecordRevised(id="agent", trust="unverified", evidence=("e-person",))),
    ("unverified", e.RecordRevised(id="web", trust="agent", text="trusted now")),
    ("person", e.RecordRevised(id="web", trust="person", text="trusted now")),
    ("person", e.RecordRevised(id="agent", trust="person", text="trusted now")),
    ("agent", e.RecordRestored(id="gone")),
    ("unverified", e.RecordRestored(id="gone")),
    ("agent", e.RecordRestored(id="hid")),
    # with a state that nothing begins with
    ("person", added("new", "unverified")),
    ("person", added("new", "person", "archived")),
    ("system", added("new", "person")),
    # for another user
    ("person", e.RecordForgotten(id="person", user="ann")),
    ("person", e.RecordRevised(id="ann", trust="person", text="forged", user="ben")),
    ("person", e.RecordReinforced(id="ann", how="used", user="ben")),
    ("person", e.EpisodeForgotten(id="e-ann", user="ben")),
    # on what somebody said
    ("unverified", e.EpisodeForgotten(id="e-agent")),
    ("agent", e.EpisodeForgotten(id="e-ann")),
    ("agent", e.EpisodeRestored(id="e-person")),
    ("agent", e.EpisodeRestored(id="e-gone")),
    ("unverified", e.EpisodeRestored(id="e-own")),
    ("system", e.EpisodeForgotten(id="e-agent")),
    # on links and presets
    ("agent", linked("person", "agent", "agent")),
    ("unverified", linked("person", "agent", "person")),
    ("agent", e.LinkRemoved(source="person", target="agent", kind="k")),
    ("unverified", e.LinkRemoved(source="agent", target="person", kind="k")),
    ("unverified", framed("new", "unverified")),
    ("agent", framed("mine", "agent")),
    ("person", framed("new", "person", user="ann")),
    ("agent", e.FrameDropped(name="mine")),
    ("unverified", e.FrameDropped(name="mine")),
    ("system", e.FrameDropped(name="mine")),
    # on documents
    ("unverified", ruled("new", "unverified")),
    ("agent", ruled("mine", "agent")),
    ("person", ruled("new", "person", user="ann")),
    ("agent", DROPPED),
    ("unverified", DROPPED),
    ("system", DROPPED),
    ("unverified", RULED),
    ("agent", RULED),
    ("system", RULED),
    *(("person", msgspec.structs.replace(RULED, **more)) for more in MISPASSED),
    # under a type or a name that no caller can give
    *(
        (origin, e.DocumentSet(type=type, name=name, trust="agent", data={"n": 1}))
        for origin in ("agent", "person")
        for type, name in (("A B/", "x"), ("rules", "x" * 100_000), ("rules", ""), ("a/b", "x"))
    ),
    # on sessions
    ("unverified", e.SessionOpened(id="new")),
    ("system", e.SessionOpened(id="new")),
    ("person", e.SessionOpened(id="open", task_type="other")),
    ("person", e.SessionOpened(id="ran", user="ann")),
    ("unverified", e.SessionClosed(id="open")),
    ("person", e.SessionClosed(id="open", user="ann")),
    ("person", e.SessionClosed(id="ran", user="ann")),
    ("person", e.SessionClosed(id="new")),
    *(("person", e.SessionOpened(id=id)) for id in ("", " a", "a\nb", "x" * 201)),
    # on branches
    ("unverified", e.BranchOpened(id="new", name="new")),
    ("system", e.BranchOpened(id="new", name="new")),
    ("person", e.BranchOpened(id="b-agent", name="other")),
    *(("person", e.BranchOpened(id=id, name="new")) for id in ("", " a", "a\nb", "x" * 201)),
    *(("person", e.BranchOpened(id="new", name=name)) for name in ("", " a", "a\nb", "x" * 201)),
    ("agent", e.BranchClosed(id="b-agent", how="merged")),
    ("unverified", e.BranchClosed(id="b-agent", how="abandoned")),
    ("agent", e.BranchClosed(id="b-person", how="abandoned")),
    ("person", e.BranchClosed(id="b-agent", how="abandoned", user="ann")),
    ("person", e.BranchClosed(id="b-shut", how="abandoned")),
    ("person", e.BranchClosed(id="new", how="abandoned")),
    # on what waits for a person
    *(("person", proposed(id, "agent")) for id in ("", " a", "a\nb", "x" * 201)),
    ("system", proposed("new", "agent")),
    ("person", proposed("p-agent", "agent")),
    *(
        (origin, body)
        for origin in ("unverified", "agent", "system")
        for body in (
            e.ProposalApproved(id="p-agent", digest="0"),
            e.ProposalRejected(id="p-agent", digest="0"),
            reviewed("web", "agent"),
            reviewed("agent", "person"),
            reviewed("web", "unverified", "rejected"),
        )
    ),
    ("unverified", e.ProposalApplied(id="p-agent")),
    ("agent", e.ProposalApplied(id="p-person")),
    ("unverified", e.ProposalWithdrawn(id="p-agent")),
    ("agent", e.ProposalWithdrawn(id="p-person")),
    ("person", e.ProposalWithdrawn(id="p-ann", user="ben")),
    ("person", e.ProposalRejected(id="nothing", digest="0")),
    ("person", reviewed("nothing", "person")),
    ("person", reviewed("ann", "person", user="ben")),
    ("person", reviewed("web", "unverified")),
    ("person", reviewed("gone", "person")),
    # archived
    ("unverified", e.RecordArchived(id="agent", why="decayed")),
    ("agent", e.RecordArchived(id="person", why="decayed")),
    ("system", e.RecordArchived(id="agent", why="decayed")),
    ("person", e.RecordArchived(id="ann", why="merged", user="ben")),
    ("person", e.RecordArchived(id="nothing", why="merged")),
    ("person", e.RecordArchived(id="gone", why="merged")),
    ("person", e.RecordArchived(id="web", why="merged")),
    # for good
    ("agent", e.EventsErased(targets=(5,))),
    ("unverified", e.EventsErased(targets=(5,))),
]

# With more trust than its origin has, and what it is taken for.
CLAIMED: list[tuple[Step, e.AnyBody]] = [
    (("unverified", added("new", "agent")), added("new", "unverified", "held")),
    (("unverified", added("new", "unverified")), added("new", "unverified", "held")),
    (("agent", added("new", "person")), added("new", "agent")),
    (("unverified", linked("agent", "web", "agent")), linked("agent", "web", "unverified")),
    (("agent", linked("agent", "web", "person")), linked("agent", "web", "agent")),
    (("agent", framed("new", "person")), framed("new", "agent")),
    (("agent", ruled("new", "person")), ruled("new", "agent")),
    (("unverified", proposed("new", "agent")), proposed("new", "unverified")),
    (("agent", proposed("new", "person")), proposed("new", "agent")),
]

# The same by somebody who may.
ALLOWED: list[Step] = [
    ("person", e.RecordForgotten(id="person")),
    ("person", e.RecordForgotten(id="ann", user="ann")),
    ("agent", e.RecordTagged(id="agent", add=("x",))),
    ("agent", e.RecordRevised(id="person", trust="agent", text="heard", evidence=("e-person",))),
    ("agent", e.RecordRevised(id="person", trust="agent", confidence=0.1)),
    ("agent", e.RecordSuperseded(id="person", by="agent")),
    ("agent", e.RecordReinforced(id="person", how="used")),
    ("unverified", e.RecordRevised(id="web", trust="unverified", text="other")),
    ("unverified", e.RecordForgotten(id="web")),
    ("person", e.RecordRestored(id="gone")),
    ("person", e.RecordRestored(id="hid")),
    ("unverified", added("new", "unverified", "held")),
    ("person", added("new", "agent", "inbox")),
    ("agent", e.EpisodeForgotten(id="e-agent")),
    ("person", e.EpisodeRestored(id="e-person")),
    ("person", e.EpisodeRestored(id="e-gone")),
    ("agent", e.EpisodeRestored(id="e-own")),
    ("unverified", linked("agent", "web", "unverified")),
    ("agent", linked("person", "agent", "person")),
    ("agent", linked("agent", "person", "agent", 0.5)),
    ("agent", e.LinkRemoved(source="agent", target="person", kind="k")),
    ("agent", proposed("new", "agent")),
    ("unverified", proposed("new", "unverified")),
    ("agent", e.ProposalApplied(id="p-agent")),
    ("agent", e.ProposalWithdrawn(id="p-agent")),
    ("person", e.ProposalApproved(id="p-ann", digest="0", record="ann", user="ann")),
    ("person", e.ProposalRejected(id="p-person", digest="0")),
    ("person", reviewed("web", "person")),
    ("person", reviewed("web", "unverified", "rejected")),
    ("person", reviewed("agent", "person")),
    ("person", reviewed("person", "agent", "reopened")),
    ("agent", e.RecordArchived(id="agent", why="merged")),
    ("unverified", e.RecordArchived(id="web", why="rejected")),
    ("person", e.RecordArchived(id="person", why="rejected")),
    ("agent", framed("new", "agent")),
    ("person", e.FrameDropped(name="mine")),
    ("agent", ruled("new", "agent")),
    ("person", RULED),
    ("person", DROPPED),
    ("agent", e.SessionOpened(id="new")),
    ("agent", e.SessionOpened(id="ran")),
    ("agent", e.SessionClosed(id="open")),
    ("agent", e.BranchOpened(id="new", name="new")),
    ("agent", e.BranchClosed(id="b-agent", how="abandoned")),
    ("person", e.BranchClosed(id="b-agent", how="merged")),
    ("person", e.EventsErased(targets=(5,))),
    ("system", e.EventsErased(targets=(5,))),
]


def folded(steps: list[Step]) -> SqliteDb:
    db = memory_index("main")
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for seq, (origin, body) in enumerate(steps, 1):
        fold.event(seq, AT, origin, body)
    tables.flush()
    return db


def state(steps: list[Step]) -> dict[str, list[Row]]:
    db = folded(steps)
    try:
        return {name: db.rows(f"digest_{name}", {"at": NOW}) for name in TABLES}
    finally:
        db.close()


@pytest.mark.parametrize("step", FORGED, ids=lambda step: f"{step[0]}-{type(step[1]).__name__}")
def test_what_no_rule_allows_changes_nothing(step: Step) -> None:
    assert state([*HONEST, step]) == state(HONEST)


@pytest.mark.parametrize(
    ("step", "meant"), CLAIMED, ids=lambda one: type(one[1] if type(one) is tuple else one).__name__
)
def test_a_claim_of_more_trust_is_taken_for_that_of_its_origin(
    step: Step, meant: e.AnyBody
) -> None:
    assert state([*HONEST, step]) == state([*HONEST, (step[0], meant)]) != state(HONEST)


@pytest.mark.parametrize("step", ALLOWED, ids=lambda step: f"{step[0]}-{type(step[1]).__name__}")
def test_what_a_rule_allows_changes_something(step: Step) -> None:
    assert state([*HONEST, step]) != state(HONEST)


def test_an_episode_is_trusted_no_more_than_its_speaker() -> None:
    db = folded([("person", said("e", "tool")), ("agent", said("f", "user"))])
    first, second = Reads(db).episode("e"), Reads(db).episode("f")
    assert first is not None
    assert second is not None
    assert (first.trust, second.trust) == ("unverified", "agent")
    db.close()


def test_erasing_something_else_changes_no_judgement() -> None:
    """An agent named a person's words; they are erased, and the change still stands."""
    heard: Step = (
        "agent",
        e.RecordRevised(id="person", trust="agent", text="heard", evidence=("e-person",)),
    )
    erasure: Step = ("person", e.EventsErased(targets=(1, 11)))
    live = folded([*HONEST, heard, erasure])
    rest = [
        ("system", e.SpaceOpened(space="main")) if seq in (1, 11) else step
        for seq, step in enumerate(HONEST, 1)
    ]
    rebuilt = folded([*rest, heard, erasure])
    assert state_digest(live, NOW) == state_digest(rebuilt, NOW)
    row = Reads(rebuilt).version("person")
    assert row is not None
    assert row.text == "heard"
    live.close()
    rebuilt.close()


def test_a_record_that_falls_to_unverified_is_held_and_shadows_nothing() -> None:
    lowered: Step = ("person", e.RecordRevised(id="person", trust="unverified"))
    shown = [step for step in HONEST if not isinstance(step[1], e.EpisodeForgotten)]
    db = folded([*shown, lowered])
    record, episode = Reads(db).version("person"), Reads(db).episode("e-person")
    db.close()
    assert record is not None
    assert episode is not None
    assert (record.status, record.trust, episode.hidden) == ("held", "unverified", None)


def test_a_session_is_what_its_remaining_events_say() -> None:
    """Whatever part of them is erased: the same as in a ledger that never had it."""
    steps: list[Step] = [
        ("person", msgspec.structs.replace(said("e-1", "user"), session="s")),
        ("agent", msgspec.structs.replace(added("r-1", "agent"), session="s")),
        ("agent", e.SessionOpened(id="s", task_type="review")),
        ("agent", e.SessionClosed(id="s")),
        ("person", msgspec.structs.replace(said("e-2", "user", user="ann"), session="s")),
    ]
    found = set()
    for bits in range(1 << len(steps)):
        targets = tuple(seq for seq in range(1, len(steps) + 1) if bits >> (seq - 1) & 1)
        erasure: Step = ("person", e.EventsErased(targets=targets))
        rest = [
            ("system", e.SpaceOpened(space="main")) if seq in targets else step
            for seq, step in enumerate(steps, 1)
        ]
        live, rebuilt = state([*steps, erasure]), state([*rest, erasure])
        assert live == rebuilt, targets
        found.add(tuple(live["sessions"]))
    assert len(found) == (3 * 2 + 3) * 2  # ran (known from 3 events) or not, and beside it ann's


@pytest.mark.parametrize("targets", [(1,), (2,), (3,), (2, 1), (3, 2, 1)])
def test_a_rule_and_its_passes_are_one_subject(targets: tuple[int, ...]) -> None:
    """Whichever of its events is erased, all of it goes."""
    steps: list[Step] = [
        ("person", ruled("mail", "person")),
        ("person", e.RulePassed(rule="mail", through=1)),
        ("person", e.RulePassed(rule="mail", through=2)),
        ("person", ruled("other", "person")),
        ("person", e.EventsErased(targets=targets)),
    ]
    found = state(steps)
    assert found["passes"] == []
    assert [row[1] for row in found["documents"]] == ["other"]
