"""S2: the published suite, on every engine, and on stores that it must find wrong."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, Memory
from recollect.contracts.episodic import (
    AddDelta,
    ConsolidationRule,
    Episode,
    MemoryDelta,
    MemoryStore,
    MigrationPlan,
    SQLiteMemoryStore,
    StoreHealth,
    scope_key,
    scope_pattern,
)
from recollect.testing.episodic_suite import EpisodicSuite


class TestOverEveryEngine(EpisodicSuite):
    @pytest.fixture
    def store(self, memory: Memory) -> MemoryStore:
        return SQLiteMemoryStore.over(AsyncMemory(memory.scoped(trust="agent")))


class TestAtAPath(EpisodicSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        store = SQLiteMemoryStore(path=tmp_path / "deep" / ".memory")
        yield store
        asyncio.run(store.close())


class TestOfUnverifiedText(EpisodicSuite):
    """What nobody vouches for is kept and read all the same; only its facts wait."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[MemoryStore]:
        store = SQLiteMemoryStore(path=tmp_path / ".memory", trust="unverified")
        yield store
        asyncio.run(store.close())


class Leaking:
    """A store as the original wrote it: one key for a scope, matched by LIKE, filters as SQL."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def bootstrap(self) -> None:
        with sqlite3.connect(self._path) as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS episodes (id TEXT PRIMARY KEY, scope_key TEXT NOT NULL,"
                " content BLOB NOT NULL, timestamp TEXT NOT NULL, metadata BLOB NOT NULL)"
            )
        db.close()

    async def health(self) -> StoreHealth:
        ((count,),) = self._rows("SELECT count(*) FROM episodes")
        return StoreHealth(ok=True, fragment_count=count)

    async def migrate(self, plan: MigrationPlan) -> None:
        raise NotImplementedError

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None:
        told = {**vars(episode), "timestamp": episode.timestamp.isoformat()}
        self._rows(
            "INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?)",
            (
                episode.id,
                f"/user/{user}/session/{session}/agent/{agent}/",
                json.dumps(told),
                told["timestamp"],
                json.dumps(episode.metadata),
            ),
        )

    async def recent(
        self, user: str, session: str | None = None, agent: str | None = None, *, limit: int
    ) -> list[Episode]:
        pattern = f"/user/{user}/session/{session or '%'}/agent/{agent or '%'}/"
        rows = self._rows(
            "SELECT content FROM episodes WHERE scope_key LIKE ? ORDER BY timestamp DESC LIMIT ?",
            (pattern, limit),
        )
        return [_decoded(text) for (text,) in rows]

    async def consolidate(self, rule: ConsolidationRule) -> list[MemoryDelta]:
        where = f" WHERE {rule.when_filter}" if rule.when_filter.strip() else ""
        rows = self._rows(f"SELECT id, content FROM episodes{where} ORDER BY timestamp")
        return [
            AddDelta(
                fact_payload={"content": _decoded(text).content},
                source_episode_ids=[id],
                promotion_ts=datetime(2026, 1, 1, tzinfo=UTC),
                rule_id=rule.id,
                confidence=1.0,
            )
            for id, text in rows
        ]

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        db = sqlite3.connect(self._path)
        with db:
            found = db.execute(statement, values).fetchall()
        db.close()
        return found


def _decoded(text: str) -> Episode:
    fields = json.loads(text)
    return Episode(**{**fields, "timestamp": datetime.fromisoformat(fields["timestamp"])})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("test_a_scope_is_compared_exactly", ("user",)),
        ("test_a_scope_is_compared_exactly", ("session",)),
        ("test_an_id_names_one_episode", ()),
        ("test_an_episode_is_put_in_the_scope_that_it_names", ()),
        ("test_the_newest_come_first_by_instant", ()),
        ("test_metadata_says_what_becomes_of_an_episode", ()),
        ("test_a_repeated_subject_and_predicate_is_an_update", ()),
    ],
)
def test_the_suite_finds_what_the_original_gets_wrong(
    tmp_path: Path, name: str, arguments: tuple[str, ...]
) -> None:
    store = Leaking(tmp_path / "leaking.db")
    assert isinstance(store, MemoryStore)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(EpisodicSuite(), name)(store, *arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("test_bootstrap_again_changes_nothing", ()),
        ("test_health_counts_the_episodes", ()),
        ("test_a_level_that_is_left_out_stands_for_any", ()),
        ("test_a_filter_chooses_the_episodes", ("id = 'b'", "b")),
    ],
)
def test_the_suite_takes_any_store(tmp_path: Path, name: str, arguments: tuple[str, ...]) -> None:
    """The control of the control: what that store does right passes."""
    getattr(EpisodicSuite(), name)(Leaking(tmp_path / "leaking.db"), *arguments)


def test_it_has_the_shape_of_a_store() -> None:  # S2-116
    class Empty:
        async def bootstrap(self) -> None: ...

    assert not isinstance(Empty(), MemoryStore)
    assert isinstance(SQLiteMemoryStore(path=Path("x")), MemoryStore)


def test_the_text_of_a_scope_is_as_stated() -> None:  # S2-129 S2-131 S2-132 S2-133 S2-134
    assert scope_key("alice", "S1", "rag") == "/user/alice/session/S1/agent/rag/"
    assert scope_pattern("alice", "S1", "rag") == "/user/alice/session/S1/agent/rag/"
    assert scope_pattern("alice", "S1") == "/user/alice/session/S1/agent/%/"
    assert scope_pattern("alice") == "/user/alice/session/%/agent/%/"


def test_no_two_scopes_have_one_key() -> None:  # S2-129 S2-130
    names = ["a", "b", "a/session/b", "b/session/a", "a/agent/b", "b/agent/a"]
    names += ["a/", "/a", "a%2Fb", "a/b", "%", "%25"]
    scopes = [(user, session, agent) for user in names for session in names for agent in names]
    assert len({scope_key(*scope) for scope in scopes}) == len(scopes)
