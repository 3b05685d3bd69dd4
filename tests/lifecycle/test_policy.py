"""The policy that a decision reads, also from events that no call has written."""

from __future__ import annotations

from functools import partial

import pytest

from recollect.errors import Forbidden
from recollect.index.reads import Reads
from recollect.lifecycle import commands as c
from recollect.lifecycle.settings.documents import drop_document, set_document
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


GATE: dict[str, Json] = {"policy": {"durable_writes": "review-gated"}, "title": "Reviewed"}


@pytest.mark.parametrize("trust", ["agent", "person"])
@pytest.mark.parametrize(
    ("type", "data", "is_open"),
    [
        ("profile", {}, True),
        ("profile", {"policy": {"durable_writes": "direct"}}, True),
        ("profile", {"policy": ["review-gated"]}, True),
        ("profile", {**GATE, "title": "Another title"}, False),
        ("other", {}, False),
    ],
)
def test_a_person_alone_opens_a_gate(
    trust: e.Trust, type: str, data: dict[str, Json], is_open: bool
) -> None:
    # S1-113
    closed = e.DocumentSet(type=type, name="x", trust="agent", data=GATE)
    db = index_of([("agent", closed)])
    actor = c.Actor(trust=trust)
    try:
        acts: list[c.SetDocument | c.DropDocument] = [c.SetDocument(type=type, name="x", data=data)]
        acts += [c.DropDocument(type=type, name="x")] if is_open or type == "other" else []
        for act in acts:
            change = partial(
                set_document if isinstance(act, c.SetDocument) else drop_document,
                Reads(db), actor, act,  # type: ignore[arg-type]
            )  # fmt: skip
            if is_open and trust == "agent":
                with pytest.raises(Forbidden, match="only a person"):
                    change()
            else:
                assert change()
    finally:
        db.close()
