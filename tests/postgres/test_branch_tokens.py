"""Branches with a token: each sees, writes and merges what it may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pytest

from recollect.errors import Forbidden, NotFound
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.events import Trust
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.conftest import entered, make_token

WRITES = ("read", "write")


class Opening(Protocol):
    def __call__(
        self, verbs: Sequence[str] = ..., trust: Trust | None = ..., user: str | None = ...
    ) -> Memory: ...


@pytest.fixture
def opened(database: str) -> Iterator[Opening]:
    """Opens a memory that is shared, with a new token."""
    backend = PostgresBackend(database)

    def open_with(
        verbs: Sequence[str] = WRITES, trust: Trust | None = None, user: str | None = None
    ) -> Memory:
        if trust is None:
            return Memory(Handle(backend.space("bob", create=True)))
        token = make_token(database, "a token", space="bob", verbs=verbs, trust=trust, user=user)
        return Memory(Handle(entered(backend, token).space("bob", create=False)))

    yield open_with
    backend.close()


def texts(memory: Memory) -> list[str]:
    return sorted(record.text for record in memory.list())


def test_a_user_reads_and_writes_on_an_own_branch(opened: Opening) -> None:
    owner = opened()
    owner.remember("For everybody")
    owner.scoped(user="ben").branches.open("plans")
    ann = opened(trust="agent", user="ann")
    tea = ann.remember("Tea is green", key="tea")
    ann.branches.open("plans")
    branch = ann.on("plans")
    assert branch.remember("Tea is black", key="tea").text == "Tea is black"
    branch.remember("Zebras are striped")
    assert texts(branch) == ["Tea is black", "Zebras are striped"]
    assert [hit.text for hit in branch.recall("zebras").hits] == ["Zebras are striped"]
    assert "black" in branch.context("tea").text
    assert texts(ann) == ["Tea is green"]
    diff = ann.branches.diff("plans")
    with pytest.raises(Forbidden, match="needs a person"):
        ann.branches.merge("plans", diff.digest)
    person = opened((*WRITES, "review"), trust="person", user="ann")
    assert person.branches.diff("plans").digest == diff.digest
    person.branches.merge("plans", diff.digest)
    assert texts(ann) == ["Tea is black", "Zebras are striped"]
    assert ann.get(tea.id, include=["replaced"]).status == "replaced"
    assert owner.admin.verify().ok


def test_a_user_does_not_reach_another_users_branch(opened: Opening) -> None:
    owner = opened()
    ben = owner.scoped(user="ben")
    made = ben.branches.open("plans")
    ben.on("plans").remember("Ben likes tea")
    whole = owner.branches.open("whole")
    ann = opened(trust="person", user="ann")
    for name in ("plans", made.id, "whole", whole.id):
        for call in (ann.on, ann.branches.show, ann.branches.diff, ann.branches.abandon):
            with pytest.raises(NotFound):
                call(name)
    assert ann.branches.list(closed=True) == []


def test_a_token_that_only_reads_sees_what_is_on_a_branch(opened: Opening) -> None:
    owner = opened()
    tea = owner.remember("Tea is green")
    owner.branches.open("plans")
    owner.on("plans").revise(tea.id, "Tea is black")
    position = owner.events.position
    reader = opened(verbs=("read",), trust="person")
    assert [change.text for change in reader.branches.diff("plans").changes] == ["Tea is black"]
    for call in (reader.on("plans").list, lambda: reader.on("plans").remember("Tea is white")):
        with pytest.raises(Forbidden, match="may only read"):
            call()
    assert owner.events.position == position


def test_an_agents_token_leaves_nothing_of_a_read(opened: Opening) -> None:
    owner = opened()
    tea = owner.remember("Tea is green")
    agent = opened(trust="agent")
    agent.branches.open("plans")
    agent.on("plans").revise(tea.id, "Tea is black")
    digest, position = owner.admin.digest(), owner.events.position
    assert texts(agent.on("plans")) == ["Tea is black"]
    assert (owner.admin.digest(), owner.events.position) == (digest, position)
    with pytest.raises(Forbidden, match="needs a person"):
        agent.branches.merge("plans", agent.branches.diff("plans").digest)
