"""The words of values that were replaced, by which texts that still state them are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of

TOKENS = ["stage", "port", "5433", "6000", "7000", "like", "tea", "alic"]


def replaced(memory: Memory) -> list[tuple[str, int]]:
    """The words of replaced values, and the number of each value."""
    with handle_of(memory).reading() as reads:
        found = reads.replaced(TOKENS, memory.scope.user, 100, 100)
        assert reads.has_replaced() == bool(found)
        return list(dict.fromkeys((token, text_seq) for token, text_seq, _ in found))


def by(memory: Memory) -> set[str]:
    """What took the place of replaced values."""
    with handle_of(memory).reading() as reads:
        return {after for *_, after in reads.replaced(TOKENS, None, 100, 100)}


def test_only_the_words_that_ended_are_kept(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        assert replaced(memory) == []
        first = memory.remember("Staging is on port 5433.", key="port")
        memory.remember("Staging is on port 6000.", key="port")
        other = memory.remember("Staging is on port 6000!", key="other")
        memory.revise(other.id, "Staging is on port 7000!")
        assert replaced(memory) == [("6000", other.seq), ("5433", first.seq)]
        memory.admin.rebuild()
        assert replaced(memory) == [("6000", other.seq), ("5433", first.seq)]


def test_a_value_whose_words_all_stay_has_them_all(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        first = memory.remember("Alice likes tea.", key="tea")
        memory.remember("Alice no longer likes tea.", key="tea")
        assert replaced(memory) == [(token, first.seq) for token in ("alic", "like", "tea")]


def test_a_record_let_in_by_a_review_replaces(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        first = memory.remember("Staging is on port 5433.", key="port")
        held = memory.scoped(trust="agent").remember("Staging is on port 6000.", key="port")
        assert replaced(memory) == []
        (waiting,) = memory.review.list()
        memory.review.approve(waiting.id, waiting.digest)
        assert replaced(memory) == [("5433", first.seq)]
        memory.forget(held.id)
        memory.undo(first.id)
        memory.remember("Staging is on port 7000.", replaces=first.id)
        assert replaced(memory) == [("5433", first.seq)]
        assert len(by(memory)) == 2


def test_long_texts_and_held_ones_are_no_values(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        memory.remember("Staging is on port 5433. " * 20, key="port")
        memory.remember("Staging is on port 6000.", key="port")
        held = memory.scoped(trust="unverified").remember("Alice likes tea.")
        memory.revise(held.id, "Alice likes port.")
        memory.remember("Staging is on port 6000.", key="again")  # the same words
        assert replaced(memory) == []


def rows(memory: Memory) -> list[tuple[str, int, str]]:
    """Everything that is kept of replaced values, also after the index was built again."""
    with handle_of(memory).reading() as reads:
        found = reads.replaced(TOKENS, None, 100, 100)
    memory.admin.rebuild()
    with handle_of(memory).reading() as reads:
        assert reads.replaced(TOKENS, None, 100, 100) == found
    return found


@pytest.mark.parametrize("gone", [(0,), (1,), (2,), (0, 1), (1, 2), (1, 0), (2, 1), (0, 1, 2)])
def test_an_erasure_leaves_nothing_of_either_side(tmp_path: Path, gone: tuple[int, ...]) -> None:
    with Memory.open(tmp_path / "m") as memory:
        records = [
            memory.remember(f"Staging is on port {port}.", key="port")
            for port in (5433, 6000, 7000)
        ]
        assert [token for token, _ in replaced(memory)] == ["6000", "5433"]
        for number in gone:
            memory.erase(records[number].id)
        left = [port for number, port in enumerate(("5433", "6000", "7000")) if number not in gone]
        assert rows(memory) == [
            (token, records[("5433", "6000").index(token)].seq, records[2].id)
            for token in ("6000", "5433")
            if token in left and "7000" in left
        ] + ([("5433", records[0].seq, records[1].id)] if left == ["5433", "6000"] else [])


def test_a_value_over_a_gap_is_that_of_the_time(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        first = memory.remember("Staging is on port 5433.")
        second = memory.remember("Staging is on port 6000.", replaces=first.id)
        third = memory.remember("Staging is on port 7000.", replaces=second.id)
        memory.forget(third.id)
        memory.undo(first.id)
        memory.revise(first.id, "Alice likes tea.")
        memory.erase(second.id)
        assert ("5433", first.seq, third.id) in rows(memory)


def test_of_many_values_with_a_word_the_last_ones_of_a_user_are_read(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        for name in ("ann", "bob"):
            mine = memory.scoped(user=name)
            record = mine.remember("Staging 5433 0")
            for number in range(1, 6):
                mine.revise(record.id, f"{'tea' if number % 2 else 'Staging 5433'} {number}")
        with handle_of(memory).reading() as reads:
            every = reads.replaced(TOKENS, None, 100, 100)
            anns = reads.replaced(TOKENS, "ann", 2, 100)
            some = reads.replaced(TOKENS, None, 1, 2)
        assert len(every) == 2 * (3 * 2 + 2)
        first = anns[0][1]
        assert [(token, first - seq) for token, seq, _ in anns] == [
            *(("5433", 0), ("stage", 0), ("tea", 1)),
            *(("5433", 2), ("stage", 2), ("tea", 3)),
        ]
        assert first < every[0][1]
        assert [token for token, *_ in every[:4]] == ["tea"] * 4  # of fewer values
        assert [token for token, *_ in some] == ["5433", "stage"]
