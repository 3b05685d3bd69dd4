"""An agent's token asks a proposer: the same limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.errors import Forbidden
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from tests.memory_suites.review.proposer import Script, add, ids, passed
from tests.postgres.conftest import entered, make_token


@pytest.fixture
def owner(database: str) -> Iterator[Memory]:
    backend = PostgresBackend(database)
    yield Memory(Handle(backend.space("main", create=True)))
    backend.close()


@pytest.fixture
def agent(owner: Memory, database: str) -> Iterator[Memory]:
    owner.remember("The house has a door")
    verbs = ("read", "write")
    token = make_token(database, "agent", space="main", verbs=verbs, trust="agent")
    backend = PostgresBackend(database)
    yield Memory(Handle(entered(backend, token).space("main", create=False)))
    backend.close()


def test_an_agents_token_files_proposals_for_each_user(owner: Memory, agent: Memory) -> None:
    for user in ("ann", "bob"):
        owner.scoped(user=user).observe(f"The code of {user} is 1234", id=f"e-{user}")
    answers = ([add(f"{user} has a code", f"e-{user}", "code of")] for user in ("ann", "bob"))
    done = passed(agent, Script(*answers))
    waits = owner.review.list()
    assert [one.id for one in waits] == ids(done)
    assert [(one.scope.user, one.trust) for one in waits] == [("ann", "agent"), ("bob", "agent")]
    assert passed(agent, Script()).seen == 0
    with pytest.raises(Forbidden):
        agent.review.approve(waits[0].id, waits[0].digest)
    assert owner.admin.verify(deep=True).ok
