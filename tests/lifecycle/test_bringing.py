"""A record of another memory gets the status, the trust and the reason here that it had there."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import msgspec
import pytest

from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide, foreseen, origin_of
from recollect.lifecycle.records.foreign import Bring, BringLink
from recollect.model import events as e
from recollect.model.limits import BROUGHT_REINFORCEMENTS_MAX_COUNT
from tests.bodies import AT
from tests.lifecycle.folding import Event, index_of

AGENT, UNKNOWN = c.Actor(trust="agent"), c.Actor(trust="unverified")
EPISODE: Event = ("agent", e.EpisodeObserved(id="e-1", text="said", role="user", said_at=AT))
LISTED: Event = (
    "person",
    e.DocumentSet(type="policy", name="agents", trust="person", data={"add": "review"}),
)


def record(id: str, trust: e.Trust = "agent", **more: Any) -> Event:
    plain = e.RecordAdded(id=id, text=id, kind="fact", confidence=0.7, status="active", trust=trust)
    return trust, msgspec.structs.replace(plain, **more)


def brought(act: Bring, *before: Event, actor: c.Actor = AGENT) -> VersionRow:
    """The record after it was brought, folded from the events."""
    with closing(index_of(before)) as db:
        bodies, id = decide(Reads(db), actor, act)
    with closing(index_of([*before, *((origin_of(actor, body), body) for body in bodies)])) as db:
        row = Reads(db).version(id)
        assert row is not None
        return row


def bring(status: e.Status = "active", key: str | None = None, **more: Any) -> Bring:
    wanted = c.Remember(text="tea", id="r", stamp="20260101", chance="abcdef", key=key)
    plain = Bring(wanted=wanted, trust="agent", status=status)
    return msgspec.structs.replace(plain, **more)


@pytest.mark.parametrize(
    ("status", "reason", "by"),
    [
        ("active", None, None),
        ("inbox", None, None),
        ("held", None, None),
        ("archived", "decayed", None),
        ("archived", "merged", None),
        ("archived", "rejected", None),
        ("archived", "refuted", None),
        ("archived", "superseded", "other"),
        ("forgotten", None, None),
        ("forgotten", "sources_kept", None),
        ("forgotten", "was_held", None),
        ("forgotten", None, "other"),
    ],
)
@pytest.mark.parametrize("trust", ["agent", "unverified"])
def test_a_state_comes_back(status: e.Status, reason: Any, by: str | None, trust: e.Trust) -> None:
    if trust == "unverified" and status in ("active", "inbox"):
        return  # no memory has such a record
    act = bring(status, reason=reason, superseded_by=by, trust=trust, supersedes="before")
    row = brought(act)
    assert (row.status, row.reason, row.superseded_by) == (status, reason, by)
    assert (row.trust, row.supersedes) == (trust, "before")


def test_nobody_gets_more_trust_than_the_actor() -> None:
    assert brought(bring(trust="person")).trust == "agent"
    row = brought(bring(trust="person"), actor=UNKNOWN)
    assert (row.status, row.trust) == ("held", "unverified")


def test_an_unverified_word_never_holds() -> None:
    for status in ("active", "inbox"):
        assert brought(bring(status, trust="unverified")).status == "held"


@pytest.mark.parametrize("reason", ["superseded", "decayed", None])
def test_what_ended_there_does_not_wait_here(reason: Any) -> None:
    act = bring("archived", reason=reason, superseded_by="other", reinforced=3)
    row = brought(act, actor=UNKNOWN)
    assert (row.status, row.reason, row.reinforcement_count) == ("forgotten", "was_held", 0)


def test_a_policy_asks_a_person_first() -> None:
    assert brought(bring(), LISTED).status == "held"
    assert brought(bring("forgotten"), LISTED).status == "forgotten"


def test_a_key_is_taken_only_from_what_it_superseded() -> None:
    holder = record("holder", key="k")
    assert brought(bring(key="k"), holder).status == "held"
    assert brought(bring(key="k", supersedes="holder"), holder).status == "active"
    persons = record("holder", "person", key="k")
    assert brought(bring(key="k", supersedes="holder"), persons).status == "held"
    ended = brought(bring("archived", key="k", supersedes="holder", superseded_by="x"), holder)
    assert ended.superseded_by == "x"
    with closing(index_of([holder])) as db:
        bodies, _ = decide(Reads(db), AGENT, bring(key="k", supersedes="holder"))
    assert bodies[0] == e.RecordSuperseded(id="holder", by="r")


def test_reinforcement_comes_back_up_to_a_limit() -> None:
    assert brought(bring(reinforced=3)).reinforcement_count == 3
    many = brought(bring(reinforced=10**9)).reinforcement_count
    assert many == BROUGHT_REINFORCEMENTS_MAX_COUNT


def test_a_link_keeps_its_name_and_lowers_nothing() -> None:
    before = [record("a"), record("b", "unverified", status="held")]
    act = BringLink(
        source="a", target="b", kind="derived_from", trust="person", name="n", reinforced=2
    )
    for actor, trust, count in ((AGENT, "agent", 2), (UNKNOWN, "unverified", 0)):
        with closing(index_of(before)) as db:
            bodies, _ = decide(Reads(db), actor, act)
        events: list[Event] = [(origin_of(actor, body), body) for body in bodies]
        with closing(index_of([*before, *events])) as db:
            (link,) = Reads(db).links("a")
            source = Reads(db).version("a")
        assert (link.trust, link.name, link.reinforcement_count) == (trust, "n", count)
        assert source is not None
        assert source.trust == "agent"


def test_what_it_looks_up_is_foreseen() -> None:
    names = foreseen([bring(key="k")])
    assert {"r", "k"} <= names.keys


def test_a_shadowed_episode_is_not_forgotten_too() -> None:
    rests = record("r", evidence=("e-1",))
    superseded: Event = ("agent", e.RecordSuperseded(id="r", by="x"))
    for before, count in (([EPISODE, rests, superseded], 0), ([EPISODE, rests], 1)):
        with closing(index_of(before)) as db:
            bodies, _ = decide(Reads(db), AGENT, c.Forget(id="e-1", visible=True))
        assert len(bodies) == count
