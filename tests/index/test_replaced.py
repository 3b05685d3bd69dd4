"""The words of values that were replaced, by which texts that still state them are found."""

from __future__ import annotations

from pathlib import Path

from recollect.memory import Memory
from recollect.memory.handle import handle_of

TOKENS = ["stage", "port", "5433", "6000", "7000", "like", "tea", "alic"]


def replaced(memory: Memory) -> list[tuple[str, int]]:
    with handle_of(memory).reading() as reads:
        assert reads.has_replaced() == bool(reads.replaced(TOKENS, 100))
        return reads.replaced(TOKENS, 100)


def test_only_the_words_that_ended_are_kept(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        assert replaced(memory) == []
        first = memory.remember("Staging is on port 5433.", key="port")
        memory.remember("Staging is on port 6000.", key="port")
        other = memory.remember("Staging is on port 6000!", key="other")
        memory.revise(other.id, "Staging is on port 7000!")
        assert replaced(memory) == [("6000", other.seq), ("5433", first.seq)]
        memory.rebuild()
        assert replaced(memory) == [("6000", other.seq), ("5433", first.seq)]


def test_a_value_whose_words_all_stay_has_them_all(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        first = memory.remember("Alice likes tea.", key="tea")
        memory.remember("Alice no longer likes tea.", key="tea")
        assert replaced(memory) == [(token, first.seq) for token in ("alic", "like", "tea")]


def test_a_record_let_in_by_a_review_replaces(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        first = memory.remember("Staging is on port 5433.", key="port")
        held = memory.scoped(origin="agent").remember("Staging is on port 6000.", key="port")
        assert replaced(memory) == []
        (waiting,) = memory.review.list()
        memory.review.approve(waiting.id, waiting.digest)
        assert replaced(memory) == [("5433", first.seq)]
        memory.forget(held.id)
        memory.restore(first.id)
        memory.supersede(first.id, "Staging is on port 7000.")
        assert replaced(memory) == [("5433", first.seq)]  # once, however often


def test_long_texts_and_held_ones_are_no_values(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        memory.remember("Staging is on port 5433. " * 20, key="port")
        memory.remember("Staging is on port 6000.", key="port")
        held = memory.scoped(origin="unverified").remember("Alice likes tea.")
        memory.revise(held.id, "Alice likes port.")
        memory.remember("Staging is on port 6000.", key="again")  # the same words
        assert replaced(memory) == []


def test_an_erasure_leaves_nothing_of_either_side(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        records = [
            memory.remember(f"Staging is on port {port}.", key="port")
            for port in (5433, 6000, 7000)
        ]
        assert [token for token, _ in replaced(memory)] == ["6000", "5433"]
        memory.erase(records[1].id)
        assert replaced(memory) == []
        memory.rebuild()
        assert replaced(memory) == []
