"""What falls in trust with a record, and when nothing is looked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.tables import Tables
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide
from recollect.lifecycle.trust.dependents import lowered
from recollect.model import events as e
from recollect.store.sqlite import memory_index
from tests.bodies import AT

PERSON, AGENT = c.Actor(trust="person"), c.Actor(trust="agent")


class World:
    """An index that is written event by event."""

    def __init__(self) -> None:
        self.db = memory_index("main")
        self._tables = Tables(self.db)
        self._fold = Fold(self._tables, Clock(e.GENESIS.at, 0))
        self.view = Reads(self.db, tables=self._tables)
        self.seq = 0

    def tell(self, *bodies: e.AnyBody) -> None:
        for body in bodies:
            self.seq += 1
            self._fold.event(self.seq, AT, "person", body)

    def review(self, id: str, status: e.Status) -> None:
        """A review, as the fold will write it down."""
        self.seq += 1
        old = self.view.version(id)
        assert old is not None
        self._tables.write("end_version", (self.seq, old.seq), old.id)
        self._tables.flush()
        self._tables.begin(old._replace(seq=self.seq, what="reviewed", status=status))

    def fall(self, id: str, trust: e.Trust = "agent") -> list[str]:
        """The ids of what falls with a record."""
        row = self.view.version(id)
        assert row is not None
        bodies = lowered(self.view, PERSON, row, trust)
        assert all(isinstance(body, e.RecordRevised) and body.trust == trust for body in bodies)
        return [body.id for body in bodies if isinstance(body, e.RecordRevised)]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.db.close()


def record(id: str, *evidence: str, **more: object) -> e.RecordAdded:
    plain = e.RecordAdded(
        id=id,
        text=f"the text of {id}",
        kind="fact",
        confidence=0.7,
        status="active",
        trust="person",
        evidence=evidence,
    )
    return msgspec.structs.replace(plain, **more)


def derived(source: str, target: str, trust: e.Trust = "person") -> e.LinkAdded:
    return e.LinkAdded(source=source, target=target, kind="derived_from", trust=trust, weight=1.0)


def test_what_falls_is_found_at_any_distance_and_once(world: World) -> None:
    world.tell(record("a"), record("b", "a"), record("c", "b", "a"), record("d"), record("x"))
    world.tell(derived("d", "c"), derived("a", "d"), derived("x", "a", trust="unverified"))
    assert world.fall("a") == ["b", "c", "d"]
    assert world.fall("c") == ["d", "a", "b"]
    assert world.fall("x") == []


def test_what_has_no_more_trust_does_not_fall(world: World) -> None:
    world.tell(record("a"), record("b", "a", trust="agent"), record("c", "b", trust="agent"))
    assert world.fall("a", "agent") == []
    assert world.fall("a", "unverified") == ["b", "c"]


def test_nothing_falls_if_the_record_does_not(world: World) -> None:
    world.tell(record("a"), record("b", "a"))
    assert world.fall("a", "person") == []


def test_a_review_vouches_for_what_was_derived_before_it(world: World) -> None:
    world.tell(record("a"), record("b", "a"), record("c", "b"), record("d"), derived("d", "a"))
    assert world.fall("a") == ["b", "d", "c"]
    world.review("b", "active")
    assert world.fall("a") == ["d"]  # and the search stops there
    world.review("d", "inbox")
    assert world.fall("a") == []


def test_a_review_does_not_vouch_for_what_came_after_it(world: World) -> None:
    world.tell(record("a"), record("b", "a"), record("d"), derived("d", "a"))
    world.review("b", "active")
    world.review("d", "active")
    world.tell(e.RecordRevised(id="b", trust="person", text="other words", evidence=("a",)))
    world.tell(derived("d", "a"))
    assert world.fall("a") == ["b", "d"]


def test_a_review_that_was_taken_back_vouches_for_nothing(world: World) -> None:
    world.tell(record("a"), record("b", "a"))
    world.review("b", "active")
    world.review("b", "held")
    assert world.fall("a") == ["b"]


class Unasked(Reads):
    """A view on which nothing may look for what was derived."""

    def derived_from(self, *_: Any) -> list[str]:
        raise AssertionError("a query that nothing needs")


@pytest.mark.parametrize(
    "act",
    [
        c.Remember(text="new", id=None, stamp="s", chance="abcdef01", evidence=("a", "w")),
        c.Remember(text="the text of a", id=None, stamp="s", chance="abcdef01", evidence=("b",)),
        c.Revise(id="a", text="new", evidence=("b",)),
        c.Link(source="b", target="a", kind="derived_from"),
        c.Link(source="a", target="w", kind="relates_to"),
        c.Forget(id="a"),
    ],
)
def test_an_act_that_lowers_nothing_looks_for_nothing(world: World, act: c.Act) -> None:
    weak = record("w", status="held", trust="unverified")
    world.tell(record("a"), record("b", "a"), weak)
    assert decide(Unasked(world.db, tables=world.view._tables), PERSON, act)[0]


def test_control_one_that_lowers_looks(world: World) -> None:
    world.tell(record("a"), record("w", trust="agent"))
    act = c.Link(source="a", target="w", kind="derived_from")
    with pytest.raises(AssertionError, match="a query"):
        decide(Unasked(world.db, tables=world.view._tables), PERSON, act)
    assert len(decide(world.view, PERSON, act)[0]) == 2
    assert len(decide(world.view, AGENT, act)[0]) == 1  # a claim that is not trusted
