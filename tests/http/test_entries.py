"""Stores that tokens have entered: kept, bounded, and closed with what waits in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Store
from recollect.errors import RecollectError
from recollect.interfaces.http.entries import Entries
from recollect.interfaces.http.problems import Refused


def test_a_token_enters_once_and_a_bounded_number_is_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea.")
        tokens = [store.tokens.create(f"t{n}", space="main").token for n in range(3)]
        entries = Entries(store, most=2)
        first, second = (entries.take(token) for token in tokens[:2])
        assert entries.take(tokens[0]) is first
        waits = second.store.space("main", create=False)
        receipt = waits.context("tea").receipt
        entries.give_back(second)
        with entries.using(tokens[2]):  # the second is given up, with a receipt that waits
            pass
        with pytest.raises(RecollectError):
            waits.status()
        assert store.space("main").proof.receipts.get(receipt or "").id == receipt
        assert entries.take(tokens[0]) is first
        again = entries.take(tokens[1])
        assert again is not second
        last = again.store.space("main", create=False)
        assert last.status().records == 1
        entries.close()
        with pytest.raises(RecollectError):
            last.status()
        assert store.space("main").status().records == 1
        assert not any(token in repr(vars(entries)) for token in tokens)


def test_made_up_tokens_close_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("main").remember("Tea.")
        entries = Entries(store, most=2)
        entry = entries.take(store.tokens.create("t", space="main").token)
        used = entry.store.space("main", create=False)
        for number in range(20):
            with pytest.raises(Refused) as caught:
                entries.take(f"rct_{number:043}")
            assert caught.value.status == 401
        others = [store.tokens.create(f"o{n}", space="main").token for n in range(4)]
        for token in others:
            with entries.using(token):
                pass
        assert used.status().records == 1  # it is in use, so it was not given up
