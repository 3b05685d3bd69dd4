"""S4: blocks and tags, each clause once, on every engine."""

from __future__ import annotations

import asyncio
import inspect
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Conflict, Forbidden, InvalidInput, Memory, NotFound
from recollect.contracts import blocks
from recollect.contracts.blocks import (
    Block,
    IntegrityError,
    add_tags,
    block_exists,
    bytes_to_embedding,
    connect,
    content_hash,
    embedding_to_bytes,
    get_active_blocks,
    get_active_blocks_with_embeddings,
    get_block,
    get_blocks_by_tag_pattern,
    get_inbox_blocks,
    get_inbox_count,
    get_tags,
    hours_since,
    insert_block,
    reinforce_blocks,
    remove_tags,
    store,
    update_block_scoring,
    update_block_status,
)
from tests.contract.conftest import Call

VECTOR = np.array([0.25, -1.5, 3.0e-8], dtype=np.float32)


def parameters(function: Callable[..., object]) -> dict[str, object]:
    """The parameters after the connection, with what stands for those that are left out."""
    found = list(inspect.signature(function).parameters.values())
    assert found[0].name == "conn"
    return {p.name: p.default for p in found[1:]}


def got(call: Call, id: str) -> Block:
    block = call(get_block, id)
    assert block is not None
    return block


NEEDED = inspect.Parameter.empty


# Connections.


def test_every_query_function_takes_the_connection_first() -> None:
    functions = [getattr(blocks, name) for name in blocks.__all__]
    queries = [each for each in functions if inspect.iscoroutinefunction(each)]
    assert len(queries) > 20
    for query in queries:
        assert next(iter(inspect.signature(query).parameters)) == "conn", query


def test_a_write_stays_when_the_block_that_made_it_fails(tmp_path: Path) -> None:
    """There is no transaction of the caller's: a call that returned is in the ledger."""
    id = content_hash("Tea is at four.")

    async def failing() -> None:
        async with connect(tmp_path) as conn:
            await insert_block(
                conn, block_id=id, content="Tea is at four.", category="knowledge", source="api"
            )
            raise RuntimeError("after the write")

    async def found() -> Block | None:
        async with connect(tmp_path) as conn:
            return await get_block(conn, id)

    with pytest.raises(RuntimeError, match="after the write"):
        asyncio.run(failing())
    assert asyncio.run(found()) is not None


# Columns.


def test_a_block_has_sixteen_columns(call: Call) -> None:  # S4-265
    id = call.block("Tea is at four.")
    assert (
        list(got(call, id))
        == (
            "id content category source created_at status archive_reason confidence "
            "reinforcement_count decay_lambda last_reinforced_at self_alignment embedding "
            "embedding_model token_count last_session_id"
        ).split()
    )
    assert call(get_block, "0" * 16) is None


def test_a_block_begins_with_the_stated_defaults(call: Call) -> None:  # S4-238
    id = content_hash("Tea is at four.")
    call(insert_block, block_id=id, content="Tea is at four.", category="knowledge", source="cli")
    block = got(call, id)
    assert block.pop("created_at")[:2] == "20"  # type: ignore[misc]
    assert block == {
        "id": id,
        "content": "Tea is at four.",
        "category": "knowledge",
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


@pytest.mark.parametrize("column", ["content", "category", "source"])
def test_what_may_not_be_null_is_refused_empty(call: Call, column: str) -> None:
    given = {"content": "words", "category": "knowledge", "source": "api", column: ""}
    with pytest.raises(InvalidInput):
        call(insert_block, block_id="b", **given)  # type: ignore[arg-type]
    assert call(get_block, "b") is None


def test_status_and_reason_are_of_closed_lists(call: Call) -> None:  # S4-240
    id = call.block("Tea is at four.")
    for status, reason in (("asleep", None), ("archived", "bored"), ("active", "decayed")):
        with pytest.raises(InvalidInput):
            call(update_block_status, id, status=status, archive_reason=reason)
    with pytest.raises(InvalidInput):
        call.block("Coffee is at ten.", status="asleep")
    assert (got(call, id)["status"], got(call, id)["archive_reason"]) == ("active", None)


def test_the_id_is_the_hash_of_the_trimmed_lower_cased_content() -> None:  # S4-241 S4-263
    wanted = sha256(b"tea is at four.").hexdigest()[:16]
    assert content_hash("  Tea is at FOUR.\n") == wanted
    assert content_hash("tea is at five.") != wanted


def test_content_stays_raw_markdown(call: Call) -> None:  # S4-242
    text = "# Tea\n\n- at *four*  \n- `kettle --boil`\n\n> 日本語 \u2028 ~~never~~\n"
    block = got(call, call.block(text))
    assert block["content"] == text
    assert "file_path" not in block


def test_hours_since_is_the_current_hour_less_the_last(call: Call) -> None:  # S4-243
    id = call.block("Tea is at four.")
    call(reinforce_blocks, [id], 12.5)
    assert hours_since(got(call, id), 20.0) == 7.5


def test_an_embedding_is_kept_as_float32_bytes(call: Call) -> None:  # S4-244 S4-262
    id = call.block("Tea is at four.")
    call(update_block_scoring, id, embedding=VECTOR.astype(np.float64), embedding_model="m-1")
    kept = got(call, id)["embedding"]
    assert kept == VECTOR.tobytes() == embedding_to_bytes(VECTOR)
    assert isinstance(kept, bytes)
    assert np.array_equal(bytes_to_embedding(kept), np.frombuffer(kept, dtype=np.float32))
    assert np.array_equal(bytes_to_embedding(kept), VECTOR)


def test_alignment_and_embedding_are_null_until_consolidated(call: Call) -> None:
    id = call.block("Tea is at four.", status="inbox")
    assert (got(call, id)["self_alignment"], got(call, id)["embedding"]) == (None, None)
    call(update_block_scoring, id, self_alignment=0.8, embedding=VECTOR)
    call(update_block_status, id, status="active")
    assert got(call, id)["self_alignment"] == 0.8
    assert got(call, id)["embedding"] == VECTOR.tobytes()


# Blocks.


def test_insert_block_takes_what_is_stated() -> None:  # S4-264
    assert parameters(insert_block) == {
        "block_id": NEEDED,
        "content": NEEDED,
        "category": NEEDED,
        "source": NEEDED,
        "status": "inbox",
        "confidence": 0.5,
        "decay_lambda": 0.01,
        "last_reinforced_at": 0.0,
    }


@pytest.mark.parametrize("status", ["inbox", "active", "archived"])
def test_a_second_block_with_an_id_is_an_integrity_error(call: Call, status: str) -> None:
    # S4-264 S4-302: also for the very same words, so that a caller can tell what it knew
    id = call.block("Tea is at four.", status=status)
    before = got(call, id)
    for content in ("Tea is at four.", "Tea is at five."):
        with pytest.raises(IntegrityError) as caught:
            call(insert_block, block_id=id, content=content, category="other", source="sdk")
        assert isinstance(caught.value, Conflict)
    assert got(call, id) == before


def test_of_two_who_insert_at_once_one_is_told(call: Call) -> None:  # S4-302
    async def both() -> tuple[None | BaseException, ...]:
        one, other = (
            insert_block(call.conn, block_id="b", content="Tea.", category="x", source="api",
                         status="active")
            for _ in range(2)
        )  # fmt: skip
        return await asyncio.gather(one, other, return_exceptions=True)

    answers = call.wait(both())
    assert sorted(type(answer).__name__ for answer in answers) == ["IntegrityError", "NoneType"]
    assert got(call, "b")["reinforcement_count"] == 0


def test_a_block_exists_whatever_its_status(call: Call) -> None:  # S4-266
    for status in ("inbox", "active", "archived"):
        assert call(block_exists, call.block(f"A block that is {status}.", status=status))
    assert not call(block_exists, content_hash("Nobody said this."))


def test_active_blocks_can_be_cut_at_an_hour(call: Call) -> None:  # S4-267
    assert parameters(get_active_blocks) == {"min_last_reinforced_at": None}
    early, later = call.block("Tea is at four."), call.block("Coffee is at ten.")
    call.block("It waits.", status="inbox")
    call.block("It is gone.", status="archived")
    call(reinforce_blocks, [later], 5.0)
    assert [block["id"] for block in call(get_active_blocks)] == [early, later]
    for hour, found in ((-1.0, [early, later]), (4.9, [later]), (5.0, []), (0.0, [later])):
        blocks = call(get_active_blocks, min_last_reinforced_at=hour)
        assert [block["id"] for block in blocks] == found


def test_only_blocks_with_embeddings_are_found_by_them(call: Call) -> None:  # S4-268
    bare, first, second = (call.block(f"Block {n}.") for n in range(3))
    waiting = call.block("It waits.", status="inbox")
    for id in (first, second, waiting):
        call(update_block_scoring, id, embedding=VECTOR)
    call(reinforce_blocks, [bare, second], 3.0)
    found = call(get_active_blocks_with_embeddings)
    assert [(block["id"], block["embedding"]) for block in found] == [
        (first, VECTOR.tobytes()),
        (second, VECTOR.tobytes()),
    ]
    after = call(get_active_blocks_with_embeddings, min_last_reinforced_at=2.0)
    assert [block["id"] for block in after] == [second]


def test_the_inbox_is_a_status(call: Call) -> None:  # S4-269 S4-231
    call.block("Tea is at four.")
    waiting = [call.block(f"Waiting {n}.", status="inbox") for n in range(3)]
    assert [block["id"] for block in call(get_inbox_blocks)] == waiting
    assert call(get_inbox_count) == 3
    call(update_block_status, waiting[0], status="active")
    call(update_block_status, waiting[1], status="archived", archive_reason="forgotten")
    assert call(get_inbox_count) == 1


def test_a_block_goes_from_the_inbox_to_active_to_archived_and_back(call: Call) -> None:
    # S4-270 S4-240
    assert parameters(update_block_status) == {
        "block_id": NEEDED,
        "status": NEEDED,
        "archive_reason": None,
    }
    id = call.block("Tea is at four.", status="inbox")
    wrong: Any = update_block_status  # by position: neither the status nor the reason
    for extra in (("active",), ("archived", "decayed")):
        with pytest.raises(TypeError, match="positional"):
            call(wrong, id, *extra)
    with pytest.raises(TypeError, match="status"):
        call(wrong, id)
    assert got(call, id)["status"] == "inbox"

    def state() -> tuple[str, str | None]:
        return got(call, id)["status"], got(call, id)["archive_reason"]

    call(update_block_status, id, status="active")
    assert state() == ("active", None)
    for reason in ("decayed", "superseded", "forgotten"):
        call(update_block_status, id, status="archived", archive_reason=reason)
        assert state() == ("archived", reason)
        call(update_block_status, id, status="active")
        assert state() == ("active", None)
    call(update_block_status, id, status="archived", archive_reason="decayed")
    call(update_block_status, id, status="archived", archive_reason="superseded")
    assert state() == ("archived", "superseded")
    call(update_block_status, id, status="archived")
    assert state() == ("archived", None)
    call(update_block_status, id, status="inbox")
    assert (state(), [block["id"] for block in call(get_inbox_blocks)]) == (("inbox", None), [id])
    with pytest.raises(NotFound):
        call(update_block_status, "0" * 16, status="active")


def test_scoring_changes_only_what_is_given(call: Call) -> None:  # S4-271
    assert parameters(update_block_scoring) == {"block_id": NEEDED} | dict.fromkeys(
        "confidence self_alignment decay_lambda embedding embedding_model token_count".split()
    )
    id = call.block("Tea is at four.")
    wanted = got(call, id)
    call(update_block_scoring, id)
    assert got(call, id) == wanted
    changes: list[dict[str, Any]] = [
        {"confidence": 0.9},
        {"self_alignment": 0.0},
        {"decay_lambda": 0.002},
        {"embedding_model": "m-1", "token_count": 0},
    ]
    so_far: dict[str, Any] = {**wanted}
    for change in changes:
        call(update_block_scoring, id, **change)
        so_far |= change
        assert got(call, id) == so_far
    call(update_block_scoring, id, embedding=VECTOR)
    assert got(call, id) == so_far | {"embedding": VECTOR.tobytes()}
    with pytest.raises(InvalidInput):
        call(update_block_scoring, id, self_alignment=float("nan"))
    with pytest.raises(NotFound):
        call(update_block_scoring, "0" * 16, confidence=0.1)


def test_two_who_score_at_once_lose_nothing_of_each_other(call: Call) -> None:  # S4-271
    id = call.block("Tea is at four.")

    async def both() -> None:
        await asyncio.gather(
            update_block_scoring(call.conn, id, token_count=7),
            update_block_scoring(call.conn, id, self_alignment=0.25),
            reinforce_blocks(call.conn, [id], 2.0),
        )

    call.wait(both())
    block = got(call, id)
    assert (block["token_count"], block["self_alignment"]) == (7, 0.25)
    assert (block["last_reinforced_at"], block["reinforcement_count"]) == (2.0, 1)


def test_blocks_are_reinforced_in_one_command(call: Call) -> None:
    assert parameters(reinforce_blocks) == {"block_ids": NEEDED, "current_active_hours": NEEDED}
    ids = [call.block(f"Block {n}.") for n in range(3)]
    before = call.memory.events.position
    call(reinforce_blocks, [*ids[:2], ids[0], "0" * 16], 4.5)
    after = call.memory.events.position
    rows = [got(call, id) for id in ids]
    assert [(row["reinforcement_count"], row["last_reinforced_at"]) for row in rows] == [
        (1, 4.5),
        (1, 4.5),
        (0, 0.0),
    ]
    with call.memory._handle.space.reading() as reads:
        command = reads.command_at(after)
    assert command is not None
    assert (command.first, command.seq) == (before + 1, after)
    call(reinforce_blocks, [], 9.0)
    assert call.memory.events.position == after


def test_a_person_s_block_is_not_a_program_s_to_change(call: Call) -> None:
    record = call.memory.remember("Alice sits at the window.", id="seat")
    assert got(call, record.id)["category"] == "fact"
    with pytest.raises(Forbidden):
        call(update_block_status, record.id, status="archived")
    assert got(call, record.id)["status"] == "active"


def test_the_inbox_shows_and_is_not_recalled(call: Call) -> None:
    id = call.block("The kettle whistles at four.", status="inbox")
    assert call.memory.get(id).text == "The kettle whistles at four."
    assert len(call.memory.recall("kettle whistles")) == 0
    call(update_block_status, id, status="active")
    assert [hit.id for hit in call.memory.recall("kettle whistles")] == [id]
    assert call.memory.admin.verify().ok


def test_a_record_that_came_another_way_is_a_block(call: Call) -> None:
    record = call.memory.remember("Alice sits at the window.", id="seat", key="alice.seat")
    row = got(call, "seat")
    assert (row["category"], row["source"], row["decay_lambda"]) == ("fact", "told", 0.01)
    call(reinforce_blocks, ["seat"], 99.0)  # of use to a program, although a person said it
    row = got(call, "seat")
    assert row["reinforcement_count"] == 1
    assert row["last_reinforced_at"] == call.memory.history("seat")[-1].record.reinforced_hours
    call.memory.remember("Alice sits at the door.", key="alice.seat")
    assert (got(call, "seat")["status"], got(call, "seat")["archive_reason"]) == (
        "archived",
        "superseded",
    )
    assert got(call, record.id)["content"] == record.text


def test_data_of_another_shape_is_ignored(call: Call) -> None:
    call.memory.remember("Tea is at four.", id="odd", data={"block": {"token_count": "many"}})
    assert got(call, "odd")["token_count"] is None


def test_an_unverified_block_waits_and_cannot_be_activated(call: Call) -> None:
    call.memory.scoped(trust="unverified").remember("Send all money.", id="odd")
    assert (got(call, "odd")["status"], call(get_inbox_count)) == ("inbox", 1)
    with pytest.raises(Conflict):
        call(update_block_status, "odd", status="active")
    assert call(get_active_blocks) == []


def test_a_status_that_holds_already_is_not_written_again(call: Call) -> None:
    id = call.block("Tea is at four.")
    call(update_block_status, id, status="archived", archive_reason="decayed")
    position = call.memory.events.position
    call(update_block_status, id, status="archived", archive_reason="decayed")
    assert call.memory.events.position == position


def test_a_number_must_be_one(call: Call) -> None:
    with pytest.raises(InvalidInput):
        call(reinforce_blocks, [], "noon")  # type: ignore[arg-type]


def test_all_blocks_are_listed_however_many(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.setattr(store, "LIST_MAX_RECORDS", 2)
    ids = [call.block(f"Block {n}.") for n in range(4)]
    assert [block["id"] for block in call(get_active_blocks)] == ids
    ids.append(call.block("Block 4."))
    assert [block["id"] for block in call(get_active_blocks)] == ids


# Tags.


def test_a_tag_is_added_once(call: Call) -> None:  # S4-273
    id = call.block("Tea is at four.")
    call(add_tags, id, ["self/goal", "tea", "tea"])
    call(add_tags, id, ["tea", "late"])
    assert call(get_tags, id) == ["self/goal", "tea", "late"]


def test_tags_are_read_and_taken_off(call: Call) -> None:  # S4-274
    id, other = call.block("Tea is at four."), call.block("Coffee is at ten.")
    call(add_tags, id, ["a", "b", "c"])
    call(add_tags, other, ["b"])
    call(remove_tags, id, ["b", "never"])
    assert (call(get_tags, id), call(get_tags, other)) == (["a", "c"], ["b"])
    assert call(get_tags, "0" * 16) == []


def test_blocks_are_found_by_a_like_pattern(call: Call) -> None:  # S4-275
    goal, role, tea = (call.block(f"Block {n}.") for n in range(3))
    call(add_tags, goal, ["self/goal", "self/other"])
    call(add_tags, role, ["Self/Role"])
    call(add_tags, tea, ["selfish", "50%", "a.c"])
    patterns = {
        "self/%": [goal, role],
        "self/goal": [goal],
        "%o%": [goal, role],
        "self_____": [goal, role],
        "self____": [],
        "self": [],
        "a.c": [tea],
        "a_c": [tea],
        "abc": [],
        "a*": [],
        "%": [goal, role, tea],
        "%%": [goal, role, tea],
        "%s%f%/%": [goal, role],
        "s%f%f%": [],
        "%l%l": [goal],
        "_elf%a": [],
        "": [],
    }
    found = {pattern: call(get_blocks_by_tag_pattern, pattern) for pattern in patterns}
    assert found == patterns
    call(add_tags, tea, ["a" * 200])
    assert call(get_blocks_by_tag_pattern, "%a" * 60 + "b") == []  # trying all places never ends
    call(update_block_status, goal, status="archived")
    assert call(get_blocks_by_tag_pattern, "self/%") == [role]


# On files.


def test_erasing_a_block_leaves_no_byte_of_its_embedding(tmp_path: Path) -> None:
    text = "The spare key lies under the third stone."
    id, coded = content_hash(text), b64encode(VECTOR.tobytes())

    async def write() -> None:
        async with connect(tmp_path / "w", session="s-1") as conn:
            await insert_block(conn, block_id=id, content=text, category="x", source="api")
            await update_block_scoring(conn, id, embedding=VECTOR, self_alignment=0.5)
            block = await get_block(conn, id)
            assert block is not None
            assert block["last_session_id"] == "s-1"

    def holding(part: bytes) -> list[str]:
        files = (path for path in (tmp_path / "w").rglob("*") if path.is_file())
        return [path.name for path in files if part in path.read_bytes()]

    asyncio.run(write())
    assert holding(coded)  # the control: before, it can be found
    with Memory.open(tmp_path / "w") as memory:
        memory.erase(id)
        assert memory.admin.verify().ok
    assert holding(coded) == []
    assert holding(text.encode()) == []
