"""S2: the cadence of a rule: it runs when it is due, once, also after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime

import pytest

from recollect import AsyncMemory, Memory
from recollect.contracts.episodic import (
    ConsolidationRule,
    FactPattern,
    MemoryDelta,
    SQLiteFactStore,
    SQLiteMemoryStore,
)
from recollect.errors import Forbidden, Unavailable
from recollect.memory.handle.handle import Handle
from recollect.model.events import Trust
from recollect.store.indexed.backend import MemorySpace
from recollect.testing.episodic_suite import episode, put
from tests.suites.histories import Clockwork

HOUR_US = 3_600_000_000
EVERY = ConsolidationRule(
    id="every", cadence={"every": 2}, when_filter="content LIKE '%tea%'", then_emits=["drinks"]
)
NIGHTLY = ConsolidationRule(
    id="nightly", cadence={"cron": "0 3 * * *"}, when_filter="", then_emits=[]
)
WEEKLY = ConsolidationRule(
    id="weekly", cadence={"cron": "0 0 * * 1"}, when_filter="", then_emits=[]
)


@pytest.fixture
def seam() -> Clockwork:
    return Clockwork(1)


@pytest.fixture
def memory(seam: Clockwork) -> Iterator[Memory]:
    with Memory(Handle(MemorySpace("main", seam), seam)) as opened:
        yield opened


def stores(memory: Memory, origin: Trust = "agent") -> tuple[SQLiteMemoryStore, SQLiteFactStore]:
    """Both stores, as a process that has just started has them."""
    scoped = AsyncMemory(memory.scoped(trust=origin))
    return SQLiteMemoryStore.over(scoped), SQLiteFactStore.over(scoped)


async def due(memory: Memory, *rules: ConsolidationRule) -> list[str]:
    """The episodes that became facts, by a process that has just started."""
    episodes, facts = stores(memory)
    return [one.source_episode_ids[0] for one in await episodes.run_due(rules, facts)]


def test_a_rule_runs_after_so_many_episodes_that_match(memory: Memory) -> None:  # S2-152
    async def scenario() -> None:
        episodes, facts = stores(memory)
        await put(episodes, episode("a", 1, "Tea."), episode("b", 2, "Rain."))
        assert await due(memory, EVERY) == []
        await put(episodes, episode("c", 3, "More tea."))
        assert await due(memory, EVERY) == ["a", "c"]
        (first, *_) = found = await facts.query(FactPattern())
        assert (len(found), first.payload["channels"]) == (2, ["drinks"])
        assert await due(memory, EVERY) == [], "nothing is new"
        await put(episodes, episode("d", 4, "TEA again."))
        assert await due(memory, EVERY) == []
        await put(episodes, episode("e", 5, "Tea, and tea."))
        assert await due(memory, EVERY) == ["a", "c", "d", "e"], "a pass looks at all episodes"
        assert len(await facts.query(FactPattern())) == 4

    asyncio.run(scenario())


def test_a_rule_runs_at_its_time_of_this_machines_clock(memory: Memory, seam: Clockwork) -> None:
    # S2-152
    async def scenario() -> None:
        episodes, _ = stores(memory)
        await put(episodes, episode("a"))
        assert await due(memory, NIGHTLY) == ["a"], "it never ran"
        assert await due(memory, WEEKLY) == ["a"]
        ran: dict[str, list[datetime]] = {"nightly": [], "weekly": []}
        for _ in range(24 * 7):
            seam.tick(HOUR_US)
            for rule in (NIGHTLY, WEEKLY, NIGHTLY, WEEKLY):
                if await due(memory, rule):
                    ran[rule.id].append(datetime.fromisoformat(seam.now()))
        assert len(ran["nightly"]) == 7, "once a night"
        assert {at.hour for at in ran["nightly"]} == {2}, "03:00, an hour east of UTC"
        (weekly,) = ran["weekly"]
        assert (weekly.isoweekday(), weekly.hour) == (7, 23), "00:00 of Monday there"
        seam.tick(24 * 30 * HOUR_US)
        assert await due(memory, NIGHTLY) == ["a"]
        assert await due(memory, NIGHTLY) == [], "a month without a call is one pass"

    asyncio.run(scenario())


class Full(SQLiteFactStore):
    """A fact store whose disk is full for a moment."""

    is_full = True

    async def apply_delta(self, delta: MemoryDelta) -> None:
        if self.is_full:
            raise Unavailable("the disk is full")
        await super().apply_delta(delta)


def test_a_pass_that_was_stopped_runs_again(memory: Memory) -> None:
    async def scenario() -> None:
        episodes, facts = stores(memory)
        await put(episodes, episode("a", content="Tea."), episode("b", content="Tea."))
        full = Full.over(AsyncMemory(memory.scoped(trust="agent")))
        with pytest.raises(Unavailable):
            await episodes.run_due([EVERY], full)
        assert await facts.query(FactPattern()) == []
        full.is_full = False
        assert len(await episodes.run_due([EVERY], full)) == 2
        assert await episodes.run_due([EVERY], full) == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"through": "x", "at": 5},
        {"through": 1, "at": "soon"},
        {"through": 1, "at": "9999-01-01T00:00:00.000000Z"},
        {"through": 1 << 50, "at": ""},
    ],
)
def test_a_note_that_is_none_of_ours_counts_as_no_pass(
    memory: Memory, data: dict[str, object]
) -> None:
    memory.scoped(trust="agent").settings.documents.set("episodic", "nightly", data)  # type: ignore[arg-type]

    async def scenario() -> None:
        episodes, _ = stores(memory)
        await put(episodes, episode("a"))
        assert await due(memory, NIGHTLY) == ["a"]
        assert await due(memory, NIGHTLY) == []

    asyncio.run(scenario())


def test_a_store_that_could_note_no_pass_is_refused_before_it(memory: Memory) -> None:
    async def scenario() -> None:
        hers = memory.scoped(user="ann", trust="agent")
        for refused in (memory.scoped(trust="unverified"), hers):
            episodes = SQLiteMemoryStore.over(AsyncMemory(refused))
            facts = SQLiteFactStore.over(AsyncMemory(refused))
            await put(episodes, episode(f"a-{refused.scope.trust}", user="ann"))
            with pytest.raises(Forbidden):
                await episodes.run_due([NIGHTLY], facts)
            assert await facts.query(FactPattern()) == []

    asyncio.run(scenario())


def test_what_is_left_out_is_named_for_all_rules(memory: Memory) -> None:  # S2-170
    async def scenario() -> None:
        episodes, facts = stores(memory)
        await put(episodes, episode("a", intent="merge"), episode("b", content="Tea."))
        await episodes.run_due([NIGHTLY, EVERY], facts)
        assert [one.episode_id for one in episodes.skipped] == ["a"]

    asyncio.run(scenario())
