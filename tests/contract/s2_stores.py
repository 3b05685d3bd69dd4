"""S2: both stores over one memory, deltas and episodes for tests, and a record that is forged."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from recollect import AsyncMemory, Memory
from recollect.contracts.episodic import (
    AddDelta,
    DeleteDelta,
    Episode,
    Fact,
    FactPattern,
    MemoryDelta,
    SQLiteFactStore,
    SQLiteMemoryStore,
    UpdateDelta,
)
from recollect.model.events import Trust
from recollect.testing.episodic_suite import NOON, episode, put, rule

T = TypeVar("T")
PROVENANCE: dict[str, Any] = {"promotion_ts": NOON, "rule_id": "nightly", "confidence": 0.9}


class Stores:
    """The two stores over one memory."""

    def __init__(self, memory: Memory, runner: asyncio.Runner) -> None:
        self.memory = memory
        self._runner = runner
        self._opened: list[AsyncMemory] = []
        self.episodes = SQLiteMemoryStore.over(self._with("agent"))
        self.facts = SQLiteFactStore.over(self._with("agent"))

    def _with(self, origin: Trust) -> AsyncMemory:
        return AsyncMemory(self.memory.scoped(trust=origin))

    def of(self, origin: Trust) -> SQLiteMemoryStore:
        return SQLiteMemoryStore.over(self._with(origin))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def put(self, *episodes: Episode) -> None:
        self.wait(put(self.episodes, *episodes))

    def apply(self, *deltas: MemoryDelta) -> None:
        for delta in deltas:
            self.wait(self.facts.apply_delta(delta))

    def consolidate(self, when_filter: str = "") -> list[MemoryDelta]:
        return self.wait(self.episodes.consolidate(rule(when_filter)))

    def found(self, **pattern: Any) -> list[Fact]:
        return self.wait(self.facts.query(FactPattern(**pattern)))

    def texts(self, **pattern: Any) -> list[str]:
        return [fact.payload["content"] for fact in self.found(**pattern)]


@pytest.fixture
def stores(memory: Memory) -> Iterator[Stores]:
    with asyncio.Runner() as runner:
        yield Stores(memory, runner)


def add(*sources: str, content: str = "Alice sits in 4A.", **payload: Any) -> AddDelta:
    told = {"content": content, **payload}
    return AddDelta(fact_payload=told, source_episode_ids=list(sources), **PROVENANCE)


def update(*sources: str, replaces: list[str], content: str) -> UpdateDelta:
    return UpdateDelta(
        fact_payload={"content": content},
        source_episode_ids=list(sources),
        replaces=replaces,
        **PROVENANCE,
    )


def delete(*sources: str, replaces: list[str]) -> DeleteDelta:
    return DeleteDelta(source_episode_ids=list(sources), replaces=replaces, **PROVENANCE)


def seat(id: str, hours: float, number: str, **more: Any) -> Episode:
    said = f"Alice sits in {number}."
    return episode(id, hours, said, subject="alice", predicate="seat", object=number, **more)


def forged(*sources: str, **fields: Any) -> dict[str, Any]:
    """The arguments of a record that says it is a fact."""
    lineage = {"rule_id": "r", "source_episode_ids": list(sources), "promotion_ts": "2026"}
    own = {"payload": {"subject": "x"}, "lineage": [lineage], "has_content": True}
    return {"data": {"episodic": own}, **fields}
