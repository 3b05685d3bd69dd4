"""What a merge makes of changes whose base has moved, and of those that no call could have made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.index.reads import Reads
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_names import branch_known, changes_on
from recollect.lifecycle.branches.branch_writes import on_branch
from recollect.lifecycle.branches.branches import close_branch, digest_of_diff, try_branch
from recollect.model import events as e
from tests.lifecycle.branch_outcomes import CHANCE, PERSON, STAMP, change
from tests.lifecycle.folding import Event, index_of


def record(id: str, **more: str) -> e.RecordAdded:
    plain = {"text": f"the text of {id}", "kind": "fact", "trust": "person", "status": "active"}
    return e.RecordAdded(id=id, confidence=0.7, **{**plain, **more})  # type: ignore[arg-type]


BEFORE: list[Event] = [
    ("person", record("live")),
    ("person", record("keyed", key="k")),
    ("person", record("gone")),
    ("person", e.BranchOpened(id="b", name="line")),
]
SUPERSEDES = {"supersede": True}
CHANGES: dict[str, tuple[e.ProposalMade, list[e.AnyBody], list[type[e.AnyBody]]]] = {
    "what supersedes a record that was revised": (
        change("p", "b", "update", target="live", base=1, text="x", changes=SUPERSEDES),
        [e.RecordRevised(id="live", trust="person", text="y", evidence=())],
        [e.ProposalApproved, e.RecordSuperseded, e.RecordAdded],
    ),
    "what supersedes a record that is gone": (
        change("p", "b", "update", target="gone", base=3, text="x", changes=SUPERSEDES),
        [e.RecordForgotten(id="gone")],
        [e.ProposalApproved, e.RecordAdded],
    ),
    "a revision of what is gone": (
        change("p", "b", "update", target="gone", base=3, text="x"),
        [e.RecordForgotten(id="gone")],
        [e.ProposalApproved, e.RecordAdded],
    ),
    "a revision of what has lost its key": (
        change("p", "b", "update", target="keyed", base=2, text="x"),
        [e.RecordSuperseded(id="keyed", by="new"), record("new", key="k")],
        [e.ProposalApproved, e.RecordSuperseded, e.RecordAdded],
    ),
    "a revision without a base": (
        change("p", "b", "update", target="gone", text="x"),
        [e.RecordForgotten(id="gone")],
        [e.ProposalApproved],
    ),
    "a deletion of what is gone": (
        change("p", "b", "delete", target="gone", base=3),
        [e.RecordForgotten(id="gone")],
        [e.ProposalApproved],
    ),
    "a deletion of what was revised": (
        change("p", "b", "delete", target="live", base=1),
        [e.RecordRevised(id="live", trust="person", text="y", evidence=())],
        [e.ProposalApproved, e.RecordForgotten],
    ),
    "what no call could have made": (
        change("p", "b", "update", target="live", base=1, changes={"trust": "person"}),
        [],
        [],
    ),
    "an addition with a field that no record has": (
        change("p", "b", text="x", changes={"id": "n", "wrong": 1}),
        [],
        [],
    ),
    "an addition with an id that no record can have": (
        change("p", "b", text="x", changes={"id": "a b"}),
        [],
        [],
    ),
    "a change of another user": (
        change("p", "b", text="x", user="ann"),
        [],
        [e.ProposalApproved, e.RecordAdded],
    ),
}


@pytest.fixture(name="view")
def of_the_state(request: pytest.FixtureRequest) -> Iterator[Reads]:
    made, since, _ = CHANGES[request.param]
    db = index_of([*BEFORE, ("person", made), *(("person", body) for body in since)])
    yield Reads(db)
    db.close()


@pytest.mark.parametrize(("view", "name"), [(name, name) for name in CHANGES], indirect=["view"])
def test_the_branchs_side_of_a_conflict(view: Reads, name: str) -> None:
    act = c.TryBranch(branch="line", stamp=STAMP, chance=CHANCE)
    bodies = try_branch(view, PERSON, act)
    assert [type(body) for body in bodies] == CHANGES[name][2]


def test_only_the_first_of_two_changes_of_one_record_is_tried() -> None:
    twice: list[Event] = [
        ("person", change(id, "b", "delete", target="live", base=1)) for id in ("p-1", "p-2")
    ]
    db = index_of([*BEFORE, *twice])
    bodies = try_branch(Reads(db), PERSON, c.TryBranch(branch="b", stamp=STAMP, chance=CHANCE))
    assert [type(body) for body in bodies] == [e.ProposalApproved, e.RecordForgotten]
    db.close()


def test_a_key_that_nothing_holds_has_no_base() -> None:
    db = index_of(BEFORE)
    wanted = c.Remember(text="x", id=None, key="free", stamp=STAMP, chance=CHANCE)
    act = c.OnBranch(branch="line", wanted=wanted, stamp=STAMP, chance=CHANCE)
    (made,), _ = on_branch(Reads(db), PERSON, act)
    assert isinstance(made, e.ProposalMade)
    assert (made.intent, made.key, made.target, made.base) == ("add", "free", None, None)
    db.close()


def test_a_branch_is_open_again_if_only_its_closing_is_erased() -> None:
    closed: list[Event] = [("person", e.BranchClosed(id="b", how="abandoned", reason="no use"))]
    db = index_of([*BEFORE, *closed, ("person", e.EventsErased(targets=(len(BEFORE) + 1,)))])
    branch = Reads(db).branch("b")
    assert branch is not None
    assert (branch.until, branch.how, branch.note) == (STILL, None, None)
    db.close()


HANDED: list[Event] = [
    *BEFORE,
    ("person", e.BranchOpened(id="into", name="into")),
    ("person", change("p-new", "b", text="new", changes={"id": "new"}, evidence=("live",))),
    ("person", change("p-live", "b", "update", target="live", base=1, text="from b")),
    ("person", change("p-key", "b", "delete", target="keyed", base=2)),
    ("person", change("q-new", "into", text="new there", changes={"id": "new"})),
    ("person", change("q-live", "into", "update", target="live", base=1, text="there")),
    ("person", e.RecordRevised(id="keyed", trust="person", text="moved", evidence=())),
]


def test_changes_are_handed_on_as_they_were_made() -> None:
    """Each keeps its base, so that a conflict is still one there; what they meet is settled."""
    db = index_of(HANDED)
    view = Reads(db)
    branch = branch_known(view, PERSON, "line")
    act = c.CloseBranch(
        branch="line", how="abandoned", into="into", stamp=STAMP, chance=CHANCE, reason="merged",
        digest=digest_of_diff(view, branch, changes_on(view, branch)),
        theirs=("p-new",), ours=("p-live",),
    )  # fmt: skip
    bodies = close_branch(view, PERSON, act)
    db.close()
    taken_back = [one.id for one in bodies if isinstance(one, e.ProposalWithdrawn)]
    assert taken_back == ["p-new", "p-live", "p-key", "q-new"]
    made = [one for one in bodies if isinstance(one, e.ProposalMade)]
    assert [(one.text, one.intent, one.target, one.base, one.branch) for one in made] == [
        ("new", "add", None, None, "into"),
        (None, "delete", "keyed", 2, "into"),
    ]
    assert made[0].evidence == ("live",)
    assert len({one.id for one in made}) == 2
    closed = bodies[-1]
    assert isinstance(closed, e.BranchClosed)
    assert (closed.id, closed.how, closed.reason) == ("b", "abandoned", "merged")


def test_an_edit_is_handed_on_with_the_trust_of_who_wrote_the_change() -> None:
    events: list[Event] = [
        *BEFORE,
        ("person", e.BranchOpened(id="into", name="into")),
        ("agent", change("p", "b", text="x", changes={"id": "n"}, trust="agent")),
    ]
    db = index_of(events)
    view = Reads(db)
    branch = branch_known(view, PERSON, "line")
    digest = digest_of_diff(view, branch, changes_on(view, branch))
    act = c.CloseBranch(
        branch="line", how="abandoned", into="into", stamp=STAMP, chance=CHANCE, digest=digest,
        edits={"p": "edited"},
    )  # fmt: skip
    (made,) = (one for one in close_branch(view, PERSON, act) if isinstance(one, e.ProposalMade))
    db.close()
    assert (made.text, made.trust, made.changes) == ("edited", "agent", {"id": "n"})
