"""What the gateway to an engine keeps, so that it is not asked again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import Row
from recollect.index.tables import Params, Tables
from recollect.lifecycle import commands as c
from recollect.lifecycle.settings.policy import policy_of
from recollect.model import events as e
from recollect.store.sqlite import SqliteDb, memory_index
from tests.bodies import AT

AGENT = c.Actor(trust="agent")


class Asked:
    """A gateway with a count of what its engine was asked."""

    def __init__(self, db: SqliteDb, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count: Counter[str] = Counter()
        self.tables = Tables(db)
        self.reads = Reads(db, tables=self.tables)
        self.fold = Fold(self.tables, Clock(e.GENESIS.at, 0))
        self.seq = 0
        one = db.one

        def counted(name: str, params: Params) -> Row | None:
            self.count[name] += 1
            return one(name, params)

        monkeypatch.setattr(db, "one", counted)

    def add(self) -> str:
        return policy_of(self.reads, AGENT).add

    def event(self, body: e.AnyBody) -> None:
        self.seq += 1
        self.fold.event(self.seq, AT, "person", body)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    db = memory_index("main")
    yield Asked(db, monkeypatch)
    db.close()


def policy(add: str) -> e.DocumentSet:
    return e.DocumentSet(type="policy", name="agents", trust="person", data={"add": add})


def test_the_policy_is_read_once_for_many_acts(asked: Asked) -> None:
    assert [asked.add() for _ in range(50)] == ["at_once"] * 50
    assert asked.count["get_document"] == 1


def test_a_policy_counts_from_the_event_that_sets_it(asked: Asked) -> None:
    wanted = ["review", "at_once", "review", "review"]
    for add in wanted:
        asked.event(policy(add))
        assert asked.add() == asked.add() == add
    asked.event(e.DocumentDropped(type="policy", name="agents"))
    assert asked.add() == "at_once"
    asked.event(policy("review"))
    asked.tables.drop()
    assert asked.add() == "at_once"  # it was refused with its command
    for add in wanted:  # without a look in between
        asked.event(policy(add))
    assert asked.add() == "review"


def test_a_policy_that_was_erased_is_not_kept(asked: Asked) -> None:
    asked.event(policy("review"))
    assert asked.add() == "review"
    asked.event(e.EventsErased(targets=(1,)))
    assert asked.add() == "at_once"


def test_only_some_documents_are_kept(asked: Asked) -> None:
    for number in range(20):
        asked.event(e.DocumentSet(type="rules", name=f"r{number}", trust="person", data={"n": 1}))
    for _ in range(2):
        for number in range(20):
            assert asked.reads.document("rules", f"r{number}") is not None
    assert len(asked.tables._documents) <= 8
