"""A person's word on a server: what a token that only writes may vouch for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recollect.memory import Memory
from tests.postgres.conftest import make_token
from tests.postgres.test_kinds import AGENT, PERSON, append
from tests.postgres.test_subjects import home

__all__ = ["home"]

VOUCHED = "record.vouched"


@pytest.fixture
def owner(url: str, database: str, home: Path) -> Iterator[Memory]:
    with Memory.open(url, space="bob", embedder="none") as memory:
        memory.remember("The seat is by the window.")
        for token in (AGENT, PERSON):
            verbs = ("read", "write")
            make_token(database, token, label=token, space="bob", verbs=verbs, origin=token)
        yield memory


@pytest.mark.parametrize("user", [None, "ann"])
def test_a_token_that_only_writes_vouches_for_what_it_writes(
    owner: Memory, url: str, monkeypatch: pytest.MonkeyPatch, user: str | None
) -> None:
    """The token of a chat app has no verb for reviews; a subject's body cannot be read there."""
    owner.set_subjects("users")
    its = owner.scoped(user=user, origin="agent")
    seat = its.remember("Alice sits in 12A.", key="alice.seat")
    monkeypatch.setenv("RECOLLECT_TOKEN", PERSON)
    with Memory.open(url, space="bob", embedder="none") as memory:
        assert memory.scoped(user=user).revise(seat.id, "Alice sits in 2F.").trust == "person"
    assert its.revise(seat.id, "Alice sits in 9Z.").pending
    assert its.remember("Alice sits in 9Z.", key="alice.seat").status == "held"


def test_vouching_lets_nothing_in_and_is_a_persons(owner: Memory, database: str) -> None:
    held = owner.scoped(origin="unverified").remember("The seat is in the aisle.")
    its = owner.scoped(origin="agent").remember("The seat is wide.")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a writer"):
        append(database, AGENT, kind=VOUCHED, data=f'{{"id":"{its.id}"}}')
    for record in (held, its):
        data = f'{{"id":"{record.id}"}}'
        append(database, PERSON, kind=VOUCHED, origin="person", data=data)
    owner.rebuild()
    assert owner.history(its.id)[-1].record.trust == "person"  # the control
    assert owner.history(held.id)[-1].record == held
