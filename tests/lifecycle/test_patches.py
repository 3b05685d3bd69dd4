"""A patch merges objects, removes what is null and leaves the rest."""

from __future__ import annotations

import pytest

from recollect.errors import LimitExceeded
from recollect.index.reads import Reads
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide
from recollect.lifecycle.records.records import patched
from recollect.model import events as e
from recollect.model.validate import Json
from tests.lifecycle.folding import index_of


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        ({}, {"a": 1, "b": {"c": 2, "d": 3}}),
        ({"a": 9, "e": [1]}, {"a": 9, "b": {"c": 2, "d": 3}, "e": [1]}),
        ({"a": None, "none": None}, {"b": {"c": 2, "d": 3}}),
        ({"b": {"c": None, "f": 4}}, {"a": 1, "b": {"d": 3, "f": 4}}),
        ({"a": {"g": 5}}, {"a": {"g": 5}, "b": {"c": 2, "d": 3}}),
        ({"h": {"i": {"j": None}}}, {"a": 1, "b": {"c": 2, "d": 3}, "h": {"i": {}}}),
    ],
)
def test_a_patch_is_merged(patch: dict[str, Json], found: dict[str, Json]) -> None:
    old: dict[str, Json] = {"a": 1, "b": {"c": 2, "d": 3}}
    assert patched(old, patch) == found
    assert old == {"a": 1, "b": {"c": 2, "d": 3}}


def test_what_comes_out_has_the_limit_of_data() -> None:
    with pytest.raises(LimitExceeded):
        patched({"one": "x" * 200_000}, {"two": "x" * 200_000})


@pytest.mark.parametrize("patch", [{"b": 3}, {"a": None, "b": 3}])
def test_a_revision_with_a_patch_sets_the_data_whole(patch: dict[str, Json]) -> None:
    old: dict[str, Json] = {"a": 1, "b": 2}
    body = e.RecordAdded(
        id="tea", text="Tea", kind="fact", confidence=0.7, status="active", trust="agent", data=old
    )
    db = index_of([("agent", body)])
    try:
        act = c.Revise(id="tea", patch=patch)
        (made,) = decide(Reads(db), c.Actor(trust="agent"), act)[0]
    finally:
        db.close()
    assert isinstance(made, e.RecordRevised)
    assert made.data == patched(old, patch)
