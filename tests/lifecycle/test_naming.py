"""A name means an id, a key or the beginning of an id, and never two things at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from recollect.errors import Ambiguous
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.tables import Tables
from recollect.lifecycle import commands as c
from recollect.lifecycle.records.names import full_id, with_full_ids
from recollect.model import events as e
from recollect.store.sqlite import memory_index
from tests.bodies import AT

PERSON = c.Actor(trust="person")


def record(
    id: str, key: str | None = None, user: str | None = None, trust: e.Trust = "person"
) -> e.RecordAdded:
    return e.RecordAdded(
        id=id,
        text=f"the text of {id}",
        kind="fact",
        confidence=0.7,
        status="held" if trust == "unverified" else "active",
        trust=trust,
        key=key,
        user=user,
    )


STATE: list[e.AnyBody] = [
    record("first-1", "port"),
    e.RecordSuperseded(id="first-1", by="first-2"),
    record("first-2", "port"),
    record("port-of-call"),
    record("seat", "other"),
    record("third-1", "seat"),
    record("ann-1", "town", "ann"),
    record("bob-1", "town", "bob"),
    record("gone-1", "gone"),
    e.RecordForgotten(id="gone-1"),
    e.EpisodeObserved(id="e-said-1", text="said", role="user", said_at=AT, user="ann"),
    *(record(f"many-{number}") for number in range(12)),
    record("db.port", trust="unverified"),
    record("real-port", "db.port"),
    record("plan-1", "anns-plan", "ann"),
    record("anns-plan", None, "bob", "unverified"),
    record("real-id-1"),
    record("agent-1", "real-id-1", trust="agent"),
    record("agent-2", "agent-key", trust="agent"),
    record("agent-key-1", trust="agent"),
    record("bait-1", "salary-20", trust="unverified"),
    record("salary-2026"),
    record("bait-2", "said-e", trust="unverified"),
    e.EpisodeObserved(id="said-e-1", text="said", role="user", said_at=AT),
    record("bait-3", "alone", trust="unverified"),
    record("bait-4", "left", trust="unverified"),
    record("left-1", "left"),
    e.RecordForgotten(id="left-1"),
    record("own-1", "own-2"),
    e.RecordSuperseded(id="own-1", by="own-2"),
    record("own-2", "own-2"),
    record("was-key", trust="unverified"),
    record("was-1", "was-key"),
    e.RecordForgotten(id="was-1"),
    record("day-1", "day"),
    record("day-2", "day"),
    e.RecordSuperseded(id="day-1", by="day-2"),
    record("day-3", "day"),
    e.RecordSuperseded(id="day-2", by="day-3"),
    e.RecordForgotten(id="day-3"),
    *(
        body
        for number in range(1, 12)  # more than are looked at
        for body in (
            record(f"week-{number}", "week"),
            e.RecordSuperseded(id=f"week-{number}", by=f"week-{number + 1}"),
        )
    ),
    record("night-1", "night"),
    e.RecordForgotten(id="night-1"),
    record("night-2", "night"),
    e.RecordForgotten(id="night-2"),
]


@pytest.fixture(name="reads", scope="module")
def folded() -> Iterator[Reads]:
    db = memory_index("main")
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for seq, body in enumerate(STATE, 1):
        fold.event(seq, AT, "person", body)
    tables.flush()
    yield Reads(db)
    db.close()


@pytest.mark.parametrize(
    ("name", "user", "id"),
    [
        ("first-1", None, "first-1"),  # an id means itself
        ("port", None, "first-2"),  # a key wins over the beginning of port-of-call
        ("port-", None, "port-of-call"),
        ("town", "ann", "ann-1"),
        ("town", "eve", "town"),  # nothing of hers: the name stays as it is
        ("gone", None, "gone-1"),  # nothing holds the key, and only one had it
        ("e-said", None, "e-said-1"),
        ("e-said", "bob", "e-said"),
        ("e-s", None, "e-s"),  # too short
        ("thir", None, "third-1"),
        ("thirö", None, "thirö"),
        ("nobody", None, "nobody"),
        ("anns-plan", "ann", "plan-1"),  # an id of another user does not count
        ("anns-plan", "bob", "anns-plan"),
        ("real-id-1", None, "real-id-1"),  # the key of an agent's record does not block it
        ("agent-key", None, "agent-2"),  # a key wins over a beginning of the same trust
        ("alone", None, "bait-3"),  # nothing else has this name
        ("left", None, "left-1"),  # a held record does not block the one that had the key
        ("day", None, "day-3"),  # nothing holds the key; it replaced the others
        ("own-2", None, "own-2"),  # an id that is its own key
    ],
)
def test_what_a_name_means(reads: Reads, name: str, user: str | None, id: str) -> None:
    assert full_id(reads, user, name) == id


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("town", r"ann-1 \(active, of ann\), bob-1 \(active, of bob\)$"),
        ("first", "'first' could mean first-1, first-2$"),
        ("many", "many-0, .*many-5 and more$"),
        ("seat", r"'seat' could mean seat \(an id\), third-1 \(its key\)$"),
        ("db.port", r"db.port \(an id\), real-port \(its key\)$"),
        ("was-key", r"was-key \(an id\), was-1 \(its key\)$"),
        ("anns-plan", r"anns-plan \(an id\), plan-1 \(its key\)$"),
        ("salary-20", r"bait-1 \(its key\), salary-2026$"),
        ("week", r"week-1 \(archived\), .* and more$"),
        ("night", r"night-1 \(forgotten\), night-2 \(forgotten\)$"),
        ("said-e", r"bait-2 \(its key\), said-e-1$"),
    ],
)
def test_a_name_of_several_is_refused_with_a_list(reads: Reads, name: str, told: str) -> None:
    with pytest.raises(Ambiguous) as caught:
        full_id(reads, None, name)
    assert re.search(told, caught.value.message)
    assert caught.value.hint


def test_the_past_means_what_it_meant_then(reads: Reads) -> None:
    then = Reads(reads.db, at=1)
    assert full_id(then, None, "port") == "first-1"
    assert full_id(then, None, "first") == "first-1"
    assert full_id(then, None, "seat") == "seat"


def test_only_what_names_a_record_is_looked_up(reads: Reads) -> None:
    linked = with_full_ids(reads, PERSON, c.Link(source="port", target="gone", kind="k"))
    assert (linked.source, linked.target) == ("first-2", "gone-1")
    preset = c.Erase(id="port", what="frame")
    assert with_full_ids(reads, PERSON, preset) is preset
    same = c.Forget(id="first-1")
    assert with_full_ids(reads, PERSON, same) is same
