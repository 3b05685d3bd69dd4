"""S4: the named queries over an engine, each clause once."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from recollect import InvalidInput
from recollect.contracts.blocks.db import create_test_engine, queries
from recollect.contracts.blocks.db.models import blocks, contradictions, edges, sessions
from recollect.contracts.blocks.types import Edge

VECTOR = np.array([0.25, -1.5, 3.0e-8], dtype=np.float32)
NEEDED = inspect.Parameter.empty
QUERIES = {
    name: each
    for name, each in vars(queries).items()
    if inspect.iscoroutinefunction(each) and not name.startswith("_")
}


class Database:
    """A test engine, and its queries each in a transaction of its own."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.engine = runner.run(create_test_engine())
        self.statements: list[tuple[str, Any]] = []
        event.listen(self.engine.sync_engine, "before_cursor_execute", self._note)

    def _note(self, conn: object, cursor: object, statement: str, given: Any, *_: object) -> None:
        self.statements.append((statement, given))

    def __call__(self, name: str, /, *args: Any, **named: Any) -> Any:
        async def work(conn: AsyncConnection) -> Any:
            return await QUERIES[name](conn, *args, **named)

        return self.within(work)

    def within(self, work: Any) -> Any:
        async def run() -> Any:
            async with self.engine.begin() as conn:
                return await work(conn)

        return self.runner.run(run())

    def rows(self, statement: Any) -> list[Any]:
        async def work(conn: AsyncConnection) -> list[Any]:
            return [tuple(row) for row in await conn.execute(statement)]

        found: list[Any] = self.within(work)
        return found

    def block(self, content: str, status: str = "active") -> str:
        id = queries.content_hash(content)
        self("insert_block", block_id=id, content=content, category="knowledge", source="api",
             status=status)  # fmt: skip
        return id


@pytest.fixture
def db() -> Iterator[Database]:
    with asyncio.Runner() as runner:
        made = Database(runner)
        yield made
        runner.run(made.engine.dispose())


@pytest.fixture
def ids(db: Database) -> list[str]:
    """Four blocks in the order of their ids."""
    return sorted(db.block(f"Block {n}.") for n in range(4))


def parameters(name: str) -> dict[str, object]:
    found = list(inspect.signature(QUERIES[name]).parameters.values())
    assert (found[0].name, found[0].annotation) == ("conn", "AsyncConnection")
    return {p.name: p.default for p in found[1:]}


# All of them.


def test_every_query_takes_the_connection_first() -> None:  # S4-260 S4-229
    stated = """
        insert_block get_block block_exists get_active_blocks get_active_blocks_with_embeddings
        get_inbox_blocks get_inbox_count update_block_status update_block_scoring reinforce_blocks
        add_tags get_tags get_blocks_by_tag_pattern remove_tags insert_edge get_edges_for_block
        get_neighbours reinforce_edges get_weighted_degree insert_contradiction
        get_contradictions_for_blocks resolve_contradiction get_frame upsert_frame list_frames
        start_session end_session get_active_session get_config set_config get_total_active_hours
        set_total_active_hours seed_builtin_data
    """.split()
    assert list(QUERIES) == stated
    for name in stated:
        parameters(name)  # looks at the first one


def test_every_statement_is_built_of_parts_in_a_named_function() -> None:  # S4-261 S4-295
    tree = ast.parse(Path(queries.__file__).read_text())
    called = {ast.unparse(x.func) for x in ast.walk(tree) if isinstance(x, ast.Call)}
    assert not called & {"text", "literal_column", "conn.exec_driver_sql", "literal"}
    ran = [x for x in ast.walk(tree) if isinstance(x, ast.Attribute) and x.attr == "execute"]
    inside = [
        x
        for function in tree.body
        if isinstance(function, ast.AsyncFunctionDef)
        for x in ast.walk(function)
        if isinstance(x, ast.Attribute) and x.attr == "execute"
    ]
    assert len(ran) == len(inside) > 25


HOSTILE = "x'); DROP TABLE blocks; --"


def test_a_value_is_never_part_of_a_statement(db: Database) -> None:  # S4-295
    """Every text that a query takes is given hostile; the statements do not hold it."""
    id = db.block(HOSTILE)
    for name, args, named in (
        ("add_tags", (id, [HOSTILE]), {}),
        ("get_blocks_by_tag_pattern", (HOSTILE,), {}),
        ("remove_tags", (id, [HOSTILE]), {}),
        ("get_block", (HOSTILE,), {}),
        ("get_neighbours", ([HOSTILE],), {}),
        ("get_weighted_degree", ([HOSTILE],), {}),
        ("get_contradictions_for_blocks", ([HOSTILE],), {}),
        ("resolve_contradiction", (HOSTILE, HOSTILE), {}),
        ("reinforce_blocks", ([HOSTILE], 1.0), {}),
        ("update_block_scoring", (id,), {"embedding_model": HOSTILE}),
        ("set_config", ("key", HOSTILE), {}),
        ("get_config", (HOSTILE,), {}),
        ("start_session", (), {"session_id": HOSTILE, "task_type": HOSTILE,
                               "start_active_hours": 0.0}),
        ("end_session", (HOSTILE,), {}),
        ("get_frame", (HOSTILE,), {}),
    ):  # fmt: skip
        db(name, *args, **named)
    held = [given for _, given in db.statements if HOSTILE in repr(given)]
    assert len(held) >= 15
    assert not [statement for statement, _ in db.statements if "DROP" in statement]
    assert db("get_block", id)["content"] == HOSTILE
    assert db("get_config", "key") == HOSTILE


def test_results_are_plain_and_outlive_the_connection(db: Database, ids: list[str]) -> None:
    # S4-296
    db("insert_edge", from_id=ids[0], to_id=ids[1], weight=0.5)
    db("insert_contradiction", block_a_id=ids[0], block_b_id=ids[1], score=0.5)
    db("start_session", session_id="s", task_type="x", start_active_hours=0.0)
    db("seed_builtin_data")
    found = [
        db("get_block", ids[0]),
        *db("get_active_blocks"),
        *db("get_edges_for_block", ids[0]),
        *db("get_contradictions_for_blocks", ids),
        db("get_active_session"),
        *db("list_frames"),
    ]
    assert len(found) == 11
    for row in found:
        assert type(row) is dict
        assert {type(value) for value in row.values()} <= {str, int, float, bytes, type(None)}
    assert type(db("get_inbox_count")) is int
    assert type(db("block_exists", ids[0])) is bool


# Values.


def test_an_id_is_the_hash_of_the_content() -> None:  # S4-241 S4-263
    wanted = sha256(b"tea is at four.").hexdigest()[:16]
    assert queries.content_hash("  Tea is at FOUR.\n") == wanted
    assert queries.content_hash("tea is at five.") != wanted


def test_64_bits_tell_fifty_thousand_blocks_apart() -> None:  # S4-298
    ids = {queries.content_hash(f"Block {n}.") for n in range(50_000)}
    assert len(ids) == 50_000
    assert {len(id) * 4 for id in ids} == {64}
    assert all(set(id) <= set("0123456789abcdef") for id in ids)
    assert 50_000**2 / 2**65 < 1e-9  # the chance that any two of so many are alike
    assert len({id[:6] for id in ids}) < 50_000  # the control: 24 bits do not


def test_an_embedding_goes_through_float32_bytes() -> None:  # S4-244 S4-262
    made = queries.embedding_to_bytes(VECTOR.astype(np.float64))
    assert made == VECTOR.tobytes()
    assert np.array_equal(queries.bytes_to_embedding(made), VECTOR)
    assert queries.bytes_to_embedding(made).dtype == np.float32


# Blocks.


def test_insert_block_has_the_stated_defaults(db: Database) -> None:  # S4-264 S4-238 S4-265
    assert parameters("insert_block") == {
        "block_id": NEEDED,
        "content": NEEDED,
        "category": NEEDED,
        "source": NEEDED,
        "status": "inbox",
        "confidence": 0.5,
        "decay_lambda": 0.01,
        "last_reinforced_at": 0.0,
    }
    after = list(inspect.signature(queries.insert_block).parameters.values())[1:]
    assert {one.kind for one in after} == {inspect.Parameter.KEYWORD_ONLY}
    db("insert_block", block_id="a", content="# Tea\n\n* at four *  ", category="x", source="cli")
    row = db("get_block", "a")
    assert row.pop("created_at")[:2] == "20"
    assert row == {
        "id": "a",
        "content": "# Tea\n\n* at four *  ",
        "category": "x",
        "source": "cli",
        "status": "inbox",
        "archive_reason": None,
        "confidence": 0.5,
        "reinforcement_count": 0,
        "decay_lambda": 0.01,
        "last_reinforced_at": 0.0,
        "self_alignment": None,
        "embedding": None,
        "embedding_model": None,
        "token_count": None,
        "last_session_id": None,
    }
    assert db("get_block", "b") is None
    given = {"status": "active", "confidence": 0.9, "decay_lambda": 0.3, "last_reinforced_at": 3.5}
    db("insert_block", block_id="g", content="g", category="x", source="cli", **given)
    row = db("get_block", "g")
    assert {name: row[name] for name in given} == given


def test_a_duplicate_is_an_integrity_error_and_tells_learn_what_is_known(db: Database) -> None:
    # S4-264 S4-302
    async def learn(conn: AsyncConnection, content: str) -> str:
        id = queries.content_hash(content)
        try:
            await queries.insert_block(
                conn, block_id=id, content=content, category="knowledge", source="api"
            )
        except IntegrityError:
            return "known"
        return "new"

    async def work(conn: AsyncConnection) -> list[str]:
        return [await learn(conn, said) for said in ("Tea.", "  tea. ", "Coffee.")]

    assert db.within(work) == ["new", "known", "new"]
    assert db.within(work) == ["known"] * 3
    assert db("get_inbox_count") == 2


def test_hours_are_the_caller_s_and_never_the_clock_s(db: Database) -> None:
    # S4-230 S4-243
    id = db.block("Tea is at four.")
    db("set_total_active_hours", 12.5)
    for _ in range(2):  # at two instants
        db("reinforce_blocks", [id], db("get_total_active_hours"))
        row = db("get_block", id)
        assert (row["last_reinforced_at"], type(row["last_reinforced_at"])) == (12.5, float)
    assert 20.0 - db("get_block", id)["last_reinforced_at"] == 7.5
    assert db.rows(select(func.typeof(blocks.c.last_reinforced_at))) == [("real",)]


def test_an_embedding_is_a_blob_and_null_before(db: Database) -> None:  # S4-232 S4-245
    id = db.block("Tea is at four.", status="inbox")
    kinds = select(func.typeof(blocks.c.embedding), func.typeof(blocks.c.self_alignment))
    assert db.rows(kinds) == [("null", "null")]
    db("update_block_status", id, status="active")
    assert db.rows(kinds) == [("null", "null")]
    db("update_block_scoring", id, embedding=VECTOR, self_alignment=0.5, embedding_model="m")
    assert db.rows(kinds) == [("blob", "real")]
    assert db.rows(select(func.length(blocks.c.embedding))) == [(12,)]
    assert np.array_equal(queries.bytes_to_embedding(db("get_block", id)["embedding"]), VECTOR)


def test_a_status_is_of_a_closed_list_and_goes_any_way(db: Database) -> None:  # S4-240 S4-270
    assert parameters("update_block_status") == {
        "block_id": NEEDED,
        "status": NEEDED,
        "archive_reason": None,
    }
    id = db.block("Tea is at four.")
    for status, reason in (
        ("archived", "decayed"), ("archived", "superseded"), ("inbox", None), ("active", None),
        ("archived", None), ("archived", "forgotten"), ("active", None), ("inbox", None),
    ):  # fmt: skip
        db("update_block_status", id, status=status, archive_reason=reason)
        row = db("get_block", id)
        assert (row["status"], row["archive_reason"]) == (status, reason)
    before = db("get_block", id)
    for by_position in (("active",), ("archived", "decayed"), ()):
        with pytest.raises(TypeError):
            db("update_block_status", id, *by_position)
    for status, reason in (("asleep", None), ("archived", "bored"), ("active", "decayed")):
        with pytest.raises(InvalidInput):
            db("update_block_status", id, status=status, archive_reason=reason)
    with pytest.raises(InvalidInput):
        db.block("Coffee is at ten.", status="asleep")
    assert db("get_block", id) == before
    db("update_block_status", "nobody", status="active")  # an UPDATE that finds no row


def test_blocks_are_found_by_status_and_hour(db: Database) -> None:
    # S4-266 S4-267 S4-268 S4-269
    early, later = db.block("Tea is at four."), db.block("Coffee is at ten.")
    waiting, gone = db.block("It waits.", "inbox"), db.block("It is gone.", "archived")
    assert all(db("block_exists", id) for id in (early, later, waiting, gone))
    assert not db("block_exists", "nobody")
    db("reinforce_blocks", [later], 5.0)
    db("update_block_scoring", later, embedding=VECTOR)
    db("update_block_scoring", waiting, embedding=VECTOR)
    assert {row["id"] for row in db("get_active_blocks")} == {early, later}
    assert parameters("get_active_blocks") == {"min_last_reinforced_at": None}
    for hour, found in ((-1.0, {early, later}), (4.9, {later}), (5.0, set()), (0.0, {later})):
        rows = db("get_active_blocks", min_last_reinforced_at=hour)
        assert {row["id"] for row in rows} == found
    (row,) = db("get_active_blocks_with_embeddings")
    assert (row["id"], row["embedding"]) == (later, VECTOR.tobytes())
    assert db("get_active_blocks_with_embeddings", min_last_reinforced_at=5.0) == []
    assert [row["id"] for row in db("get_inbox_blocks")] == [waiting]
    assert db("get_inbox_count") == 1


def test_scoring_changes_only_what_is_given(db: Database) -> None:  # S4-271
    names = "confidence self_alignment decay_lambda embedding embedding_model token_count"
    assert parameters("update_block_scoring") == {"block_id": NEEDED} | dict.fromkeys(names.split())
    id = db.block("Tea is at four.")
    so_far = db("get_block", id)
    for change in (
        {}, {"confidence": 0.9}, {"self_alignment": -0.0}, {"decay_lambda": 0.002},
        {"embedding_model": "m-1", "token_count": 0},
    ):  # fmt: skip
        db("update_block_scoring", id, **change)
        so_far |= change
        assert db("get_block", id) == so_far
    db("update_block_scoring", id, embedding=VECTOR.astype(np.float64))
    assert db("get_block", id) == so_far | {"embedding": VECTOR.tobytes()}


def test_blocks_of_any_status_are_reinforced_in_one_statement(db: Database) -> None:  # S4-272
    ids = [db.block(f"It is {status}.", status) for status in ("inbox", "active", "archived")]
    left = db.block("It is left.")
    db.statements.clear()
    db("reinforce_blocks", [*ids, ids[0], "nobody"], 4.5)
    assert [s.split()[0] for s, _ in db.statements] == ["UPDATE"]
    for id in ids:
        row = db("get_block", id)
        assert (row["reinforcement_count"], row["last_reinforced_at"]) == (1, 4.5)
    row = db("get_block", left)
    assert (row["reinforcement_count"], row["last_reinforced_at"]) == (0, 0.0)


# Tags.


def test_tags_are_added_once_read_and_removed(db: Database) -> None:  # S4-273 S4-274
    id, other = db.block("Tea is at four."), db.block("Coffee is at ten.")
    db("add_tags", id, ["self/goal", "tea", "tea"])
    db("add_tags", id, ["tea", "late"])
    db("add_tags", id, [])
    db("add_tags", other, ["tea"])
    assert db("get_tags", id) == ["late", "self/goal", "tea"]
    db("remove_tags", id, ["tea", "never"])
    assert (db("get_tags", id), db("get_tags", other)) == (["late", "self/goal"], ["tea"])
    with pytest.raises(IntegrityError):
        db("add_tags", "nobody", ["tea"])


def test_blocks_are_found_by_a_like_pattern(db: Database) -> None:  # S4-275
    goal, role, tea = (db.block(f"Block {n}.") for n in range(3))
    db("add_tags", goal, ["self/goal", "self/other"])
    db("add_tags", role, ["Self/Role"])
    db("add_tags", tea, ["selfish", "a.c"])
    for pattern, found in (
        ("self/%", [goal, role]), ("self/goal", [goal]), ("%", [goal, role, tea]),
        ("self____", []), ("a_c", [tea]), ("a*", []), ("", []),
    ):  # fmt: skip
        assert db("get_blocks_by_tag_pattern", pattern) == sorted(found)


# Edges.


def test_an_edge_is_inserted_once_in_canonical_order(db: Database, ids: list[str]) -> None:
    # S4-248 S4-276
    a, b = ids[:2]
    assert Edge.canonical(b, a) == Edge.canonical(a, b) == (a, b)
    for pair in ((b, a), (a, a)):
        with pytest.raises(InvalidInput, match=r"Edge\.canonical"):
            db("insert_edge", from_id=pair[0], to_id=pair[1], weight=0.5)
        with pytest.raises(InvalidInput):
            db("reinforce_edges", [pair])
    db("insert_edge", from_id=a, to_id=b, weight=0.5)
    for weight in (0.5, 0.7):
        with pytest.raises(IntegrityError):
            db("insert_edge", from_id=a, to_id=b, weight=weight)
    with pytest.raises(IntegrityError):
        db("insert_edge", from_id="0", to_id=a, weight=0.5)
    assert [edge["weight"] for edge in db("get_edges_for_block", a)] == [0.5]


@pytest.mark.parametrize("weight", [-7.25, 1e300, 1.5, -1e-300, float("inf"), "much", True])
def test_a_weight_that_a_link_cannot_have_is_refused(
    db: Database, ids: list[str], weight: Any
) -> None:
    # S4-247 S4-276: another error than that of an edge which exists
    for name, more in (("insert_edge", {}), ("insert_edge", {"from_id": ids[1]})):
        pair = {"from_id": ids[0], "to_id": ids[2]} | more
        with pytest.raises(InvalidInput, match="weight"):
            db(name, **pair, weight=weight)
    db("insert_edge", from_id=ids[0], to_id=ids[1], weight=0.5)
    assert [edge["weight"] for edge in db("get_edges_for_block", ids[0])] == [0.5]


@pytest.mark.parametrize("weight", [0.0, 1.0, 1 / 3, 1e-300])
def test_the_weight_of_an_edge_is_a_number_from_0_to_1(
    db: Database, ids: list[str], weight: float
) -> None:  # S4-247
    db("insert_edge", from_id=ids[0], to_id=ids[1], weight=weight)
    db("reinforce_edges", [(ids[0], ids[1])])
    kinds = select(edges.c.weight, func.typeof(edges.c.weight), edges.c.reinforcement_count)
    assert db.rows(kinds) == [(weight, "real", 1)]


def test_edges_are_found_from_either_side(db: Database, ids: list[str]) -> None:
    # S4-277 S4-278 S4-279 S4-280
    a, b, c, d = ids
    db("insert_edge", from_id=a, to_id=b, weight=0.5)
    db("insert_edge", from_id=b, to_id=c, weight=0.25)
    db("insert_contradiction", block_a_id=a, block_b_id=d, score=1.0)
    first = {"from_id": a, "to_id": b, "weight": 0.5, "reinforcement_count": 0}
    second = {"from_id": b, "to_id": c, "weight": 0.25, "reinforcement_count": 0}
    assert db("get_edges_for_block", b) == [first, second]
    assert (db("get_edges_for_block", a), db("get_edges_for_block", d)) == ([first], [])
    assert (db("get_neighbours", [a]), db("get_neighbours", [b])) == ([b], [a, c])
    assert (db("get_neighbours", [a, b]), db("get_neighbours", [])) == ([c], [])
    assert db("get_weighted_degree", [b, a, d, "0"]) == {b: 0.75, a: 0.5, d: 0.0, "0": 0.0}
    db("reinforce_edges", [(a, b), (c, d)])
    db("reinforce_edges", [])
    assert db("get_edges_for_block", b) == [first | {"reinforcement_count": 1}, second]


def test_what_is_archived_shows_its_tags_and_edges_when_it_comes_back(
    db: Database, ids: list[str]
) -> None:
    # S4-249 S4-270
    a, b, c, _ = ids
    db("add_tags", a, ["tea"])
    db("insert_edge", from_id=a, to_id=b, weight=0.5)
    db("insert_edge", from_id=b, to_id=c, weight=0.5)
    db("reinforce_edges", [(a, b)])
    kept = db("get_edges_for_block", a)
    for reason in ("decayed", "superseded", None):
        for _ in range(2):
            db("update_block_status", a, status="archived", archive_reason=reason)
            assert (db("get_tags", a), db("get_edges_for_block", a)) == ([], [])
            assert db("get_neighbours", [b]) == [c]
        db("update_block_status", a, status="active")
        assert (db("get_tags", a), db("get_edges_for_block", a)) == (["tea"], kept)
    db("remove_tags", a, ["tea"])
    db("update_block_status", a, status="archived")
    db("update_block_status", a, status="active")
    assert db("get_tags", a) == []


# Contradictions.


def test_a_contradiction_is_resolved_and_stays(db: Database, ids: list[str]) -> None:
    # S4-281 S4-282 S4-283
    a, b, c, d = ids
    with pytest.raises(InvalidInput):
        db("insert_contradiction", block_a_id=b, block_b_id=a, score=0.9)
    with pytest.raises(InvalidInput):
        db("insert_contradiction", block_a_id=a, block_b_id=d, score=1.1)
    db("insert_contradiction", block_a_id=a, block_b_id=b, score=0.9)
    db("insert_contradiction", block_a_id=b, block_b_id=c, score=0.3)
    first, second = db("get_contradictions_for_blocks", [a, b])
    columns = "block_a_id block_b_id score resolved created_at".split()
    assert list(first) == columns
    assert [first[name] for name in columns[:4]] == [a, b, 0.9, 0]
    assert db("get_contradictions_for_blocks", [b]) == [first, second], "of either block of a pair"
    assert db("get_contradictions_for_blocks", [c]) == [second]
    db("resolve_contradiction", a, b)
    assert db("get_contradictions_for_blocks", ids) == [second]
    assert db("get_contradictions_for_blocks", [c]) == [second]
    assert db("get_contradictions_for_blocks", [a]) == []
    kept = db.rows(select(contradictions).where(contradictions.c.resolved == 1))
    assert kept == [(a, b, 0.9, 1, first["created_at"])]
    with pytest.raises(IntegrityError):  # a pair is contradictory once
        db("insert_contradiction", block_a_id=a, block_b_id=b, score=0.1)
    db("resolve_contradiction", a, b)
    assert db.rows(select(contradictions).where(contradictions.c.resolved == 1)) == kept


# Frames, sessions and settings.

FRAME = {
    "weights_json": '{"similarity":   1,"confidence":0,"recency":0,"centrality":0,'
    '"reinforcement":0}',
    "filters_json": '{"search_window": 200.0,  "tag_patterns": ["self/%"]}',
    "guarantees_json": '["self/%"]',
    "template": "{blocks}",
    "token_budget": 800,
    "cache_json": '{"ttl_seconds": 60}',
    "source": "user",
}


def test_a_frame_is_inserted_changed_and_read_as_it_was_written(db: Database) -> None:
    # S4-251 S4-284 S4-285
    assert list(parameters("upsert_frame")) == ["name", *FRAME]
    assert db("get_frame", "kitchen") is None
    db("upsert_frame", name="kitchen", **FRAME)
    row = db("get_frame", "kitchen")
    made = row.pop("created_at")
    assert row == {"name": "kitchen", **FRAME}
    db("upsert_frame", name="kitchen", **FRAME | {"token_budget": 9, "cache_json": None})
    changed = {**FRAME, "token_budget": 9, "cache_json": None, "created_at": made}
    assert db("get_frame", "kitchen") == {"name": "kitchen", **changed}
    db("upsert_frame", name="attic", **FRAME)
    names = ["attention", "attic", "kitchen", "self", "task"]
    assert [row["name"] for row in db("list_frames")] == names


def test_sessions_start_end_and_the_last_is_active(db: Database) -> None:
    # S4-252 S4-286 S4-287
    assert db("get_active_session") is None
    for id, hours in (("s-1", 0.0), ("s-3", 2.5), ("s-2", 3.0)):
        db("start_session", session_id=id, task_type="coding", start_active_hours=hours)
    row = db("get_active_session")
    assert list(row) == "id task_type started_at ended_at start_active_hours".split()
    started = row["started_at"]
    assert row == {"id": "s-2", "task_type": "coding", "started_at": started, "ended_at": None,
                   "start_active_hours": 3.0}  # fmt: skip
    with pytest.raises(IntegrityError):
        db("start_session", session_id="s-1", task_type="x", start_active_hours=0.0)
    db("end_session", "s-2")
    times = {
        id: (begun, ended)
        for id, begun, ended in db.rows(
            select(sessions.c.id, sessions.c.started_at, sessions.c.ended_at)
        )
    }
    assert [ended for _, ended in (times["s-1"], times["s-3"])] == [None, None]
    begun, ended = map(datetime.fromisoformat, times["s-2"])
    assert begun.utcoffset() == ended.utcoffset() == timedelta(0)
    assert begun <= ended <= datetime.now(UTC)
    assert ended - begun < timedelta(minutes=5)
    assert db("get_active_session")["id"] == "s-3"
    db("end_session", "s-2")  # again: its end stays
    assert db.rows(select(sessions.c.ended_at).where(sessions.c.id == "s-2")) == [
        (times["s-2"][1],)
    ]
    for id in ("s-1", "s-3", "s-3", "nobody"):
        db("end_session", id)
    assert db("get_active_session") is None

    async def at_once(conn: AsyncConnection) -> Any:
        for id in ("b", "a"):
            await queries.start_session(conn, session_id=id, task_type="x", start_active_hours=0.0)
        return (await queries.get_active_session(conn) or {})["id"]

    assert db.within(at_once) == db("get_active_session")["id"] == "a"


def test_settings_are_set_and_changed(db: Database) -> None:  # S4-253 S4-288 S4-289
    assert (db("get_config", "colour"), db("get_total_active_hours")) == (None, 0.0)
    db("set_config", "colour", "red")
    db("set_config", "size", "")
    db("set_config", "colour", "blue")
    assert (db("get_config", "colour"), db("get_config", "size")) == ("blue", "")
    db("set_total_active_hours", 12.25)
    assert (db("get_total_active_hours"), db("get_config", "total_active_hours")) == (
        12.25,
        "12.25",
    )


def test_an_empty_database_is_seeded_once(db: Database) -> None:
    # S4-290 S4-291 S4-292 S4-293 S4-294 S4-300 S4-305
    keys = ("total_active_hours", "prune_threshold", "top_k")
    assert [db("get_config", key) for key in keys] == [None] * 3
    builtin = ["attention", "self", "task"]
    assert [row["name"] for row in db("list_frames")] == builtin  # as decision 54 says
    db("seed_builtin_data")
    assert [db("get_config", key) for key in keys] == ["0.0", "0.05", "5"]
    assert [row["name"] for row in db("list_frames")] == builtin
    weights = {row["name"]: json.loads(row["weights_json"]) for row in db("list_frames")}
    assert {name: tuple(each.values()) for name, each in weights.items()} == {
        "self": (0.10, 0.30, 0.05, 0.25, 0.30),
        "attention": (0.35, 0.15, 0.25, 0.15, 0.10),
        "task": (0.20, 0.20, 0.20, 0.20, 0.20),
    }
    names = "similarity confidence recency centrality reinforcement".split()
    assert all(list(each) == names for each in weights.values())
    assert {row["source"] for row in db("list_frames")} == {"builtin"}
    db("set_config", "top_k", "9")
    db("seed_builtin_data")
    assert (db("get_config", "top_k"), len(db("list_frames"))) == ("9", 3)
    before = db("get_frame", "self")
    with pytest.raises(IntegrityError, match="built in"):
        db("upsert_frame", name="self", **FRAME | {"source": "builtin"})
    assert db("get_frame", "self") == before
