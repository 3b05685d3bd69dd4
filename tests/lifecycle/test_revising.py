"""What a revision may change beside the text, and what no proposal can say of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from recollect.errors import Forbidden, InvalidInput
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide
from recollect.model import events as e
from recollect.model.values import Quote
from tests.bodies import AT
from tests.lifecycle.test_lowering import AGENT, PERSON, World, record

STAMP, CHANCE = "20260101-0000", "0" * 16


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    world.tell(record("a", "x", "y"), record("mine", "x", trust="agent"))
    yield world
    world.db.close()


def revised(world: World, act: c.Revise, actor: c.Actor = PERSON) -> e.RecordRevised | None:
    bodies = [
        body for body in decide(world.view, actor, act)[0] if not isinstance(body, e.RecordVouched)
    ]
    assert len(bodies) < 2
    assert not any(isinstance(body, e.RecordReinforced) for body in bodies)
    found = [body for body in bodies if isinstance(body, e.RecordRevised)]
    assert len(found) == len(bodies)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", "decision"), ("source_type", "inferred"), ("is_hypothesis", True)],
)
def test_a_field_is_set_without_the_text(world: World, field: str, value: object) -> None:
    body = revised(world, c.Revise(id="a", **{field: value}))  # type: ignore[arg-type]
    assert body == e.RecordRevised(id="a", trust="person", **{field: value})  # type: ignore[arg-type]


def test_what_is_as_it_was_is_no_revision(world: World) -> None:
    act = c.Revise(
        id="a",
        text="the text of a",
        kind="fact",
        source_type="told",
        is_hypothesis=False,
        evidence=("x", "y"),
        regrounds=True,
    )
    assert revised(world, act) is None
    assert revised(world, act, AGENT) is None, "also for who could not change it"


def test_the_evidence_stays_unless_the_record_is_regrounded(world: World) -> None:
    assert revised(world, c.Revise(id="a", evidence=("z",))) is None
    body = revised(world, c.Revise(id="a", evidence=("z",), regrounds=True))
    assert body is not None
    assert (body.text, body.evidence) == (e.RecordRevised(id="a", trust="person").text, ("z",))
    none = revised(world, c.Revise(id="a", regrounds=True))
    assert none is not None
    assert none.evidence == ()


def test_what_an_agent_captured_does_not_lower_a_persons_word(world: World) -> None:
    act = c.Revise(id="a", evidence=("mine",), regrounds=True)
    body = revised(world, act)
    assert body is not None
    assert body.trust == "agent"
    assert decide(world.view, PERSON, act)[0] == [body, e.RecordVouched(id="a")]


def test_a_person_who_sets_the_text_vouches_for_it_and_not_by_another_field(world: World) -> None:
    said = decide(world.view, PERSON, c.Revise(id="mine", text="my own words"))[0]
    assert [type(body) for body in said] == [e.RecordRevised, e.RecordVouched]
    (other,) = decide(world.view, PERSON, c.Revise(id="mine", kind="decision"))[0]
    assert isinstance(other, e.RecordRevised)
    assert other.trust == "agent"


def test_the_evidence_of_what_is_held_only_grows_but_for_a_person(world: World) -> None:
    held = msgspec.structs.replace(record("h", "x", trust="unverified"), status="held")
    world.tell(held)
    act = c.Revise(id="h", evidence=("mine",), regrounds=True)
    by_agent, by_person = revised(world, act, AGENT), revised(world, act)
    assert by_agent is not None
    assert by_agent.evidence == ("x", "mine")
    assert revised(world, c.Revise(id="h", regrounds=True), AGENT) is None
    assert by_person is not None
    assert by_person.evidence == ("mine",)


@pytest.mark.parametrize(
    "act",
    [
        c.Revise(id="a", kind="decision", stamp=STAMP, chance=CHANCE),
        c.Revise(id="a", source_type="observed", stamp=STAMP, chance=CHANCE),
        c.Revise(id="a", regrounds=True, stamp=STAMP, chance=CHANCE),
        c.Revise(id="a", about="tea", stamp=STAMP, chance=CHANCE),
    ],
)
def test_a_change_that_no_proposal_can_say_is_refused(world: World, act: c.Revise) -> None:
    with pytest.raises(Forbidden):
        decide(world.view, AGENT, act)
    (control,), _ = decide(
        world.view, AGENT, c.Revise(id="a", text="new", stamp=STAMP, chance=CHANCE)
    )
    assert isinstance(control, e.ProposalMade)


@pytest.mark.parametrize(
    "act",
    [
        c.Revise(id="a", text="new", kind="decision"),
        c.Revise(id="a", text="new", source_type="observed"),
        c.Revise(id="a", text="new", is_hypothesis=True),
        c.Revise(id="a", text="new", regrounds=True),
    ],
)
def test_a_branch_does_not_take_them(world: World, act: c.Revise) -> None:
    opened = c.OpenBranch(name="try", stamp=STAMP, chance=CHANCE)
    world.tell(*decide(world.view, PERSON, opened)[0])
    kept = c.OnBranch(branch="try", wanted=act, stamp=STAMP, chance="1" * 16)
    with pytest.raises(InvalidInput, match="on a branch"):
        decide(world.view, PERSON, kept)
    plain = c.Revise(id="a", text="new")
    control = c.OnBranch(branch="try", wanted=plain, stamp=STAMP, chance="1" * 16)
    assert [type(body) for body in decide(world.view, PERSON, control)[0]] == [e.ProposalMade]


@pytest.mark.parametrize("weaker", [{"confidence": 0.6}, {"is_hypothesis": True}])
def test_a_quote_opens_no_change_that_says_less(world: World, weaker: dict[str, Any]) -> None:
    world.tell(e.EpisodeObserved(id="e", text="the text of a is new", role="user", said_at=AT))
    act = c.Revise(
        id="a",
        text="the text is new",
        evidence=("e",),
        quotes=(Quote("e", "is new"),),
        stamp=STAMP,
        chance=CHANCE,
    )
    (done,) = decide(world.view, AGENT, act)[0]
    assert isinstance(done, e.RecordRevised)  # the control
    (body,) = decide(world.view, AGENT, msgspec.structs.replace(act, **weaker))[0]
    assert isinstance(body, e.ProposalMade)
