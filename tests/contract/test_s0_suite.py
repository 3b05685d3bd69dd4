"""S0: the published suite on every engine, in a project, and on a store that it must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.contracts.chrono import ChronoRecord, ChronoStore
from recollect.errors import Conflict, Forbidden
from recollect.model.events import Trust
from recollect.model.values import Record
from tests.contract.conftest import memory
from tests.memory_suites.pages.chrono import ChronoSuite, ids, water

__all__ = ["memory"]


class TestInAProject(ChronoSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[ChronoStore]:
        with ChronoStore(tmp_path) as store:
            yield store
            assert store.chain_valid()


class TestOverEveryEngine(ChronoSuite):
    @pytest.fixture
    def store(self, memory: Memory) -> ChronoStore:
        return ChronoStore.over(memory.scoped(trust="agent"))


class Naive:
    """A dictionary, as the original keeps its records."""

    def __init__(self) -> None:
        self.records: dict[str, ChronoRecord] = {}

    def upsert(self, record: ChronoRecord) -> None:
        self.records[record.id] = record

    def get(self, id: str) -> ChronoRecord | None:
        return self.records.get(id)

    def query(
        self,
        kind: str | None = None,
        min_confidence: float = 0.0,
        rag_filter: bool = False,
        *,
        status: str | None = "active",
    ) -> list[ChronoRecord]:
        least = 0.6 if rag_filter else min_confidence
        return [
            one
            for one in self.records.values()
            if kind in (None, one.kind)
            and one.confidence > least
            and (status is None or one.status != "tombstone")
        ]

    def delete(self, id: str) -> None:
        self.records[id] = ChronoRecord(id=id, status="tombstone")

    def chain_valid(self) -> object:
        return 1


@pytest.mark.parametrize(
    "name",
    [
        "test_a_record_needs_an_id",
        "test_what_is_not_a_record_is_refused",
        "test_the_rag_filter_takes_06_and_more",
        "test_the_least_confidence_is_inclusive",
        "test_a_record_can_be_changed_freely",
        "test_delete_leaves_a_tombstone",
        "test_deleting_what_is_not_there_is_told",
        "test_an_untouched_chain_is_valid",
    ],
)
def test_the_suite_finds_what_such_a_store_gets_wrong(name: str) -> None:
    caught = (AssertionError, pytest.fail.Exception, AttributeError)
    with pytest.raises(caught):
        getattr(ChronoSuite(), name)(Naive())


@pytest.mark.parametrize("name", ["test_query_filters_by_kind", "test_every_field_comes_back"])
def test_the_suite_takes_what_it_does_right(name: str) -> None:
    """The control of the control."""
    getattr(ChronoSuite(), name)(Naive())


# What the memory knows and S0 does not: trust, users, and other ways to write.


def test_an_agent_does_not_change_what_a_person_wrote(memory: Memory) -> None:
    memory.remember("Tea is at four.", id="tea", confidence=0.9)
    store = ChronoStore.over(memory.scoped(trust="agent"))
    found = store.get("tea")
    assert found is not None
    assert (found.label, found.source_type) == ("Tea is at four.", "told")
    store.upsert(found)  # the same: nothing to refuse
    for name, value in (
        ("label", "Tea is at five."),
        ("confidence", 0.1),
        ("kind", "rumour"),
        ("evidence", ["e-1"]),
        ("status", "tombstone"),
    ):
        changed = store.get("tea")
        assert changed is not None
        setattr(changed, name, value)
        with pytest.raises(Forbidden):
            store.upsert(changed)
    with pytest.raises(Forbidden):
        store.delete("tea")
    assert store.query() == [found]
    ChronoStore.over(memory).delete("tea")
    assert store.query() == []


def test_what_an_unverified_store_writes_is_held(memory: Memory) -> None:
    store = ChronoStore.over(memory.scoped(trust="unverified"))
    store.upsert(water())
    store.upsert(water(confidence=0.2))
    assert store.query() == []
    found = store.get("FACT-001")
    assert found is not None
    assert (found.status, found.confidence) == ("held", 0.2)
    agents = ChronoStore.over(memory.scoped(trust="agent"))
    with pytest.raises(Conflict, match="held"):
        agents.upsert(water())
    for call in (store.compact, store.backup):
        with pytest.raises(Forbidden):
            call()
    (waiting,) = memory.review.list()
    memory.review.approve(waiting.id, digest=waiting.digest)
    assert ids(agents.query()) == ["FACT-001"]


@pytest.mark.parametrize("trust", ["agent", "person"])
def test_one_user_has_no_records_of_another(memory: Memory, trust: Trust) -> None:
    ann = ChronoStore.over(memory.scoped(user="ann", trust=trust))
    bob = ChronoStore.over(memory.scoped(user="bob", trust=trust))
    ann.upsert(water())
    assert bob.get("FACT-001") is None
    assert bob.query(status=None) == []
    with pytest.raises(Conflict, match="already used"):
        bob.upsert(water(label="mine now"))
    assert ann.query() == [water()]


def test_a_record_is_a_record_of_the_memory(memory: Memory) -> None:
    store = ChronoStore.over(memory.scoped(trust="agent"))
    store.upsert(water())
    kept = memory.get("FACT-001")
    assert isinstance(kept, Record)
    assert (kept.kind, kept.about, kept.trust) == ("fact", "physics", "agent")
    assert kept.data == {"unit": "kelvin"}, "nothing is added to it that it need not have"
    assert [hit.id for hit in memory.recall("when does water freeze?").hits] == ["FACT-001"]
    store.upsert(water(status="invalidated"))
    assert memory.recall("when does water freeze?").hits == ()
    memory.undo("FACT-001")
    assert store.query() == [water()], "the memory's word counts"
    memory.remember("Water freezes at 273 K.", replaces="FACT-001")
    old = store.get("FACT-001")
    assert old is not None
    assert old.status == "superseded"
    old.confidence = 0.1
    with pytest.raises(Conflict, match="superseded"):
        store.upsert(old)
