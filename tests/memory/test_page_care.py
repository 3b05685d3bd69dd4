"""Page care: dormant pages and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from recollect import Memory
from recollect.errors import Forbidden, InvalidInput
from recollect.memory.handle.handle import Handle
from recollect.model.values import PageInfo, PageLimits
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.seams import FixedSeam

DAY_US = 86_400_000_000


@pytest.fixture
def seam() -> FixedSeam:
    return FixedSeam()


@pytest.fixture
def memory(seam: FixedSeam) -> Iterator[Memory]:
    with Memory(Handle(MemorySpace("main", seam), seam)) as opened:
        yield opened


def page(memory: Memory, name: str) -> PageInfo:
    (found,) = [page for page in memory.pages.list() if page.name == name]
    return found


def test_a_page_that_nothing_touches_is_dormant(memory: Memory, seam: FixedSeam) -> None:
    # S3-194: dormant by the clock, archived by hand
    memory.remember("Fast.", about="tool:Make")
    assert page(memory, "tool-make").status == "active"
    then, text = memory.events.position, memory.pages.read("tool-make")
    seam.now_us += 30 * DAY_US - 60_000_000
    assert page(memory, "tool-make").status == "active"
    seam.now_us += 60_000_000
    assert page(memory, "tool-make").status == "dormant"
    assert memory.pages.read("tool-make") == text  # no text depends on the clock
    assert "dormant" not in memory.pages.read("index")
    assert page(memory.at(then), "tool-make").status == "active"  # as it was then
    assert "tool-make" in [one.name for one in memory.pages.care()]
    memory.pages.archive("tool-make")
    seam.now_us += 100 * DAY_US
    assert page(memory, "tool-make").status == "archived"
    assert memory.pages.activate("tool-make").status == "active"  # touched just now
    memory.pages.set_limits(auto_dormant_days=200)
    seam.now_us += 199 * DAY_US
    assert page(memory, "tool-make").status == "active"


def test_a_long_page_is_suggested_and_a_very_long_one_flagged(memory: Memory) -> None:
    # S3-218 S3-219
    assert memory.pages.limits() == PageLimits(soft_limit_tokens=20_000, hard_limit_tokens=50_000)
    sentence = "word " * 4_000
    for number in range(6):
        memory.remember(f"{number} {sentence}", about="tool:Long")
        memory.remember(f"{number} {sentence[:1_000]}", about="tool:Short")
    long = page(memory, "tool-long")
    assert not long.needs_compact
    assert (long.compact_reason or "").endswith("tokens, more than 20,000")
    assert [one.name for one in memory.pages.care()] == ["tool-long"]
    assert memory.settings.documents.list("page_flag") == []  # a suggestion is no flag
    for number in range(7, 14):
        memory.remember(f"{number} {sentence}", about="tool:Long")
    long = page(memory, "tool-long")
    assert long.needs_compact
    assert (long.compact_reason or "").endswith("tokens, more than 50,000")
    assert page(memory, "tool-short").compact_reason is None
    position = memory.events.position
    assert memory.pages.care() == memory.pages.care()
    assert "\nneeds_compact: true\n" in memory.pages.read("tool-long")
    assert memory.events.position == position + 1  # flagged once


def test_limits_are_a_document(memory: Memory) -> None:
    memory.remember("x " * 200, about="tool:Long")
    assert page(memory, "tool-long").compact_reason is None
    set_to = memory.pages.set_limits(soft_limit_tokens=100, hard_limit_tokens=150)
    assert set_to == memory.pages.limits()
    assert page(memory, "tool-long").needs_compact
    memory.settings.documents.set(
        "settings", "pages", {"soft_limit_tokens": "x", "hard_limit_tokens": -1}
    )
    assert memory.pages.limits() == PageLimits()  # what cannot be read counts as not set
    wrong_ones: tuple[dict[str, Any], ...] = (
        {"auto_dormant_days": 0},
        {"soft_limit_tokens": 10**10},
        {"soft_limit_tokens": 60_000},
        {"hard_limit_tokens": 1.5},
    )
    for wrong in wrong_ones:
        with pytest.raises(InvalidInput):
            memory.pages.set_limits(**wrong)
    memory.pages.set_limits(auto_dormant_days=3)
    with pytest.raises(Forbidden):
        memory.scoped(trust="agent").pages.set_limits(auto_dormant_days=4)
