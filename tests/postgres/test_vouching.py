"""A person's word on a server: what a token that only writes may vouch for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.memory import Memory
from tests.postgres.conftest import make_token
from tests.postgres.test_subjects import home

__all__ = ["home"]


@pytest.fixture
def owner(url: str, home: Path) -> Iterator[Memory]:
    with Memory.open(url, space="bob", embedder="none") as memory:
        memory.remember("The seat is by the window.")
        yield memory


@pytest.mark.parametrize("user", [None, "ann"])
def test_a_token_that_only_writes_vouches_for_what_it_writes(
    owner: Memory, url: str, monkeypatch: pytest.MonkeyPatch, user: str | None
) -> None:
    """The token of a chat app has no verb for reviews; a subject's body cannot be read there."""
    owner.settings.set_subjects("users")
    its = owner.scoped(user=user, trust="agent")
    seat = its.remember("Alice sits in 12A.", key="alice.seat")
    monkeypatch.setenv("RECOLLECT_TOKEN", make_token(url, "app", space="bob", trust="person"))
    with Memory.open(url, space="bob", embedder="none") as memory:
        assert memory.scoped(user=user).revise(seat.id, "Alice sits in 2F.").trust == "person"
    assert its.revise(seat.id, "Alice sits in 9Z.").pending
    assert its.remember("Alice sits in 9Z.", key="alice.seat").status == "waiting"
