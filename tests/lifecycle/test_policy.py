"""The policy that a decision reads, also from events that no call has written."""

from __future__ import annotations

import pytest

from recollect.index.reads import Reads
from recollect.lifecycle import commands as c
from recollect.lifecycle.settings.policy import policy_of
from recollect.model import events as e
from recollect.model.policy import DEFAULT, STRICTEST, Policy
from recollect.model.validate import Json
from tests.lifecycle.folding import Event, index_of

AGENT, PERSON = c.Actor(trust="agent"), c.Actor(trust="person")


def after(*events: Event, actor: c.Actor = AGENT) -> Policy:
    """The policy for an actor after these events."""
    db = index_of(events)
    try:
        return policy_of(Reads(db), actor)
    finally:
        db.close()


def asking(
    data: dict[str, Json], *, trust: e.Trust = "person", user: str | None = None
) -> e.DocumentSet:
    return e.DocumentSet(type="policy", name="agents", trust=trust, data=data, user=user)


def test_without_a_document_the_defaults_hold() -> None:
    assert after() == DEFAULT


def test_a_policy_never_restricts_a_person() -> None:
    asked: Event = ("person", asking({"add": "review"}))
    assert after(asked, actor=PERSON) == DEFAULT
    assert after(asked) == Policy(add="review")


def test_a_policy_that_cannot_be_read_asks_about_everything() -> None:
    assert after(("person", asking({"later": 1}))) == STRICTEST


@pytest.mark.parametrize("origin", ["agent", "unverified", "system"])
def test_a_policy_that_is_not_from_a_person_is_ignored(origin: e.Origin) -> None:
    mine: Event = ("person", asking({"add": "review"}))
    assert after((origin, asking({}, trust="unverified"))) == DEFAULT
    assert after(mine, (origin, asking({}, trust="unverified"))) == Policy(add="review")
    dropped = e.DocumentDropped(type="policy", name="agents")
    assert after(mine, (origin, dropped)) == Policy(add="review")
    assert after(mine, ("person", dropped)) == DEFAULT


def test_the_policy_of_one_user_is_ignored() -> None:
    assert after(("person", asking({"add": "review"}, user="ann"))) == DEFAULT
