"""The table that deciding and folding share."""

from __future__ import annotations

import pytest

from recollect.model import events as e
from recollect.model import rules


def added(trust: e.Trust, status: e.Status = "active") -> e.RecordAdded:
    return e.RecordAdded(
        id="a", text="The vault is open", kind="fact", confidence=1.0, status=status, trust=trust
    )


@pytest.mark.parametrize(
    ("origin", "claims", "status", "trust", "becomes"),
    [
        ("person", "person", "active", "person", "active"),
        ("agent", "person", "active", "agent", "active"),
        ("agent", "agent", "inbox", "agent", "inbox"),
        ("agent", "unverified", "active", "unverified", "held"),
        ("unverified", "person", "active", "unverified", "held"),
        ("unverified", "agent", "inbox", "unverified", "held"),
        ("unverified", "unverified", "held", "unverified", "held"),
        ("unverified", "person", "archived", "unverified", "archived"),  # may_add refuses it
    ],
)
def test_a_record_has_at_most_the_trust_of_its_origin(
    origin: e.Origin, claims: e.Trust, status: e.Status, trust: e.Trust, becomes: e.Status
) -> None:
    body = rules.within(origin, added(claims, status))
    assert (body.trust, body.status) == (trust, becomes)


CLAIMS: list[rules.Claim] = [
    e.LinkAdded(source="a", target="b", kind="supports", trust="person"),
    e.DocumentSet(type="notes", name="n", trust="person", data={}),
    e.ProposalMade(id="p", intent="add", trust="person", text="open"),
]


@pytest.mark.parametrize("body", CLAIMS, ids=lambda body: type(body).__name__)
@pytest.mark.parametrize("origin", ["agent", "unverified", "person"])
def test_so_has_every_body_that_claims_a_trust(origin: e.Trust, body: rules.Claim) -> None:
    assert rules.within(origin, body).trust == origin


def test_what_claims_no_more_is_the_same_body() -> None:
    body = added("agent")
    assert rules.within("agent", body) is body
    assert rules.within("person", body) is body
