"""Stores that tokens have entered: kept, bounded, and closed with what waits in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Store
from recollect.errors import RecollectError
from recollect.interfaces.http.entries import Entries


def test_a_token_enters_once_and_a_bounded_number_is_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea.")
        tokens = [store.tokens.create(f"t{n}", space="main").token for n in range(3)]
        entries = Entries(store, most=2)
        first, second = (entries.enter(token) for token in tokens[:2])
        assert entries.enter(tokens[0]) is first
        waits = second.space("main", create=False)
        receipt = waits.context("tea").receipt
        entries.enter(tokens[2])  # the second is given up, with a receipt that waits
        assert entries.enter(tokens[0]) is first
        assert entries.enter(tokens[1]) is not second
        with pytest.raises(RecollectError):
            waits.status()
        assert store.space("main").receipts.get(receipt or "").id == receipt
        last = entries.enter(tokens[1]).space("main", create=False)
        assert last.status().records == 1
        entries.close()
        with pytest.raises(RecollectError):
            last.status()
        assert store.space("main").status().records == 1
        assert not any(token in repr(vars(entries)) for token in tokens)
