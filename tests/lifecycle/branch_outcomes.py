"""What acts on branches refuse: the events before them, and one row for each outcome."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.errors import (
    Ambiguous,
    Changed,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    RecollectError,
)
from recollect.index.reads import Reads
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_names import branch_known, changes_on
from recollect.lifecycle.branches.branches import digest_of_diff
from recollect.model import events as e
from recollect.model.limits import BRANCH_MAX_CHANGES, BRANCH_MAX_CHARS
from tests.lifecycle.folding import Event, index_of

PERSON, AGENT = c.Actor(trust="person"), c.Actor(trust="agent")
UNKNOWN = c.Actor(trust="unverified")
STAMP, CHANCE, TAKEN = "20260101", "bcdefa012345", "abcdef"
Row = tuple[c.Actor, c.Act, type[RecollectError] | None]


def change(id: str, branch: str, intent: e.Intent = "add", **more: Any) -> e.ProposalMade:
    plain = e.ProposalMade(id=id, intent=intent, trust="person", branch=branch)
    return msgspec.structs.replace(plain, **more)


EVENTS: list[Event] = [
    ("agent", e.BranchOpened(id="b-1", name="plans")),
    ("person", e.BranchOpened(id="b-mine", name="mine")),
    ("person", e.BranchOpened(id="b-shut", name="shut")),
    ("person", e.BranchClosed(id="b-shut", how="abandoned")),
    ("person", e.BranchOpened(id=f"b-{STAMP}-{TAKEN}", name="taken")),
    *(("person", e.BranchOpened(id=f"b-{u}", name="both", user=u)) for u in ("ann", "bob")),
    ("person", e.BranchOpened(id="b-full", name="full")),
    *(
        ("person", change(f"p-full-{number}", "b-full", text=f"full {number}"))
        for number in range(BRANCH_MAX_CHANGES)
    ),
    ("person", e.BranchOpened(id="b-long", name="long")),
    ("person", change("p-long", "b-long", text="x" * BRANCH_MAX_CHARS)),
    ("person", change("p-add", "b-1", text="added", changes={"id": "added"})),
    ("person", change("p-del", "b-1", "delete", target="b", base=2)),
    (
        "person",
        change(
            "p-sup",
            "b-1",
            "update",
            target="new",
            base=12,
            text="newer",
            key="k",
            changes={"id": "newer", "supersede": True},
        ),
    ),
    ("person", change("p-moved", "b-1", "update", target="gone", base=6, text="moved")),
    ("person", e.BranchOpened(id="b-twice", name="twice")),
    ("person", change("p-one", "b-twice", "delete", target="a", base=1)),
    ("person", change("p-two", "b-twice", "delete", target="a", base=1)),
    ("person", e.BranchOpened(id="b-heir", name="heir")),
    ("person", change("p-heir", "b-heir", "update", target="old", base=10, text="x")),
    ("person", e.BranchOpened(id="b-heirs", name="heirs")),
    ("person", change("p-heirs", "b-heirs", "update", target="old", base=10, text="y")),
    ("person", change("p-forged", "b-1", "update", target="a", base=1, changes={"trust": "x"})),
]


def on(wanted: c.Remember | c.Revise | c.Forget, branch: str = "plans") -> c.OnBranch:
    return c.OnBranch(branch=branch, wanted=wanted, stamp=STAMP, chance=CHANCE)


def remember(text: str = "tea", **more: Any) -> c.Remember:
    plain = c.Remember(text=text, id=None, stamp=STAMP, chance=CHANCE)
    return msgspec.structs.replace(plain, **more)


def opening(name: str, chance: str = CHANCE) -> c.OpenBranch:
    return c.OpenBranch(name=name, stamp=STAMP, chance=chance)


def closing(how: e.Ending, branch: str = "plans", **more: Any) -> c.CloseBranch:
    plain = c.CloseBranch(branch=branch, how=how, stamp=STAMP, chance=CHANCE)
    return msgspec.structs.replace(plain, **more)


def rows(state: list[Event]) -> dict[str, Row]:
    """The rows; a merge is of what this state shows."""
    db = index_of(state)
    view = Reads(db)
    digests = {
        name: digest_of_diff(view, branch, changes_on(view, branch))
        for name in ("plans", "twice", "b-ann", "heir")
        for branch in [branch_known(view, PERSON, name)]
    }
    db.close()

    def merging(branch: str = "plans", **more: Any) -> c.CloseBranch:
        return closing("merged", branch, digest=digests[branch], **more)

    def handing(branch: str, into: str, **more: Any) -> c.CloseBranch:
        return closing(
            "abandoned", branch, into=into, **{"digest": digests.get(branch, ""), **more}
        )

    return {
        "hand changes on to the same branch": (PERSON, handing("twice", "twice"), InvalidInput),
        "hand changes on to another user": (PERSON, handing("twice", "b-ann"), InvalidInput),
        "hand changes on to a closed branch": (PERSON, handing("twice", "shut"), Conflict),
        "hand on something else": (PERSON, handing("twice", "mine", digest="x"), Changed),
        "hand on more than fits": (PERSON, handing("twice", "full"), LimitExceeded),
        "hand on what a person wrote": (AGENT, handing("plans", "taken"), Forbidden),
        "hand on what is changed there": (PERSON, handing("heir", "heirs"), Conflict),
        "edit a deletion that is handed on": (
            PERSON,
            handing("twice", "mine", edits={"p-one": "x"}),
            InvalidInput,
        ),
        "a branch that is open already": (AGENT, opening("plans"), Conflict),
        "no free id of a branch": (PERSON, opening("other", TAKEN), Conflict),
        "open a branch unverified": (UNKNOWN, opening("other"), Forbidden),
        "a branch that is not there": (PERSON, on(remember(), "none"), NotFound),
        "a branch of two users": (PERSON, on(remember(), "both"), Ambiguous),
        "a branch that is closed": (PERSON, on(remember(), "shut"), Conflict),
        "close a person's branch": (AGENT, closing("abandoned", "mine"), Forbidden),
        "abandon a person's change": (AGENT, closing("abandoned"), Forbidden),
        "merge as an agent": (AGENT, merging(), Forbidden),
        "merge something else": (PERSON, closing("merged", digest="x"), Changed),
        "settle what is not there": (PERSON, merging(ours=("p-none",)), InvalidInput),
        "settle in two ways": (
            PERSON,
            merging(ours=("p-add",), edits={"p-add": "x"}),
            InvalidInput,
        ),
        "edit a deletion": (PERSON, merging(edits={"p-del": "x"}), InvalidInput),
        "merge with a conflict": (PERSON, merging(), Conflict),
        "merge two changes of one record": (PERSON, merging("twice"), Conflict),
        "change an heir": (PERSON, on(c.Forget(id="new"), "heir"), Conflict),
        "merge what is forged": (PERSON, merging(theirs=("p-moved",)), Conflict),
        "put into the inbox": (PERSON, on(remember(status="inbox")), InvalidInput),
        "an id of the branch": (PERSON, on(remember(id="added")), Conflict),
        "evidence of the branch": (PERSON, on(remember(evidence=("added",))), InvalidInput),
        "another key": (PERSON, on(remember(supersedes="a", key="other")), InvalidInput),
        "supersede what the branch forgot": (PERSON, on(remember(supersedes="b")), Conflict),
        "revise what the branch superseded": (PERSON, on(c.Revise(id="new", text="x")), Conflict),
        "revise without a text": (PERSON, on(c.Revise(id="a", confidence=1.0)), InvalidInput),
        "revise what is forgotten": (PERSON, on(c.Revise(id="agents", text="x")), Conflict),
        "forget an episode": (PERSON, on(c.Forget(id="e-1")), InvalidInput),
        "more changes than fit": (PERSON, on(remember(), "full"), LimitExceeded),
        "longer changes than fit": (PERSON, on(remember(), "long"), LimitExceeded),
        "forget again": (PERSON, on(c.Forget(id="b")), None),
        "remember what is there": (PERSON, on(remember("the text of a"), "mine"), None),
        "remember what the branch says": (PERSON, on(remember("added")), None),
        "revise to the same": (PERSON, on(c.Revise(id="a", text="the text of a"), "mine"), None),
        "revise a change to the same": (PERSON, on(c.Revise(id="added", text="added")), None),
        "try what is empty": (
            PERSON,
            c.TryBranch(branch="mine", stamp=STAMP, chance=CHANCE),
            None,
        ),
    }
