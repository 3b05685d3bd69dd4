"""The table of acts: every act has a row, and its row makes the events of that act."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from recollect.errors import InvalidInput
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.tables import Tables
from recollect.lifecycle import commands as c
from recollect.lifecycle import ledger_merge
from recollect.lifecycle.decide import TABLE, decide
from recollect.lifecycle.proposals.proposals import digest_of
from recollect.lifecycle.records import foreign
from recollect.model import events as e
from recollect.model.presets import BUILT_IN, Preset
from recollect.store.sqlite import memory_index
from tests.bodies import AT, ONE_OF_EACH

PERSON = c.Actor(trust="person")
STAMP, CHANCE = "20260101", "abcdef0123456789"
(RECEIPT,) = [body for body in ONE_OF_EACH if isinstance(body, e.ContextHanded)]
DERIVE = c.Derive(
    rule="mail",
    trust="person",
    episode="e-1",
    user=None,
    intent="add",
    text="tea",
    said_at=AT,
    stamp="1",
    chance="abcdef012345",
)
OPEN = c.OpenSession(id=None, stamp="1", chance="abcdef012345", task_type="review")
PRESET = Preset(name="new", weights=next(iter(BUILT_IN.values())).weights, tokens=100)
PROPOSED = e.ProposalMade(id="p", intent="delete", trust="person", target="a", base=1)


def digest_after(place: int) -> str:
    """The digest of the proposal, if it is this event of the state below."""
    db = memory_index("main")
    tables = Tables(db)
    Fold(tables, Clock(e.GENESIS.at, 0)).event(place, AT, "person", PROPOSED)
    tables.flush()
    row = Reads(db).proposal("p")
    db.close()
    assert row is not None
    return digest_of(row)


LAST = 100  # its event, after all others
DIGEST = digest_after(LAST)

# Each act, the events that it makes of the state below, and the id of its subject.
EACH: list[tuple[c.Act, list[type[e.Body]], str]] = [
    (
        c.Remember(text="tea", id=None, stamp=STAMP, chance=CHANCE),
        [e.RecordAdded],
        "20260101-abcdef",
    ),
    (
        c.Observe(text="tea", role="user", id=None, said_at=AT, stamp=STAMP, chance=CHANCE),
        [e.EpisodeObserved],
        "e-20260101-abcdef",
    ),
    (c.Revise(id="a", text="tea"), [e.RecordRevised], "a"),
    (c.Forget(id="a"), [e.RecordForgotten], "a"),
    (c.Restore(id="gone"), [e.RecordRestored], "gone"),
    (c.Revert(id="gone"), [e.RecordRestored], "gone"),
    (c.Archive(id="a", why="decayed"), [e.RecordArchived], "a"),
    (c.Settle(id="guess", holds=True), [e.RecordRevised], "guess"),
    (c.Settle(id="guess", holds=False), [e.RecordArchived], "guess"),
    (
        c.Retract(id="a"),
        [e.LineageRetracted, e.RecordForgotten],
        "a",
    ),
    (c.Erase(id="a"), [e.EventsErased], "a"),
    (c.EraseAll(ids=("a", "z"), receipts=("z",), branches=("b", "z")), [e.EventsErased], ""),
    (c.Reinforce(id="a"), [e.RecordReinforced], "a"),
    (c.Tag(id="a", add=("x",)), [e.RecordTagged], "a"),
    (c.Link(source="a", target="b", kind="other"), [e.LinkAdded], "a"),
    (c.ReinforceLink(source="a", target="b", kind="k"), [e.LinkAdded], "a"),
    (c.Unlink(source="a", target="b", kind="k"), [e.LinkRemoved], "a"),
    (c.SetPreset(preset=PRESET), [e.FrameSet], "new"),
    (c.DropPreset(name="mine"), [e.FrameDropped], "mine"),
    (c.SetDocument(type="rules", name="a", data={"x": 1}), [e.DocumentSet], "rules/a"),
    (c.DropDocument(type="rules", name="mail"), [e.DocumentDropped], "rules/mail"),
    (c.Pass(rule="mail"), [e.RulePassed], "rules/mail"),
    (DERIVE, [e.RecordAdded], "1-abcdef"),
    (OPEN, [e.SessionOpened], "s-1-abcdef"),
    (c.CloseSession(id="chat"), [e.SessionClosed], "chat"),
    (
        c.Propose(intent="add", text="tea", stamp=STAMP, chance=CHANCE),
        [e.ProposalMade],
        "p-20260101-abcdef",
    ),
    (c.Withdraw(id="p"), [e.ProposalWithdrawn], "p"),
    (
        c.Review(id="p", verdict="rejected", digest=DIGEST, stamp=STAMP, chance=CHANCE),
        [e.ProposalRejected],
        "p",
    ),
    (
        c.OpenBranch(name="plans", stamp=STAMP, chance=CHANCE),
        [e.BranchOpened],
        "b-20260101-abcdef",
    ),
    (
        c.OnBranch(branch="b", wanted=c.Forget(id="a"), stamp=STAMP, chance=CHANCE),
        [e.ProposalMade],
        "p-20260101-abcdef",
    ),
    (
        c.CloseBranch(branch="b", how="abandoned", stamp=STAMP, chance=CHANCE),
        [e.BranchClosed],
        "b",
    ),
    (c.TryBranch(branch="b", stamp=STAMP, chance=CHANCE), [], "b"),
    (c.Hand(receipt=RECEIPT), [e.ContextHanded], RECEIPT.id),
    (
        foreign.Bring(
            wanted=c.Remember(text="tea", id="brought", stamp=STAMP, chance=CHANCE), trust="agent"
        ),
        [e.RecordAdded],
        "brought",
    ),
    (
        foreign.BringLink(source="b", target="a", kind="k", trust="agent", reinforced=1),
        [e.LinkAdded, e.LinkAdded],
        "b",
    ),
    (
        ledger_merge.Take(id="there", bodies=(e.RecordTagged(id="a", add=("x",)),), fork=0),
        [e.RecordTagged],
        "",
    ),
    (ledger_merge.TakeErasure(targets=(1,)), [e.EventsErased], ""),
]


def without_a_row(table: Iterable[type]) -> set[type]:
    """The acts that a table leaves out."""
    known = [*vars(c).values(), *vars(foreign).values(), *vars(ledger_merge).values()]
    acts = {each for each in known if isinstance(each, type) and issubclass(each, c.Act)}
    return acts - {c.Act, *table}


@pytest.fixture
def view() -> Iterator[Reads]:
    """Linked records, a forgotten one, a hypothesis, a preset, a document and a session."""
    (preset,) = [body for body in ONE_OF_EACH if isinstance(body, e.FrameSet)]
    bodies: list[e.AnyBody] = [
        *(
            e.RecordAdded(
                id=id, text=id, kind="fact", confidence=0.7, status="active", trust="person"
            )
            for id in ("a", "b", "gone")
        ),
        e.RecordForgotten(id="gone"),
        e.LinkAdded(source="a", target="b", kind="k", trust="person", weight=1.0),
        preset,
        e.DocumentSet(type="rules", name="mail", trust="person", data={}),
        e.RulePassed(rule="mail", through=1),
        e.SessionOpened(id="chat"),
        e.BranchOpened(id="b", name="line"),
        e.EpisodeObserved(id="e-1", text="I like tea", role="user", said_at=AT),
        e.RecordAdded(
            id="guess",
            text="guess",
            kind="fact",
            confidence=0.5,
            status="active",
            trust="person",
            is_hypothesis=True,
        ),
    ]
    db = memory_index("main")
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for seq, body in enumerate(bodies, 1):
        fold.event(seq, AT, "person", body)
    fold.event(LAST, AT, "person", PROPOSED)
    tables.flush()
    yield Reads(db)
    db.close()


def test_every_act_has_its_row() -> None:
    assert without_a_row(TABLE) == set()


def test_and_every_act_is_tried_here() -> None:
    assert without_a_row(type(act) for act, _, _ in EACH) == set()


@pytest.mark.parametrize("missing", TABLE)
def test_an_act_without_a_row_is_found(missing: type) -> None:
    """The control: the check above sees each row that is taken out."""
    assert without_a_row(set(TABLE) - {missing}) == {missing}


@pytest.mark.parametrize(("act", "events", "subject"), EACH, ids=lambda each: type(each).__name__)
def test_an_act_makes_its_events(
    view: Reads, act: c.Act, events: list[type[e.Body]], subject: str
) -> None:
    bodies, id = decide(view, PERSON, act)
    assert [type(body) for body in bodies] == events
    assert id == subject


def test_an_act_that_is_not_known_is_refused(view: Reads) -> None:
    class Later(c.Act, frozen=True, kw_only=True):
        """An act of a later release."""

    with pytest.raises(InvalidInput, match="Later"):
        decide(view, PERSON, Later())
