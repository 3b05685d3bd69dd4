"""Two statements that say nearly the same, or the opposite."""

from __future__ import annotations

import pytest

from recollect.lifecycle.proposals.alike import alike

NEAR, AGAINST = "near_duplicate_of", "contradicts"


@pytest.mark.parametrize(
    ("new", "old", "kind"),
    [
        ("The gate opens at nine.", "The gate opens at nine o'clock.", NEAR),
        ("Alice likes green tea.", "Alice likes the green tea!", NEAR),
        ("The port is 5433.", "The port is 5432.", AGAINST),
        ("The party is on Friday.", "The party is on Monday.", AGAINST),
        ("Alice likes green tea.", "Alice does not like green tea.", AGAINST),
        ("Alice doesn't like green tea.", "Alice likes green tea.", AGAINST),
        ("Alice never said no to tea.", "Alice said tea.", NEAR),  # denied twice
        ("The port is open.", "The port is 5432.", None),
        ("Alice likes green tea.", "Bob drives a red car.", None),
        ("The party is on Friday.", "The party is at the lake.", None),
        ("", "", None),
        ("the a", "of the", None),
        ("tea " * 200, "tea", None),
    ],
)
def test_how_two_statements_relate(new: str, old: str, kind: str | None) -> None:
    found = alike(new, old)
    assert (None if found is None else found.kind) == kind
    assert found is None or 0 < found.score <= 1
