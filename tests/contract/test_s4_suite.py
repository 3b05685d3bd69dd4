"""S4: random transactions, against a plain SQLAlchemy database with the same tables."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sqlalchemy import Connection, event, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from recollect.contracts.blocks.db import create_engine, create_test_engine, opened, row_changes
from recollect.contracts.blocks.db import queries as face
from recollect.contracts.blocks.db.engine import rebuild
from recollect.contracts.blocks.db.models import metadata
from tests.contract import plain_blocks as plain

SEQUENCES = 500
BOUNDED = 6
IDS = [f"{n:016x}" for n in range(6)]
INSTANTS = ("created_at", "started_at")
WEIGHTS = (0.5, 1.0, 0.25, 1 / 3, 0.125, 0.0, 1e-300)
EVEN = dict.fromkeys("similarity confidence recency centrality reinforcement".split(), 0.2)


class Call(NamedTuple):
    """One call of a query."""

    name: str
    args: tuple[Any, ...]
    named: dict[str, Any]


def call(name: str, /, *args: Any, **named: Any) -> Call:
    return Call(name, args, named)


def pair(chance: random.Random) -> tuple[str, str]:
    one, other = sorted(chance.sample(IDS, 2))
    return one, other


def blocks_call(chance: random.Random, id: str) -> Call:
    statuses = ["inbox", "active", "archived"]
    match chance.randrange(5):
        case 0 | 1:
            return call(
                "insert_block", block_id=id, content=f"Block {id} °C\n* raw *", category="x",
                source=chance.choice(["api", "cli"]), status=chance.choice(statuses),
                confidence=chance.random(), decay_lambda=chance.choice([0.0, 0.01, 0.3]),
                last_reinforced_at=chance.choice([0.0, 3.5]),
            )  # fmt: skip
        case 2:
            status = chance.choice(statuses)
            reasons = [None, "decayed", "superseded", "forgotten"]
            reason = chance.choice(reasons) if status == "archived" else None
            return call("update_block_status", id, status=status, archive_reason=reason)
        case 3:
            given = {
                "confidence": chance.random(),
                "self_alignment": chance.choice([-1.5, 0.0, 0.75]),
                "decay_lambda": chance.choice([0.0, 0.02, 5.0]),
                "embedding": np.array([chance.random(), -0.0, 1e-8]),
                "embedding_model": chance.choice(["m-1", "m-2"]),
                "token_count": chance.randrange(0, 2**40),
            }
            kept = chance.sample(sorted(given), chance.randrange(4))
            return call("update_block_scoring", id, **{name: given[name] for name in kept})
        case _:
            ids = [chance.choice(IDS) for _ in range(3)]
            return call("reinforce_blocks", ids, chance.choice([1.0, 2.5, 100.125]))


def links_call(chance: random.Random, id: str) -> Call:
    tags = chance.sample(["self/goal", "self/x", "tea", "°C"], 2)
    one, other = pair(chance)
    match chance.randrange(6):
        case 0:
            return call("add_tags", id, tags)
        case 1:
            return call("remove_tags", id, tags)
        case 2:
            return call("insert_edge", from_id=one, to_id=other, weight=chance.choice(WEIGHTS))
        case 3:
            return call("reinforce_edges", [pair(chance), (one, other)])
        case 4:
            return call(
                "insert_contradiction", block_a_id=one, block_b_id=other, score=chance.random()
            )
        case _:
            return call("resolve_contradiction", one, other)


def other_call(chance: random.Random) -> Call:
    session = chance.choice(["s-1", "s-2", "s-3"])
    match chance.randrange(6):
        case 0:
            return call(
                "upsert_frame", name=chance.choice(["kitchen", "on-call"]),
                weights_json=json.dumps(EVEN, indent=1), filters_json='{"search_window": 200.0}',
                guarantees_json=chance.choice(["[]", '["self/%"]']), template="What is known:",
                token_budget=chance.randrange(1, 900), cache_json=chance.choice([None, "{}"]),
                source="user",
            )  # fmt: skip
        case 1:
            return call("start_session", session_id=session, task_type=chance.choice(["a", "b"]),
                        start_active_hours=chance.random())  # fmt: skip
        case 2:
            return call("end_session", session)
        case 3:
            return call("set_config", chance.choice(["k1", "top_k"]), chance.choice(["5", "x y"]))
        case 4:
            return call("set_total_active_hours", chance.choice([0.0, 1.5]))
        case _:
            return call("seed_builtin_data")


def any_call(chance: random.Random) -> Call:
    id = chance.choice(IDS)
    match chance.randrange(9):
        case 0 | 1 | 2 | 3:
            return blocks_call(chance, id)
        case 4 | 5 | 6 | 7:
            return links_call(chance, id)
        case _:
            return other_call(chance)


class Undone(Exception):
    """Ends a transaction without a commit."""


async def both(engines: list[AsyncEngine], work: Callable[[Any, AsyncConnection], Any]) -> None:
    """The same work in a transaction of each; both end alike."""
    ends = []
    for module, engine in zip((face, plain), engines, strict=True):
        try:
            async with engine.begin() as conn:
                before = await plain.held(conn)
                ends.append(await work(module, conn))
                if module is plain:
                    await plain.settle(conn, before)
        except Undone as undone:
            ends.append(undone.args)
    assert ends[0] == ends[1]


async def tables(conn: AsyncConnection) -> dict[str, list[Any]]:
    """Every table; of an instant only whether there is one."""
    found = {}
    for name, table in metadata.tables.items():
        rows = []
        for row in (await conn.execute(select(table))).mappings():
            shown = {key: value for key, value in row.items() if key not in INSTANTS}
            if "ended_at" in shown:
                shown["ended_at"] = shown["ended_at"] is not None
            rows.append(sorted(shown.items()))
        found[name] = sorted(rows, key=repr)
    return found


async def exact(engine: AsyncEngine) -> dict[str, list[Any]]:
    """The bytes of every table, as SQLite writes them, in the order of the file."""
    async with engine.connect() as conn:
        found = {}
        for name, table in metadata.tables.items():
            cells = [func.quote(column) for column in table.columns]
            rows = [tuple(row) for row in await conn.execute(select(*cells))]
            found[name] = rows if name == "sessions" else sorted(rows)
        return found


async def transact(chance: random.Random, engines: list[AsyncEngine]) -> None:
    seed = chance.getrandbits(64)

    async def work(module: Any, conn: AsyncConnection) -> Any:
        own = random.Random(seed)
        seen: list[Any] = []
        for _ in range(own.randrange(1, 12)):
            one = any_call(own)
            nested = await conn.begin_nested() if own.random() < 0.2 else None
            try:
                await getattr(module, one.name)(conn, *one.args, **one.named)
            except IntegrityError:
                seen.append(one.name)
            if nested is not None:
                await (nested.rollback() if own.random() < 0.5 else nested.commit())
        seen.append(await tables(conn))  # a transaction sees its own writes
        if own.random() < 0.3:
            raise Undone(seen)
        return seen

    await both(engines, work)


async def compare(seed: int, ours: AsyncEngine) -> None:
    chance, other = random.Random(seed), await plain.plain_engine()
    try:
        for _ in range(chance.randrange(2, 7)):
            await transact(chance, [ours, other])
            async with ours.connect() as mine, other.connect() as theirs:
                assert await tables(mine) == await tables(theirs)
    finally:
        await other.dispose()
    before = await exact(ours)
    await rebuild(ours)
    assert await exact(ours) == before


async def sequences(seeds: range, folder: Path) -> int:
    done = 0
    for seed in seeds:
        in_file = seed % 10 == 0
        engine = await (create_engine(f"{folder}/{seed}.db") if in_file else create_test_engine())
        await compare(seed, engine)
        await engine.dispose()
        done += 1
    return done


@pytest.mark.nightly
def test_random_transactions_give_the_rows_of_a_plain_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # S4-304 S4-260
    done = asyncio.run(sequences(range(SEQUENCES), tmp_path))
    line = f"\n{done} sequences: the same rows after each commit and rollback, and rebuilt\n"
    with capsys.disabled():
        sys.stdout.write(line)
    assert done == SEQUENCES


def test_a_few_random_transactions_do(tmp_path: Path) -> None:
    first = 10 * random.SystemRandom().randrange(10**5)  # one of them in a file
    asyncio.run(sequences(range(first, first + BOUNDED), tmp_path))


# Controls: what the suite must find.


async def found_wrong(make: Callable[[], Coroutine[Any, Any, AsyncEngine]]) -> None:
    for seed in range(1, 30):
        engine = await make()
        try:
            await compare(seed, engine)
        finally:
            await engine.dispose()


def test_a_face_that_keeps_what_was_rolled_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        real = opened.OpenedMemory.begin
        handed: list[opened.OpenedMemory] = []

        def begin(self: opened.OpenedMemory, conn: Connection) -> None:
            handed.append(self)
            real(self, conn)

        monkeypatch.setattr(opened.OpenedMemory, "begin", begin)

        async def make() -> AsyncEngine:
            engine = await create_test_engine()
            event.listen(engine.sync_engine, "rollback", handed[-1].commit)
            return engine

        await found_wrong(make)

    with pytest.raises(AssertionError):
        asyncio.run(run())


def test_a_face_that_misses_deletions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = row_changes._statements

    def without(*args: Any) -> Any:
        return [statement for statement in real(*args) if "AFTER DELETE" not in statement]

    monkeypatch.setattr(row_changes, "_statements", without)

    with pytest.raises(AssertionError):
        asyncio.run(found_wrong(create_test_engine))
