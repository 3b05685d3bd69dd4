"""The conformance suite of a store of episodes: ``recollect.contracts.episodic.MemoryStore``.

Subclass ``EpisodicSuite`` and define a fixture ``store`` with an empty store. Each test bootstraps
it in an event loop of its own.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

import pytest

from recollect.contracts.episodic import (
    AddDelta,
    ConsolidationRule,
    DeleteDelta,
    Episode,
    MemoryDelta,
    MemoryStore,
    MigrationNotSupported,
    MigrationPlan,
    NoopDelta,
    StoreHealth,
    UpdateDelta,
)

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
# Names that a pattern, a path or a comparison without case would confuse with "alice".
HOSTILE: Final = (
    "alice", "Alice", "ALICE", "aliceX", "alic_", "a%", "%", "_____", "alice/session/S1",
    "alice/session/S1/agent/rag", "ali", "alice\\", "alice'--", "\uff41lice", "al*", "[a]lice",
)  # fmt: skip
SCOPE: Final = {"user": "alice", "session": "S1", "agent": "rag"}


def episode(id: str, hours: float = 0, content: str | None = None, **changed: Any) -> Episode:
    """An episode so many hours after noon; keywords are parts of its scope, or metadata."""
    scope = {part: changed.pop(part, name) for part, name in SCOPE.items()}
    return Episode(
        id=id,
        content=content or f"content of {id}",
        timestamp=NOON + timedelta(hours=hours),
        source_node="node-1",
        metadata=changed,
        **scope,
    )


def rule(when_filter: str = "", id: str = "rule-1") -> ConsolidationRule:
    """A rule."""
    return ConsolidationRule(
        id=id, cadence={"every": 10}, when_filter=when_filter, then_emits=["facts"]
    )


async def put(store: MemoryStore, *episodes: Episode) -> None:
    """Puts each episode in the scope that it names."""
    for one in episodes:
        await store.put(one, user=one.user, session=one.session, agent=one.agent)


def ids(found: list[Episode]) -> list[str]:
    """The ids of episodes."""
    return [one.id for one in found]


class EpisodicSuite:
    """Episodes are kept by scope, read newest first, and become deltas by rules."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        """An empty store; subclasses say which."""
        raise NotImplementedError

    def run(self, store: MemoryStore, scenario: Callable[[], Awaitable[None]]) -> None:
        """Bootstraps the store and runs a scenario."""

        async def whole() -> None:
            await store.bootstrap()
            await scenario()

        asyncio.run(whole())

    # The protocol.

    def test_it_is_a_store_by_its_methods(self, store: MemoryStore) -> None:  # S2-116
        assert isinstance(store, MemoryStore)

    def test_every_method_is_awaited_and_takes_the_stated_arguments(
        self, store: MemoryStore
    ) -> None:
        # S2-117 S2-118 S2-119 S2-120 S2-121 S2-122
        wanted = {
            "bootstrap": "()",
            "health": "()",
            "migrate": "(plan)",
            "put": "(episode, *, user, session, agent)",
            "recent": "(user, session=None, agent=None, *, limit)",
            "consolidate": "(rule)",
        }
        for name, shape in wanted.items():
            method = getattr(store, name)
            assert inspect.iscoroutinefunction(method), name
            parameters = inspect.signature(method).parameters.values()
            bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
            assert str(inspect.Signature(bare)) == shape

    def test_bootstrap_again_changes_nothing(self, store: MemoryStore) -> None:  # S2-117 S2-123
        async def scenario() -> None:
            await put(store, episode("e1"))
            await store.bootstrap()
            assert ids(await store.recent("alice", limit=10)) == ["e1"]

        self.run(store, scenario)

    def test_health_counts_the_episodes(self, store: MemoryStore) -> None:  # S2-118 S2-127
        async def scenario() -> None:
            for count in range(3):
                health = await store.health()
                assert isinstance(health, StoreHealth)
                assert (health.ok, health.fragment_count) == (True, count)
                await put(store, episode(f"e{count}", user=f"user-{count}"))

        self.run(store, scenario)

    def test_a_migration_only_adds_nullable_columns(self, store: MemoryStore) -> None:
        # S2-119 S2-128 S2-166 S2-167
        good = {"op": "add_column", "name": "mood", "nullable": True}
        bad: list[dict[str, Any]] = [
            {"op": "drop_column", "name": "content"},
            {"op": "rename", "name": "content", "to": "body"},
            {"op": "add_column", "name": "mood"},
            {"op": "add_column", "name": "mood", "nullable": False},
            {"op": "ADD_COLUMN", "name": "mood", "nullable": True},
            {},
        ]

        async def scenario() -> None:
            await put(store, episode("e1"))
            await store.migrate(MigrationPlan(target_version=2, operations=[]))
            await store.migrate(MigrationPlan(target_version=2, operations=[good, good]))
            for operation in bad:
                with pytest.raises(MigrationNotSupported):
                    await store.migrate(
                        MigrationPlan(target_version=2, operations=[good, operation])
                    )
            assert ids(await store.recent("alice", limit=10)) == ["e1"]

        self.run(store, scenario)

    # Episodes.

    def test_an_episode_is_read_back_equal(self, store: MemoryStore) -> None:
        # S2-120 S2-145 S2-146 S2-147 S2-148 S2-149 S2-150
        told = Episode(
            id="ep/1:a",
            content="Zoë said: 0°C\nand 'ok' 日本",
            timestamp=datetime(2026, 3, 1, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=2))),
            source_node="planner/step 2",
            agent="rag",
            user="alice",
            session="S1",
            metadata={
                "intent": "add",
                "subject": "lake",
                "nested": {"list": [1, 2.5, None, True, {"x": "y"}], "empty": {}},
                "": "an empty key",
            },
        )

        async def scenario() -> None:
            await put(store, told)
            (found,) = await store.recent("alice", limit=1)
            assert found == told
            assert found.timestamp.utcoffset() is not None

        self.run(store, scenario)

    def test_an_id_names_one_episode(self, store: MemoryStore) -> None:  # S2-145
        async def scenario() -> None:
            first = episode("e1", content="first")
            await put(store, first, first)  # the same again is one
            others = [
                episode("e1", content="second"),
                episode("e1", content="first", user="bob"),
                episode("e1", content="first", session="S2"),
                episode("e1", 1, content="first"),
                episode("e1", content="first", mood="new"),
            ]
            for other in others:
                with pytest.raises(Exception, match="e1"):
                    await put(store, other)
            assert await store.recent("alice", limit=10) == [first]
            assert await store.recent("bob", limit=10) == []
            assert (await store.health()).fragment_count == 1

        self.run(store, scenario)

    def test_an_episode_is_put_in_the_scope_that_it_names(self, store: MemoryStore) -> None:
        # S2-149
        async def scenario() -> None:
            for part in SCOPE:
                with pytest.raises(Exception, match=part):
                    await store.put(episode("e1"), **{**SCOPE, part: "mallory"})
            assert (await store.health()).fragment_count == 0

        self.run(store, scenario)

    # Reading.

    def test_the_newest_come_first_by_instant(self, store: MemoryStore) -> None:  # S2-135
        east, west = timezone(timedelta(hours=14)), timezone(timedelta(hours=-11))

        async def scenario() -> None:
            for number, moment in enumerate(
                [
                    NOON.astimezone(east),  # the largest text, the second instant
                    (NOON + timedelta(minutes=1)).astimezone(west),  # the newest
                    NOON - timedelta(microseconds=1),
                ]
            ):
                one = episode(f"e{number}")
                at = Episode(**{**vars(one), "timestamp": moment})
                await put(store, at)
            assert ids(await store.recent("alice", limit=10)) == ["e1", "e0", "e2"]
            assert ids(await store.recent("alice", limit=2)) == ["e1", "e0"]
            assert ids(await store.recent("alice", limit=1)) == ["e1"]

        self.run(store, scenario)

    def test_a_level_that_is_left_out_stands_for_any(self, store: MemoryStore) -> None:
        # S2-121 S2-131 S2-132 S2-133 S2-134
        async def scenario() -> None:
            for number, (session, agent) in enumerate(
                [("S1", "rag"), ("S1", "web"), ("S2", "rag"), ("S2", "web")]
            ):
                await put(store, episode(f"e{number}", number, session=session, agent=agent))
            await put(store, episode("other", 9, user="bob"))
            assert ids(await store.recent("alice", "S1", "rag", limit=9)) == ["e0"]
            assert ids(await store.recent("alice", "S1", limit=9)) == ["e1", "e0"]
            assert ids(await store.recent("alice", limit=9)) == ["e3", "e2", "e1", "e0"]
            assert ids(await store.recent("alice", agent="rag", limit=9)) == ["e2", "e0"]
            assert await store.recent("alice", "S3", limit=9) == []

        self.run(store, scenario)

    @pytest.mark.parametrize("part", list(SCOPE))
    def test_a_scope_is_compared_exactly(self, store: MemoryStore, part: str) -> None:  # S2-130
        """Case, ``_``, ``%``, ``/`` and every other sign neither widen a read nor leak."""

        async def scenario() -> None:
            for number, name in enumerate(HOSTILE):
                await put(store, episode(f"e{number}", number, **{part: name}))
            for number, name in enumerate(HOSTILE):
                asked = {**SCOPE, part: name}
                found = await store.recent(**asked, limit=100)
                assert ids(found) == [f"e{number}"], name
                assert getattr(found[0], part) == name
            if part == "user":
                for name in ("a", "alice%", "%alice", "/", "alice/", "aliceXY"):
                    assert await store.recent(name, limit=100) == [], name

        self.run(store, scenario)

    # Rules.

    def test_metadata_says_what_becomes_of_an_episode(self, store: MemoryStore) -> None:
        # S2-122 S2-137 S2-138 S2-139 S2-140 S2-141 S2-150
        async def scenario() -> None:
            await put(
                store,
                episode("plain", 1),
                episode("noop", 2, intent="noop"),
                episode("delete", 3, intent="delete", replaces=["f1", "f2"]),
                episode("update", 4, intent="update", replaces=["f3"]),
            )
            found = await store.consolidate(rule())
            kinds = [type(delta) for delta in found]
            assert kinds == [AddDelta, NoopDelta, DeleteDelta, UpdateDelta]
            assert [delta.kind for delta in found] == ["add", "noop", "delete", "update"]
            _, _, delete, update = found
            assert isinstance(delete, DeleteDelta)
            assert isinstance(update, UpdateDelta)
            assert (delete.replaces, update.replaces) == (["f1", "f2"], ["f3"])
            assert update.fact_payload["content"] == "content of update"

        self.run(store, scenario)

    def test_every_delta_has_its_provenance(self, store: MemoryStore) -> None:
        # S2-151 S2-160 S2-170
        async def scenario() -> None:
            triple = {"subject": "alice", "predicate": "seat", "object": "4A"}
            await put(
                store,
                episode("a", 1),
                episode("b", 2, intent="noop"),
                episode("c", 3, intent="update", replaces=["f1"]),
                episode("d", 4, intent="delete", replaces=["f2"]),
                episode("e", 5, **triple),
                episode("f", 6, **triple),
            )
            found: list[MemoryDelta] = await store.consolidate(rule(id="nightly"))
            assert [delta.source_episode_ids for delta in found] == [[id] for id in "abcdef"]
            kinds = ["add", "noop", "update", "delete", "add", "update"]
            assert [delta.kind for delta in found] == kinds
            for delta in found:
                assert delta.rule_id == "nightly"
                assert delta.promotion_ts.utcoffset() is not None
                assert 0.0 <= delta.confidence <= 1.0

        self.run(store, scenario)

    def test_a_repeated_subject_and_predicate_is_an_update(self, store: MemoryStore) -> None:
        # S2-142 S2-150
        def seat(id: str, hours: float, number: str, **more: Any) -> Episode:
            return episode(id, hours, subject="alice", predicate="seat", object=number, **more)

        async def scenario() -> None:
            await put(
                store,
                seat("third", 3, "1C"),  # by instant, not in the order of puts
                seat("first", 1, "4A"),
                seat("second", 2, "12B", session="S2"),
                episode("half", 4, subject="alice"),
                episode("other", 5, subject="alice", predicate="meal", object="none"),
                seat("hers", 6, "9F", user="bob"),  # another user's is never replaced
            )
            found = await store.consolidate(rule())
            told = [(d.source_episode_ids[0], getattr(d, "replaces", None)) for d in found]
            assert told == [
                ("first", None), ("second", ["first"]), ("third", ["second"]),
                ("half", None), ("other", None), ("hers", None),
            ]  # fmt: skip
            first = found[0]
            assert isinstance(first, AddDelta)
            assert first.fact_payload["object"] == "4A"

        self.run(store, scenario)

    def test_a_rule_looks_at_all_episodes_each_time(self, store: MemoryStore) -> None:
        # S2-144
        async def scenario() -> None:
            await put(store, episode("a", 1), episode("b", 2, content="content of a"))
            first = await store.consolidate(rule())
            again = await store.consolidate(rule())
            assert [type(delta) for delta in first] == [AddDelta, AddDelta]  # texts do not count
            assert [d.source_episode_ids for d in again] == [["a"], ["b"]]

        self.run(store, scenario)

    @pytest.mark.parametrize(
        ("when_filter", "wanted"),
        [
            ("", "abcd"),
            ("  \n", "abcd"),
            ("id = 'b'", "b"),
            ("timestamp > '2026-03-01T13:00:00+00:00'", "bcd"),
            ("scope_key = '/user/bob/session/S1/agent/rag/'", "d"),
            ("scope_key LIKE '/user/alice/session/%/agent/%/'", "abc"),
            ("json_extract(metadata, '$.mood') = 'calm'", "a"),
            ("json_extract(metadata, '$.mood') <> 'calm'", "b"),
            ("json_extract(metadata, '$.mood') IS NULL AND NOT id = 'c'", "d"),
            ("json_extract(metadata, '$.n') >= 2 OR id IN ('d', 'x')", "bd"),
            ("content LIKE '%OF _' AND metadata LIKE '%\"CALM\"%'", "a"),
            ("substr(id, 1, 1) = lower('B') OR length(content) < 3", "b"),
            ("timestamp >= datetime('2026-03-01 14:00:00', '+1 hour')", "cd"),
            ("timestamp < datetime('now', '-1 day') AND 1=1", "abcd"),
        ],
    )
    def test_a_filter_chooses_the_episodes(
        self, store: MemoryStore, when_filter: str, wanted: str
    ) -> None:  # S2-136 S2-137 S2-153
        async def scenario() -> None:
            await put(
                store,
                episode("a", 1, mood="calm", n=1),
                episode("b", 2, mood="tense", n=2),
                episode("c", 3),
                episode("d", 4, user="bob"),
            )
            found = await store.consolidate(rule(when_filter))
            assert "".join(delta.source_episode_ids[0] for delta in found) == wanted

        self.run(store, scenario)
