"""S4: frames and settings, each clause once, on every engine."""

from __future__ import annotations

import asyncio
import inspect
import json

import pytest

from recollect import Conflict, InvalidInput
from recollect.contracts.blocks import (
    CONFIG,
    add_tags,
    block_exists,
    get_config,
    get_frame,
    get_inbox_count,
    get_total_active_hours,
    list_frames,
    seed_builtin_data,
    set_config,
    set_total_active_hours,
    upsert_frame,
)
from recollect.contracts.blocks.frames import FrameRow
from tests.contract.conftest import Call

EVEN = dict.fromkeys("similarity confidence recency centrality reinforcement".split(), 0.2)


def upsert(call: Call, name: str, **changes: object) -> None:
    given: dict[str, object] = {
        "weights_json": json.dumps(EVEN),
        "filters_json": "{}",
        "guarantees_json": "[]",
        "template": "What the kitchen knows:",
        "token_budget": 800,
        "cache_json": None,
        "source": "user",
    }
    call(upsert_frame, name=name, **(given | changes))  # type: ignore[arg-type]


def got(call: Call, name: str) -> FrameRow:
    row = call(get_frame, name)
    assert row is not None
    return row


def test_a_frame_has_nine_columns_with_the_stated_defaults(call: Call) -> None:
    call.memory.settings.presets.set({"name": "kitchen", "weights": EVEN})
    row = got(call, "kitchen")
    columns = "name weights_json filters_json guarantees_json template token_budget cache_json"
    assert list(row) == [*columns.split(), "source", "created_at"]
    assert (row["guarantees_json"], row["cache_json"], row["source"]) == ("[]", None, "user")
    assert row["created_at"] == call.memory.status().at
    assert [row["name"] for row in call(list_frames)].count("kitchen") == 1


def test_a_frame_is_read_with_its_json_as_text(call: Call) -> None:  # S4-284
    assert call(get_frame, "kitchen") is None
    upsert(call, "kitchen", guarantees_json='["self/%", "tea"]', cache_json='{"ttl_seconds": 60}')
    row = got(call, "kitchen")
    columns = ("weights_json", "filters_json", "guarantees_json", "cache_json")
    assert all(isinstance(row[column], str) for column in columns)  # type: ignore[literal-required]
    assert json.loads(row["weights_json"]) == EVEN
    assert json.loads(row["guarantees_json"]) == ["self/%", "tea"]
    assert json.loads(row["cache_json"] or "") == {"ttl_seconds": 60}


def test_a_frame_is_inserted_changed_and_listed(call: Call) -> None:
    names = "name weights_json filters_json guarantees_json template token_budget cache_json source"
    assert list(inspect.signature(upsert_frame).parameters) == ["conn", *names.split()]
    filters = {"tag_patterns": ["self/%", "tea"], "categories": ["knowledge", "it's"]}
    upsert(call, "kitchen", filters_json=json.dumps(filters))
    upsert(call, "attic")
    assert json.loads(got(call, "kitchen")["filters_json"]) == filters
    upsert(call, "kitchen", token_budget=900, template="Upstairs:", filters_json="{}")
    row = got(call, "kitchen")
    assert (row["token_budget"], row["template"]) == (900, "Upstairs:")
    assert json.loads(row["filters_json"]) == {}
    rows = call(list_frames)
    assert [(row["name"], row["source"]) for row in rows] == [
        ("self", "builtin"),
        ("attention", "builtin"),
        ("task", "builtin"),
        ("attic", "user"),
        ("kitchen", "user"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"weights_json": json.dumps(EVEN | {"recency": 0.5})},
        {"weights_json": "{"},
        {"filters_json": '{"search_window": "long"}'},
        {"filters_json": '{"tag_patterns": ["%/goal"]}'},
        {"filters_json": '{"tag_patterns": ["%"]}'},
        {"filters_json": '{"where": "colour = 1"}'},
        {"filters_json": '{"colour": "red"}'},
        {"guarantees_json": '{"self": 1}'},
        {"cache_json": '{"invalidate_on": ["anything"]}'},
        {"source": "builtin"},
    ],
)
def test_a_frame_that_cannot_be_meant_is_refused(call: Call, change: dict[str, object]) -> None:
    """Rather than kept and not followed."""
    with pytest.raises(InvalidInput):
        upsert(call, "kitchen", **change)
    assert call(get_frame, "kitchen") is None


def test_a_frame_set_here_is_the_one_that_contexts_use(call: Call) -> None:
    tea, coffee, key = (call.block(f"The {word} is in the kitchen.") for word in ("a", "b", "c"))
    call(add_tags, tea, ["self/goal"])
    call(add_tags, key, ["always/this"])
    upsert(
        call,
        "kitchen",
        filters_json='{"tag_patterns": ["self/%"]}',
        guarantees_json='["always/%"]',
    )
    context = call.memory.context("kitchen", preset="kitchen")
    assert set(context.ids) == {tea, key}
    assert coffee not in context.ids
    assert "What the kitchen knows:" in context.text


def test_a_filter_in_the_engine_s_words_stays_one(call: Call) -> None:
    where = "confidence > 0.5 and (tags contains 'tea' or kind in ('knowledge'))"
    call.memory.settings.presets.set(
        {"name": "kitchen", "weights": EVEN, "where": where, "unit": "record"}
    )
    row = got(call, "kitchen")
    filters = json.loads(row["filters_json"])
    assert filters["where"] == where
    upsert(call, "pantry", filters_json=row["filters_json"])
    assert json.loads(got(call, "pantry")["filters_json"]) == filters


def test_settings_that_two_make_at_once_are_both_kept(call: Call) -> None:  # S4-288
    async def both() -> None:
        await asyncio.gather(*(set_config(call.conn, f"k{n}", str(n)) for n in range(4)))

    call.wait(both())
    assert [call(get_config, f"k{n}") for n in range(4)] == ["0", "1", "2", "3"]


def weights(call: Call, name: str) -> tuple[float, ...]:
    row = got(call, name)
    assert row["source"] == "builtin"
    found = json.loads(row["weights_json"])
    assert list(found) == list(EVEN)
    assert abs(sum(found.values()) - 1.0) < 1e-9
    return tuple(found.values())


def test_the_frame_self_weighs_as_stated(call: Call) -> None:  # S4-291
    assert weights(call, "self") == (0.10, 0.30, 0.05, 0.25, 0.30)


def test_the_frame_attention_weighs_as_stated(call: Call) -> None:  # S4-292
    assert weights(call, "attention") == (0.35, 0.15, 0.25, 0.15, 0.10)


def test_the_frame_task_weighs_as_stated(call: Call) -> None:  # S4-293
    assert weights(call, "task") == (0.20, 0.20, 0.20, 0.20, 0.20)


def test_a_built_in_frame_can_only_be_stated_as_it_is(call: Call) -> None:  # S4-290
    row = dict(got(call, "self"))
    row.pop("created_at")
    call(upsert_frame, **row)  # type: ignore[arg-type]
    with pytest.raises(Conflict):
        call(upsert_frame, **(row | {"token_budget": 7}))  # type: ignore[arg-type]
    assert got(call, "self")["token_budget"] != 7


def test_the_settings_begin_as_stated(call: Call) -> None:  # S4-294 S4-290 S4-305
    assert [call(get_config, key) for key in CONFIG] == [None, None, None]
    call(seed_builtin_data)
    assert {key: call(get_config, key) for key in CONFIG} == {
        "total_active_hours": "0.0",
        "prune_threshold": "0.05",
        "top_k": "5",
    }
    assert [row["name"] for row in call(list_frames)] == ["self", "attention", "task"]


def test_seeding_again_changes_nothing(call: Call) -> None:  # S4-290
    call(set_config, "top_k", "9")
    call(seed_builtin_data)
    position = call.memory.events.position
    call(seed_builtin_data)
    assert call.memory.events.position == position
    assert (call(get_config, "top_k"), call(get_config, "prune_threshold")) == ("9", "0.05")


def test_a_setting_is_set_and_changed(call: Call) -> None:  # S4-288 S4-253
    assert call(get_config, "colour") is None
    call(set_config, "colour", "red")
    call(set_config, "size", "9")
    call(set_config, "colour", "blue")
    assert (call(get_config, "colour"), call(get_config, "size")) == ("blue", "9")


def test_the_hours_begin_at_0_and_are_the_caller_s(call: Call) -> None:  # S4-289
    assert call(get_total_active_hours) == 0.0
    call(set_total_active_hours, 12.25)
    assert call(get_total_active_hours) == 12.25
    assert call(get_config, "total_active_hours") == "12.25"


def test_settings_are_not_a_block(call: Call) -> None:
    call(seed_builtin_data)
    assert call(get_inbox_count) == 0
    assert not call(block_exists, "block-settings")
    assert len(call.memory.recall("settings of the blocks")) == 0
