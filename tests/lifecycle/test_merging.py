"""What a command of another ledger becomes here."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from recollect.errors import Changed, Forbidden
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.tables import Tables
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide
from recollect.lifecycle.ledger_merge import Take, TakeErasure
from recollect.model import events as e
from tests.bodies import AT
from tests.lifecycle.folding import Event, index_of

PERSON, AGENT = c.Actor(trust="person"), c.Actor(trust="agent")
SAID: Event = ("person", e.EpisodeObserved(id="e-1", text="said", role="user", said_at=AT))
HEARD: Event = ("unverified", e.EpisodeObserved(id="e-2", text="web", role="tool", said_at=AT))


def record(id: str, trust: e.Trust = "person", **more: Any) -> e.RecordAdded:
    fields: dict[str, Any] = {"kind": "fact", "confidence": 0.7, "status": "active", **more}
    return e.RecordAdded(id=id, text=fields.pop("text", id), trust=trust, **fields)


def taken(
    *bodies: e.AnyBody, before: tuple[Event, ...] = (), mine: bool = True, **more: Any
) -> list[e.AnyBody]:
    """The bodies as they are written here."""
    act = Take(id="c", bodies=bodies, fork=more.pop("fork", 0), is_mine=mine, **more)
    with closing(index_of(before)) as db:
        return decide(Reads(db), PERSON if mine else AGENT, act)[0]


def erased(act: TakeErasure, *before: Event) -> tuple[int, ...]:
    with closing(index_of(before)) as db:
        (body,) = decide(Reads(db), PERSON, act)[0]
    assert isinstance(body, e.EventsErased)
    return body.targets


def test_a_command_of_mine_comes_as_it_was() -> None:
    bodies = (record("r"), e.RecordVouched(id="r"), e.RecordTagged(id="r", add=("x",)))
    assert taken(*bodies) == list(bodies)


def test_a_command_that_is_here_already_writes_nothing() -> None:
    with closing(index_of([SAID])) as db:
        tables = Tables(db)
        Fold(tables, Clock(AT, 0)).close("c", 1, ["person"], marks=())
        tables.flush()
        act = Take(id="c", bodies=(record("r"),), fork=0, is_mine=True)
        assert decide(Reads(db), PERSON, act)[0] == []


def test_an_id_that_is_used_here_gets_a_version() -> None:
    known: Event = ("agent", record("r", "agent", text="ours"))
    (body,) = taken(record("r", text="theirs", evidence=("e-1",)), before=(known,))
    assert isinstance(body, e.RecordRevised)
    assert (body.text, body.trust, body.evidence) == ("theirs", "agent", ("e-1",))


def test_what_has_no_effect_comes_without_its_reason() -> None:
    gone: tuple[Event, ...] = (
        ("person", record("r")),
        ("person", e.RecordForgotten(id="r")),
        ("person", e.ProposalMade(id="p", intent="delete", trust="person", target="r")),
        ("person", e.ProposalWithdrawn(id="p")),
        ("person", e.ProposalMade(id="q", intent="delete", trust="person", target="r")),
    )
    archived = e.RecordArchived(id="r", why="decayed", reason="words")
    rejected = e.ProposalRejected(id="p", digest="", reason="words")
    applied = e.ProposalApplied(id="p")
    waiting = e.ProposalWithdrawn(id="q", reason="words")
    found = taken(archived, rejected, applied, waiting, before=gone)
    assert [getattr(body, "reason", None) for body in found] == [None, None, None, "words"]
    assert taken(archived, before=gone[:1]) == [archived]
    assert taken(archived) == [archived]


def test_numbers_of_events_are_those_of_this_ledger() -> None:
    before: tuple[tuple[e.Origin, e.AnyBody], ...] = (SAID, ("person", record("r")))
    made = e.ProposalMade(
        id="p", intent="update", trust="person", target="r", base=40, spans=((1, 0, 2), (30, 0, 2))
    )
    (body,) = taken(made, before=before, fork=1, named={30: "e-1"})
    assert isinstance(body, e.ProposalMade)
    assert (body.base, body.spans) == (2, ((1, 0, 2), (1, 0, 2)))
    (early,) = taken(e.ProposalMade(id="p", intent="add", trust="person", base=1), fork=1)
    assert early.base == 1  # type: ignore[union-attr]
    (lost,) = taken(e.ProposalMade(id="p", intent="add", trust="person", base=9), fork=1)
    assert lost.base is None  # type: ignore[union-attr]
    retracted = e.LineageRetracted(root=50, taken=1, back=0)
    (known,) = taken(retracted, before=before, fork=1, named={50: "r"})
    (unknown,) = taken(retracted, before=before, fork=1)
    assert (known.root, unknown.root) == (2, 1)  # type: ignore[union-attr]


def test_a_rule_has_looked_at_nothing_that_came() -> None:
    rule: Event = ("person", e.DocumentSet(type="rules", name="all", trust="person", data={}))
    passed: Event = ("person", e.RulePassed(rule="all", through=1))
    theirs = e.RulePassed(rule="all", through=99)
    assert taken(theirs, before=(rule,))[0].through == 0  # type: ignore[union-attr]
    assert taken(theirs, before=(rule, passed))[0].through == 1  # type: ignore[union-attr]


def test_without_a_signature_a_claim_has_an_agents_trust() -> None:
    link = e.LinkAdded(source="a", target="b", kind="k", trust="person")
    document = e.DocumentSet(type="note", name="n", trust="person", data={})
    used = e.RecordReinforced(id="r", how="used")
    found = taken(record("r"), link, document, used, mine=False)
    assert [getattr(body, "trust", None) for body in found] == ["agent", "agent", "agent", None]


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (record("new", key="seat"), (("person", record("r", key="seat")),)),
        (record("new", evidence=("e-2",)), (HEARD,)),
        (
            record("new"),
            (("person", e.DocumentSet(type="policy", name="agents", trust="person",
                                      data={"add": "review"})),),
        ),
    ],
)  # fmt: skip
def test_without_a_signature_a_record_may_have_to_wait(
    body: e.RecordAdded, before: tuple[Event, ...]
) -> None:
    (added,) = taken(body, before=before, mine=False)
    assert added.status == "held"  # type: ignore[union-attr]


def test_without_a_signature_a_key_passes_on_with_its_end() -> None:
    before: tuple[Event, ...] = (("agent", record("r", "agent", key="seat")),)
    ended = e.RecordSuperseded(id="r", by="new")
    found = taken(ended, record("new", key="seat"), before=before, mine=False)
    assert found[1].status == "active"  # type: ignore[union-attr]


def test_without_a_signature_nothing_that_a_person_vouched_for_changes() -> None:
    before: tuple[Event, ...] = (("person", record("r")), HEARD, ("agent", record("a", "agent")))
    for body in (e.RecordForgotten(id="r"), e.RecordRevised(id="r", trust="agent", text="x")):
        with pytest.raises(Forbidden, match="vouched"):
            taken(body, before=before, mine=False)
    fallen = e.RecordRevised(id="a", trust="person", text="x", evidence=("e-2",))
    own = e.RecordRevised(id="new", trust="person", text="x")
    tagged = e.RecordTagged(id="a", add=("x",))
    found = taken(fallen, own, tagged, before=before, mine=False)
    assert [getattr(body, "trust", None) for body in found] == ["unverified", "agent", None]


def test_an_erasure_takes_all_that_is_here_about_a_subject() -> None:
    before: tuple[Event, ...] = (
        ("person", record("r")),  # 1
        ("person", e.RecordRevised(id="r", trust="person", text="later")),  # 2
        ("person", e.ProposalMade(id="p", intent="add", trust="person", text="x")),  # 3
        ("person", e.BranchOpened(id="b", name="plans")),  # 4
        ("person", e.DocumentSet(type="note", name="n", trust="person", data={})),  # 5
        ("person", e.DocumentDropped(type="note", name="n")),  # 6
    )
    preset = ("preset", "f")
    about = (
        ("memory", "r"),
        ("proposal", "p"),
        ("branch", "b"),
        ("document", "note", "n"),
        preset,
        ("link", "a", "b", "k"),
        ("proposal", "none"),
        ("branch", "none"),
    )
    found = erased(TakeErasure(targets=(1,), about=about), *before)
    assert set(found) >= {1, 2, 3, 4, 5}


def test_a_command_is_written_only_after_the_one_before_it() -> None:
    acts = (
        Take(id="c", bodies=(record("r"),), fork=0, is_mine=True, follows="before"),
        TakeErasure(targets=(1,), follows="before"),
    )
    for act in acts:
        with closing(index_of([SAID])) as db, pytest.raises(Changed, match="was not written"):
            decide(Reads(db), PERSON, act)
        with closing(index_of([SAID])) as db:
            tables = Tables(db)
            Fold(tables, Clock(AT, 0)).close("before", 1, ["person"], marks=())
            tables.flush()
            assert len(decide(Reads(db), PERSON, act)[0]) == 1


def test_without_a_signature_an_author_is_nobody_of_this_ledger() -> None:
    named = e.AuthorNamed(id="a1", name="Boss", checked="token", author="a1")
    said = record("r", author="a1")
    (boss, by_boss) = taken(named, said, mine=False)
    assert isinstance(boss, e.AuthorNamed)
    assert (boss.id, boss.author, boss.checked, by_boss.author) == ("~a1", "~a1", None, "~a1")
    here: Event = ("person", e.AuthorNamed(id="a1", name="Mara"))
    claimed: Event = ("agent", e.AuthorNamed(id="~a1", name="Boss"))
    assert taken(said, before=(here,), mine=False)[0].author is None
    assert taken(said, before=(here, claimed), mine=False)[0].author == "~a1"
    assert taken(record("r"), mine=False)[0].author is None
