"""Where the memories of a store stand, also when others write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Store
from recollect.errors import InvalidInput


def test_the_heads_of_a_workspace_are_those_that_others_wrote(tmp_path: Path) -> None:
    with Store.open(tmp_path, embedder="none") as one, Store.open(tmp_path) as other:
        one.space("ann").remember("Likes tea")
        other.space("ben").remember("Likes jazz")
        for number in range(3):
            one.space("ann").remember(f"Likes number {number}")
            there = one.space("ann").events.position
            assert other.heads(["ann", "ben", "nobody"]) == {"ann": there, "ben": 2}
        one.space("ann").close()
        assert one.heads(["ann"]) == {"ann": 5}
        assert other.spaces() == ["ann", "ben"]


def test_what_is_no_list_of_names_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        with pytest.raises(InvalidInput, match="list of names"):
            store.heads("main")
        with pytest.raises(InvalidInput):
            store.heads([""])
