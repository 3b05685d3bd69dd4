"""What a context owes to the clock: ages, expiry, and how long it may be given again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta

import pytest

from recollect import Memory
from recollect.errors import LimitExceeded
from recollect.memory.handle.handle import Handle
from recollect.model import limits
from recollect.model.presets import BUILT_IN, Preset, Template
from recollect.store.indexed.backend import MemorySpace
from tests.suites.histories import Clockwork

MINUTE_US = 60_000_000
EVEN = BUILT_IN["task"].weights


@pytest.fixture
def seam() -> Clockwork:
    return Clockwork(1)


@pytest.fixture
def memory(seam: Clockwork) -> Iterator[Memory]:
    with Memory(Handle(MemorySpace("main", seam), seam)) as opened:
        yield opened


def work(memory: Memory, seam: Clockwork, minutes: int) -> None:
    """So many active minutes: something happens every ten."""
    for _ in range(minutes // 10):
        seam.tick(10 * MINUTE_US)
        memory.observe("tick")


def test_recency_counts_active_hours_since_the_last_reinforcement(
    memory: Memory, seam: Clockwork
) -> None:  # S4-243
    record = memory.remember("The garden has roses")
    (said,) = memory.observe("I like the garden")
    work(memory, seam, 300)
    seam.tick(5_000 * MINUTE_US)  # nobody is there: no time passes
    shares = {hit.id: hit.shares["recency"] for hit in memory.context("garden").hits}
    expected = 0.2 * math.exp(-0.01 * 5.0)
    assert shares[record.id] == pytest.approx(expected, rel=1e-12)
    assert shares[said.id] == pytest.approx(expected, rel=1e-12)
    memory.used(None, [record.id])
    hours = memory.status().active_hours
    last = memory.history(record.id)[-1]
    assert (last.record.reinforced_hours, last.record.last_reinforced_at) == (hours, last.at)
    assert memory.context("garden").hits[0].shares["recency"] == 0.2
    memory.revise(record.id, tags=["green"])
    assert memory.get(record.id).last_reinforced_at == last.at  # type: ignore[union-attr]
    assert memory.history(record.id)[0].record.last_reinforced_at == record.created_at


def test_what_expires_leaves_a_kept_context(memory: Memory, seam: Clockwork) -> None:
    memory.settings.presets.set(Preset(name="kept", weights=EVEN, cache="write"))
    memory.remember("The garden is open", expires=timedelta(minutes=30))
    first = memory.context("garden", preset="kept")
    seam.tick(29 * MINUTE_US)
    assert memory.context("garden", preset="kept") is first
    seam.tick(1 * MINUTE_US)
    assert memory.context("garden", preset="kept").text == ""


def test_seconds_are_seconds(memory: Memory, seam: Clockwork) -> None:
    memory.settings.presets.set(Preset(name="timed", weights=EVEN, cache=60))
    memory.remember("The garden is open")
    first = memory.context("garden", preset="timed")
    seam.tick(59_999_999)
    assert memory.context("garden", preset="timed") is first
    seam.tick(1)
    assert memory.context("garden", preset="timed") is not first


def test_what_another_handle_erases_leaves_a_kept_context(memory: Memory) -> None:
    memory.settings.presets.set(Preset(name="timed", weights=EVEN, cache=3_600))
    record = memory.remember("The garden is open")
    other = memory.scoped(agent="other")
    memory.remember("A lamp")
    first = other.context("garden", preset="timed")
    memory.remember("A ladder")
    assert other.context("garden", preset="timed") is first
    memory.erase(record.id)
    assert other.context("garden", preset="timed").text == ""


def test_a_changed_preset_gives_a_new_context(memory: Memory) -> None:
    memory.remember("The garden is open")
    memory.settings.presets.set(Preset(name="kept", weights=EVEN, cache=60))
    memory.context("garden", preset="kept")
    other = memory.scoped(agent="other")
    other.settings.presets.set(
        Preset(name="kept", weights=EVEN, cache=60, template=Template(intro="New:"))
    )
    assert "New:" in memory.context("garden", preset="kept").text


def test_a_handle_keeps_so_many_contexts(memory: Memory) -> None:
    memory.settings.presets.set(Preset(name="kept", weights=EVEN, cache="write"))
    memory.remember("The garden is open")
    first = memory.context("garden 0", preset="kept", receipt=False)
    for number in range(1, limits.CACHE_MAX_COUNT + 1):
        memory.context(f"garden {number}", preset="kept", receipt=False)
    assert memory.context("garden 0", preset="kept", receipt=False) is not first
    assert len(memory._handle.kept._contexts) == limits.CACHE_MAX_COUNT


def test_a_guarantee_of_too_many_is_refused(memory: Memory) -> None:
    memory.settings.presets.set(Preset(name="all", weights=EVEN, guarantees=("x",), tokens=900_000))
    with memory.batch() as batch:
        for number in range(limits.GUARANTEED_MAX_COUNT + 1):
            batch.remember(f"number {number}", tags=["x"])
    with pytest.raises(LimitExceeded, match="over 1,000 records"):
        memory.context("number", preset="all")
    memory.forget(memory.list()[0].id)
    assert len(memory.context("number", preset="all").hits) == limits.GUARANTEED_MAX_COUNT


def test_what_is_not_valid_yet_is_not_guaranteed(memory: Memory) -> None:
    memory.settings.presets.set(Preset(name="rules", weights=EVEN, guarantees=("rules",)))
    memory.remember("In force", tags=["rules"])
    memory.remember("Not yet", tags=["rules"], valid_from="2090-01-01")
    memory.remember("No more", tags=["rules"], valid_to="2026-01-01")
    assert [hit.text for hit in memory.context("x", preset="rules").hits] == ["In force"]


def test_a_receipt_of_an_earlier_release_is_replayed_without_doubts(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("The garden may be open.", id="maybe", is_hypothesis=True)
    now = memory.context("garden")
    assert now.receipt is not None
    assert memory.replay(now.receipt).text == now.text
    assert "[maybe] (hypothesis)" in now.text
    monkeypatch.setattr("recollect.memory.contexts.receipts.RANKING_VERSION", 10)
    then = memory.context("the garden")
    assert then.receipt is not None
    assert memory.replay(then.receipt).text == now.text.replace(" (hypothesis)", "")
