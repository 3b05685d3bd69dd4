"""A replaced value does not come back unmarked: random conversations, and a judge."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from recollect import Memory
from recollect.finding import search
from recollect.finding.replaced import Marked
from tests.suites.conftest import Tell
from tests.suites.replaced import Unmarked, one_conversation

CONVERSATIONS = 1_000


def conversations(count: int, first: int, place: Path | None = None) -> list[Unmarked]:
    """What came back unmarked in so many conversations, each in a memory of its own."""
    found: list[Unmarked] = []
    for seed in range(first, first + count):
        with Memory.open(":memory:" if place is None else place / str(seed)) as memory:
            found += one_conversation(memory, seed)[1]
    return found


@pytest.mark.parametrize("count", [20, pytest.param(CONVERSATIONS, marks=pytest.mark.nightly)])
def test_no_replaced_value_comes_back_unmarked(count: int, tell: Tell) -> None:
    first = random.randrange(2**32)
    found = conversations(count, first)
    tell(f"replaced values: {count:,} conversations from seed {first}, {len(found)} lines unmarked")
    assert found == []


def test_no_replaced_value_comes_back_unmarked_from_files(tmp_path: Path) -> None:
    assert conversations(3, random.randrange(2**32), tmp_path) == []


def test_control_without_marks_they_come_back(monkeypatch: pytest.MonkeyPatch, tell: Tell) -> None:
    monkeypatch.setattr(search, "with_changes", lambda _reads, _wish, hits: Marked(hits, {}))
    found = conversations(10, 0)
    calls = Counter(each.call for each in found)
    tell(f"replaced values, control: {dict(calls)} lines unmarked in 10 conversations")
    assert set(calls) == {"context", "recall", "hook"}
    assert len({each.seed for each in found}) >= 8
