"""Filters that name the columns of an earlier design."""

from __future__ import annotations

import pytest

from recollect.errors import InvalidInput
from recollect.index.filter.parse import parse
from recollect.index.filter.seed_names import translated


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("content contains 'tea'", "text contains 'tea'"),
        ("timestamp > '2026-01-01'", "said_at > '2026-01-01'"),
        ("source_node = 'planner'", "metadata.episodic.source_node = 'planner'"),
        ("metadata.content = 'content'", "metadata.content = 'content'"),
        ("id = 'it''s content'", "id = 'it''s content'"),
        (
            "scope_key = '/user/a/session/o''b/agent/g/'",
            "(user = 'a' and session = 'o''b' and agent = 'g')",
        ),
        ("not Scope_Key starts  with '/user/a/'", "not (user = 'a')"),
    ],
)
def test_the_names_are_those_of_fields(given: str, field: str) -> None:
    assert translated(given) == field
    assert translated(field) == field
    parse(field, "episode")


@pytest.mark.parametrize(
    "given",
    [
        "scope_key = '/user/a/'",
        "scope_key = 'a'",
        "scope_key = ''",
        "scope_key starts with '/'",
        "scope_key starts with '/user//'",
        "scope_key starts with '/session/a/'",
        "scope_key starts with '/user/a'",
        "scope_key contains 'a'",
    ],
)
def test_another_scope_key_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput):
        translated(given)
