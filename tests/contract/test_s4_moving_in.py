"""S4: a database of this design moves in, with everything that its rows say or a line about it."""

from __future__ import annotations

import asyncio
import random
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from recollect import ConfigError, Memory, Record
from recollect.contracts.blocks.db import create_engine
from recollect.contracts.blocks.db.models import metadata
from recollect.model.presets import BUILT_IN
from tests.exchange.elfmem_sample import DDL, FRAME, block, make, sample

Tables = dict[str, list[dict[str, Any]]]


def rows_of(path: Path) -> Tables:
    """Every row that an engine shows, but for the built-in frames."""

    async def read() -> Tables:
        engine = await create_engine(str(path))
        found: Tables = {}
        async with engine.connect() as conn:
            for name, table in metadata.tables.items():
                rows = (await conn.execute(select(table))).mappings().all()
                found[name] = [dict(row) for row in rows if row.get("name") not in BUILT_IN]
        await engine.dispose()
        return found

    return asyncio.run(read())


def moved_in(folder: Path, rows: Any, ddl: str = DDL) -> tuple[Any, Tables]:
    """What an import said, and the rows of an engine over the memory."""
    file = make(folder / "elfmem.db", rows, ddl)
    with Memory.open(folder / "elfmem.db-memory") as memory:
        done = memory.admin.import_(file)
        digest = memory.admin.digest()
        again = memory.admin.import_(file)
        assert (again.kept, again.changed, again.known) == (0, 0, done.kept)
        assert memory.admin.digest() == digest
        assert memory.admin.verify().ok
    file.unlink()
    return done, rows_of(file)


def ordered(rows: Any) -> list[list[tuple[str, Any]]]:
    return sorted((sorted(dict(row).items()) for row in rows), key=repr)


def without(rows: Any, *columns: str) -> Any:
    return ordered({k: v for k, v in row.items() if k not in columns} for row in rows)


def same(found: Tables, given: Any) -> None:
    """The rows are the given ones, field by field; sessions but for their times."""
    for table in metadata.tables:
        left = ("started_at", "ended_at") if table == "sessions" else ()
        assert without(found[table], *left) == without(given.get(table, ()), *left), table


def why(done: Any) -> list[str]:
    return [f"{one.where.partition(', ')[2]}: {one.why}" for one in done.problems]


TIMES = "sessions: started_at, ended_at: a session has the time of the import ({})"


def test_a_database_of_84_blocks_moves_in_field_by_field(tmp_path: Path) -> None:  # S4-237
    given = sample()
    done, found = moved_in(tmp_path, given)
    assert (done.format, done.records, done.links) == ("elfmem", 84, 24)
    assert why(done) == [TIMES.format(2)]
    same(found, given)
    assert [(row["id"], row["ended_at"] is None) for row in found["sessions"]] == [
        ("s-1", False),
        ("s-2", True),
    ]
    with Memory.open(tmp_path / "elfmem.db-memory") as memory:
        assert memory.recall("block 83 about tea", k=1)[0].text == "  Block 83 is about *tea*.\n"
        record = memory.get(str(given["blocks"][3]["id"]))
        assert isinstance(record, Record)
        assert (record.trust, record.how_known) == ("agent", "imported")
        assert record.said_at == "2026-02-04T10:03:00.000000Z"
        assert memory.context("tea", preset="kitchen").hits


def test_an_engine_names_the_commands_that_move_a_database_in(tmp_path: Path) -> None:
    folder = tmp_path / "an agent's"
    folder.mkdir()
    file = make(folder / "elf mem.db", sample())
    before = file.read_bytes()
    with pytest.raises(ConfigError) as caught:
        asyncio.run(create_engine(str(file)))
    assert file.read_bytes() == before
    hint = caught.value.hint or ""
    first, second = hint.split("`")[1::2]
    words = [sys.executable, "-m", *shlex.split(first)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Imported 84 records, 24 links" in done.stdout
    subprocess.run(shlex.split(second), check=True)
    same(rows_of(file), sample())


def test_what_changed_there_comes_in_the_next_time(tmp_path: Path) -> None:
    given: Tables = {
        "blocks": [block(text) for text in ("Tea.", "Coffee.", "Milk.")],
        "block_tags": [],
        "sessions": [{"id": "s", "task_type": "x", "started_at": "2026-01-01", "ended_at": None,
                      "start_active_hours": 0.0}],
    }  # fmt: skip
    given["blocks"][2]["status"] = "inbox"
    file = make(tmp_path / "elfmem.db", given)
    tea, coffee, milk = (str(row["id"]) for row in given["blocks"])
    with Memory.open(tmp_path / "elfmem.db-memory") as memory:
        memory.admin.import_(file)
        with closing(sqlite3.connect(file)) as there:
            there.execute("UPDATE blocks SET confidence = 0.9, category = 'habit', "
                          "reinforcement_count = 4 WHERE id = ?", (tea,))  # fmt: skip
            there.execute("UPDATE blocks SET status = 'archived', archive_reason = 'superseded' "
                          "WHERE id = ?", (coffee,))  # fmt: skip
            there.execute("UPDATE blocks SET status = 'active' WHERE id = ?", (milk,))
            there.execute("INSERT INTO block_tags VALUES (?, 'self/goal')", (tea,))
            there.execute("UPDATE sessions SET ended_at = '2026-01-02'")
            there.commit()
        done = memory.admin.import_(file)
        assert (done.kept, done.changed) == (1, 3)  # kept: the end of the session
        assert memory.admin.import_(file).changed == 0
    file.unlink()
    found = {row["id"]: row for row in rows_of(file)["blocks"]}
    row = found[tea]
    assert (row["confidence"], row["category"], row["reinforcement_count"]) == (0.9, "habit", 4)
    assert (found[coffee]["status"], found[coffee]["archive_reason"]) == ("archived", "superseded")
    assert found[milk]["status"] == "active"
    rows = rows_of(file)
    assert rows["block_tags"] == [{"block_id": tea, "tag": "self/goal"}]
    assert rows["sessions"][0]["ended_at"] is not None


def test_what_was_forgotten_or_erased_here_does_not_come_back(tmp_path: Path) -> None:
    rows = [block(text) for text in ("Tea.", "Milk.", "Cake.")]
    tea, milk, cake = (str(row["id"]) for row in rows)
    file = make(tmp_path / "elfmem.db", {"blocks": rows})
    with Memory.open(tmp_path / "memory") as memory:
        memory.admin.import_(file)
        memory.forget(tea)
        memory.erase(milk)
        memory.admin.backup(tmp_path / "saved")
        done = memory.admin.import_(file)
        assert (done.kept, done.changed, done.known) == (0, 0, 3)
        assert [record.id for record in memory.list()] == [cake]
        assert memory.admin.verify().ok


def test_what_is_held_waits_whole_and_raises_no_trust(tmp_path: Path) -> None:
    file = make(tmp_path / "elfmem.db", sample())
    with Memory.open(tmp_path / "memory") as memory:
        memory.remember("Tea is at six.", id=str(sample()["blocks"][0]["id"]))
        done = memory.admin.import_(file, hold=True)
        assert done.waiting
        held = memory.list(filter="status = 'waiting'", include=["waiting"], limit=200)
        assert {record.trust for record in held} == {"unverified"}
        assert [record.text for record in memory.list()] == ["Tea is at six."]
        assert "kitchen" not in [frame.name for frame in memory.settings.presets.list()]
        assert memory.sessions.list() == []
        said = [(one.where, one.why) for one in done.problems]
        assert any("frame kitchen" in where for where, _ in said)
        assert any("session s-1" in where for where, _ in said)
        assert any("another text there" in why or "exists" in why for _, why in said)


def test_a_projection_whose_memory_is_lost_can_be_brought_in(tmp_path: Path) -> None:
    _, before = moved_in(tmp_path, sample())
    lost = tmp_path / "elfmem.db"
    shutil.rmtree(tmp_path / "elfmem.db-memory")
    with pytest.raises(ConfigError, match="another memory") as caught:
        rows_of(lost)
    assert "recollect import elfmem" in (caught.value.hint or "")
    other = tmp_path / "other.db"
    with Memory.open(tmp_path / "other.db-memory") as memory:
        done = memory.admin.import_(lost)
        assert (done.records, done.links) == (84, 24)
    same(rows_of(other), before)


def test_a_link_that_changed_there_stays_and_is_named(tmp_path: Path) -> None:
    one, other = sorted((block("Tea."), block("Milk.")), key=lambda row: str(row["id"]))
    edge = {"from_id": one["id"], "to_id": other["id"], "weight": 0.5, "reinforcement_count": 1,
            "created_at": "2026-01-01"}  # fmt: skip
    file = make(tmp_path / "elfmem.db", {"blocks": [one, other], "edges": [edge]})
    with Memory.open(tmp_path / "elfmem.db-memory") as memory:
        memory.admin.import_(file)
        memory.revise(str(one["id"]), "Tea is at five.")
        assert memory.admin.import_(file).refused == 0, "what changed here is no change there"
        with closing(sqlite3.connect(file)) as there:
            there.execute("UPDATE edges SET weight = 0.9")
            there.commit()
        for dry_run in (True, False):
            done = memory.admin.import_(file, dry_run=dry_run)
            assert (done.kept, done.changed, done.known) == (0, 0, 2)
            assert [said.split(": ")[1] for said in why(done)] == [
                "the link has changed there; the one here stays"
            ]


def test_a_database_whose_last_changes_are_in_its_log_is_not_half_read(tmp_path: Path) -> None:
    file = make(tmp_path / "elfmem.db", {"blocks": [block("Tea.")]})
    with closing(sqlite3.connect(file)) as still_open:
        still_open.execute("PRAGMA wal_autocheckpoint = 0")
        still_open.execute("UPDATE blocks SET confidence = 0.9")
        still_open.commit()
        with Memory.open(tmp_path / "memory") as memory:
            for place in (file, tmp_path):
                done = memory.admin.import_(place, "elfmem")
                assert (done.kept, done.refused) == (0, 1)
                assert "wal_checkpoint" in done.problems[0].why
            still_open.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert memory.admin.import_(file).kept == 1


def test_a_transaction_that_a_crash_cut_off_is_not_read(tmp_path: Path) -> None:
    file = make(tmp_path / "elfmem.db", {"blocks": [block("Tea.")]})
    journal = tmp_path / "elfmem.db-journal"
    journal.write_bytes(b"\xd9\xd5\x05\xf9 what a rollback needs")
    with Memory.open(tmp_path / "memory") as memory:
        done = memory.admin.import_(file)
        assert (done.kept, done.refused) == (0, 1)
        assert "elfmem.db-journal" in done.problems[0].why
        journal.write_bytes(b"")
        assert memory.admin.import_(file).kept == 1


# A file from elsewhere says anything.

LOOSE = (
    DDL.replace("TEXT PRIMARY KEY", "").replace(" NOT NULL", "").replace(" TEXT", "")
    .replace(" REAL", "").replace(" INTEGER", "").replace(" BLOB", "")
)  # fmt: skip


def test_what_is_of_another_type_is_left_out_with_a_line(tmp_path: Path) -> None:
    wrong: list[dict[str, object]] = [
        {"content": None}, {"id": b"x"}, {"id": 7.5}, {"content": b"bytes"}, {"content": " "},
        {"created_at": "yesterday"}, {"confidence": "high"}, {"confidence": 7},
        {"status": "asleep"}, {"archive_reason": "bored"}, {"category": b"x"}, {"source": "a\nb"},
        {"reinforcement_count": -1}, {"reinforcement_count": 2**60}, {"decay_lambda": "slow"},
        {"last_reinforced_at": float("inf")}, {"embedding": "text"}, {"token_count": 1.5},
    ]  # fmt: skip
    rows = {
        "blocks": [
            *(block(f"Block {n}.") | row for n, row in enumerate(wrong)),
            block("Another text.", id=block("Block 9.")["id"]),
        ],
        "block_tags": [{"block_id": "nobody", "tag": "x"}, {"block_id": 5, "tag": None}],
        "edges": [{"from_id": "nobody", "to_id": None, "weight": 1, "created_at": ""}],
        "sessions": [{"id": " "}],
        "frames": [{"name": "self"} | FRAME, {"name": "odd"} | FRAME | {"weights_json": "{"}],
        "system_config": [{"key": "k", "value": 5}, {"key": "l", "value": "6"}],
    }
    done, found = moved_in(tmp_path, rows, LOOSE)
    assert done.records == len(wrong) - 5
    assert [row["value"] for row in found["system_config"]] == ["6"]
    lines = why(done)
    for table, said in (
        ("blocks", "no id or no text (5)"), ("blocks", "the id is there twice (1)"),
        ("blocks", "created_at: not a date"),
        ("blocks", "confidence: not a number"), ("blocks", "confidence: not from 0 to 1"),
        ("blocks", "status: not one"), ("blocks", "archive_reason: not one"),
        ("blocks", "category: not one line"), ("blocks", "source: not one line"),
        ("blocks", "reinforcement_count: below 0"),
        ("blocks", "reinforcement_count: not a whole number"),
        ("blocks", "decay_lambda: not a number"), ("blocks", "last_reinforced_at: not a number"),
        ("blocks", "embedding: not bytes"), ("blocks", "token_count: not a whole number"),
        ("block_tags", "no block or no tag (1)"), ("block_tags", "the block is not there (1)"),
        ("edges", "its two blocks are not there (1)"), ("sessions", "the id cannot be a name here"),
        ("frames", "built in"), ("frame odd", "weights_json"), ("system_config", "no name"),
    ):  # fmt: skip
        assert any(line.startswith(f"{table}: {said}") for line in lines), (table, said)


def test_ids_and_texts_that_a_memory_cannot_have_come_in_as_near_as_they_can(
    tmp_path: Path,
) -> None:
    ids = ["with blanks", "é", "x" * 500, "block-settings", "good"]
    rows = {
        "blocks": [
            *(block(f"Block {n}.", id=id) for n, id in enumerate(ids)),
            block("Tea\x00 is at four."),
        ],
        "edges": [{"from_id": "with blanks", "to_id": "é", "weight": 2.5,
                   "reinforcement_count": 400, "created_at": "2026-01-01"}],
    }  # fmt: skip
    done, found = moved_in(tmp_path, rows)
    assert done.records == 6
    by_text = {row["content"]: row["id"] for row in found["blocks"]}
    assert by_text["Block 4."] == "good"
    assert "Tea\ufffd is at four." in by_text
    (edge,) = found["edges"]
    assert {edge["from_id"], edge["to_id"]} == {by_text["Block 0."], by_text["Block 1."]}
    assert (edge["weight"], edge["reinforcement_count"]) == (1.0, 100)
    assert why(done) == [
        "blocks: the id cannot be one here, so the block has another one (4)",
        "blocks: content: characters that cannot be stored; � stands for them (1)",
        "edges: weight: not from 0 to 1, so the nearest is kept (1)",
        "edges: more than 100 uses; so many were kept (1)",
    ]


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    file = make(tmp_path / "elfmem.db", {"blocks": [block("Tea is at four.")]})
    file.write_bytes(file.read_bytes().replace(b"Tea is", b"T\xff\xfe is"))
    with Memory.open(tmp_path / "memory") as memory:
        done = memory.admin.import_(file)
        assert memory.list()[0].text == "T\ufffd\ufffd is at four."
    assert why(done) == ["texts: not UTF-8: � stands for what is not (1)"]


VIEW = DDL.partition("CREATE TABLE block_tags")
COMPUTED = {
    "a view": "CREATE VIEW blocks AS SELECT randomblob(1) AS id, 'x' AS content;",
    "a virtual table": "CREATE VIRTUAL TABLE blocks USING fts5(id, content);",
    "a computed column": "CREATE TABLE blocks (id TEXT, content TEXT AS (zeroblob(900000000)));",
}


@pytest.mark.parametrize("what", COMPUTED)
def test_what_a_database_computes_is_not_run(what: str, tmp_path: Path) -> None:
    ddl = COMPUTED[what] + "CREATE TABLE block_tags(block_id, tag); CREATE TABLE system_config(k);"
    file = make(tmp_path / "elfmem.db", {}, ddl)
    with Memory.open(tmp_path / "memory") as memory:
        done = memory.admin.import_(file)
    assert (done.format, done.kept) == ("elfmem", 0)
    assert done.problems[0].why == "it has no table of blocks"


def test_triggers_run_nothing_and_other_tables_are_named(tmp_path: Path) -> None:
    ddl = DDL + (
        "CREATE TABLE extra (x); CREATE VIEW seen AS SELECT * FROM blocks;"
        "ALTER TABLE blocks ADD COLUMN mood TEXT;"
    )
    file = make(tmp_path / "elfmem.db", {"blocks": [block("Tea.")]}, ddl)
    with closing(sqlite3.connect(file)) as there:
        there.execute("CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END")
    before = file.read_bytes()
    with Memory.open(tmp_path / "memory") as memory:
        done = memory.admin.import_(file)
    assert (file.read_bytes(), done.records) == (before, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elfmem.db", "memory"]
    assert why(done) == ["table extra: it is not read", "blocks: the column mood is not read (1)"]


def test_a_damaged_database_is_told_and_never_raises(tmp_path: Path) -> None:
    whole = make(tmp_path / "elfmem.db", sample()).read_bytes()
    chance = random.Random(37)
    with Memory.open(":memory:") as memory:
        for _ in range(30):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 40)):
                damaged[chance.randrange(100, len(whole))] = chance.randrange(256)
            file = tmp_path / "damaged.db"
            file.write_bytes(damaged[: chance.choice([len(whole), len(whole) // 2])])
            done = memory.admin.import_(file, "elfmem", dry_run=True)
            assert done.kept + done.refused > 0


# Random databases, out and in.


def random_rows(chance: random.Random) -> dict[str, list[dict[str, Any]]]:
    """Rows of every table that S4 could have written."""
    signs = "abc é日🧪\n\t \u2028\u200b'\"%_"
    texts = {"".join(chance.choices(signs, k=chance.randint(1, 40))) for _ in range(20)}
    blocks = []
    for content in sorted(text for text in texts if text.strip()):
        status = chance.choice(["inbox", "active", "active", "archived"])
        reasons = [None, "decayed", "superseded", "forgotten"]
        vector = struct.pack("<4f", *(chance.uniform(-1, 1) for _ in range(4)))
        blocks.append(
            block(
                content,
                category=chance.choice(["knowledge", "observation", "à table"]),
                source=chance.choice(["api", "cli", "sdk"]),
                created_at=chance.choice(
                    ["2020-01-01", "2024-05-06 07:08:09", "2026-01-02T03:04:05.6+02:00",
                     "2025-12-31T23:59:59.999999Z"]
                ),
                status=status,
                archive_reason=chance.choice(reasons) if status == "archived" else None,
                confidence=chance.choice([0.0, 1.0, chance.random()]),
                reinforcement_count=chance.choice([0, 1, 7, 150]),
                decay_lambda=chance.choice([0.0, 0.01, 0.05, 3.25]),
                last_reinforced_at=chance.choice([0.0, -0.5, chance.random() * 1e4]),
                self_alignment=chance.choice([None, -1.5, 0.25]),
                embedding=chance.choice([None, vector, b""]),
                embedding_model=chance.choice([None, "m-1"]),
                token_count=chance.choice([None, 0, 2**40]),
                last_session_id=chance.choice([None, "s-1", "a session"]),
            )
        )  # fmt: skip
    blocks = list({row["id"]: row for row in blocks}.values())
    live = sorted({str(row["id"]) for row in blocks if row["status"] != "archived"})
    pairs = sorted({tuple(sorted(chance.sample(live, 2))) for _ in range(9)}) if live[1:] else []
    name = chance.choice(["kitchen", "on-call"])
    return {
        "blocks": blocks,
        "block_tags": [
            {"block_id": id, "tag": tag}
            for id in live
            for tag in chance.sample(["self/goal", "tea", "°C", "50%"], chance.randint(0, 3))
        ],
        "edges": [
            {"from_id": a, "to_id": b, "weight": chance.choice([0.0, 1.0, chance.random()]),
             "reinforcement_count": chance.choice([0, 3, 100]), "created_at": "2026-01-01 10:00:00"}
            for a, b in pairs[:6]
        ],
        "contradictions": [
            {"block_a_id": a, "block_b_id": b, "score": chance.random(),
             "resolved": chance.choice([0, 1]), "created_at": "2026-01-01T00:00:00+00:00"}
            for a, b in pairs[3:]
        ],
        "frames": [{"name": name} | FRAME | {"token_budget": chance.randint(1, 9_000)}],
        "sessions": [
            {"id": f"s-{n}", "task_type": "x", "started_at": f"2026-01-0{n}",
             "ended_at": chance.choice([None, "2026-02-01"]), "start_active_hours": n / 3}
            for n in range(1, chance.randint(2, 4))
        ],
        "system_config": [{"key": "top_k", "value": str(chance.random())}],
    }  # fmt: skip


def out_and_in(seeds: range, folder: Path) -> int:
    """Random databases move in; their rows come out again the same. Returns how many did."""
    done = 0
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        given = random_rows(random.Random(seed))
        said, found = moved_in(place, given)
        assert why(said) == [TIMES.format(len(given["sessions"]))], seed
        same(found, given)
        done += 1
    return done


def test_a_few_random_databases_come_out_as_they_went_in(tmp_path: Path) -> None:
    first = 10 * random.SystemRandom().randrange(10**6)
    assert out_and_in(range(first, first + 10), tmp_path) == 10


@pytest.mark.nightly
def test_random_databases_come_out_as_they_went_in(tmp_path: Path) -> None:
    assert out_and_in(range(200), tmp_path) == 200
