"""S4: the package, its tables, its engines, and Alembic."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import event, insert, select, text
from sqlalchemy import inspect as looked_at
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import NullPool, StaticPool

from recollect import ConfigError
from recollect.contracts.blocks import db
from recollect.contracts.blocks.db import create_engine, create_test_engine
from recollect.contracts.blocks.db.models import (
    block_tags,
    blocks,
    contradictions,
    edges,
    frames,
    metadata,
    sessions,
    system_config,
)
from recollect.contracts.blocks.db.queries import block_exists, insert_block, insert_edge
from recollect.contracts.blocks.scoring import log_normalise_reinforcement
from recollect.contracts.blocks.types import ArchiveReason, BlockStatus, DecayTier
from recollect.store import posix

ROOT = Path(__file__).parents[2]
PACKAGE = Path(db.__file__).parent
TABLES = "blocks block_tags edges contradictions frames sessions system_config".split()


def columns(table: sqlalchemy.Table) -> list[str]:
    return [column.name for column in table.columns]


def nullable(table: sqlalchemy.Table) -> list[str]:
    return [column.name for column in table.columns if column.nullable]


def defaults(table: sqlalchemy.Table) -> dict[str, Any]:
    return {c.name: c.default.arg for c in table.columns if c.default is not None}  # type: ignore[attr-defined]


def unique(table: sqlalchemy.Table) -> dict[str, list[str]]:
    found = (x for x in table.constraints if isinstance(x, sqlalchemy.UniqueConstraint))
    return {str(x.name): [c.name for c in x.columns] for x in found}


def cascades(table: sqlalchemy.Table) -> dict[str, tuple[str, str | None]]:
    return {key.parent.name: (key.target_fullname, key.ondelete) for key in table.foreign_keys}


def in_test_engine(work: Any) -> Any:
    async def run() -> Any:
        engine = await create_test_engine()
        async with engine.begin() as conn:
            found = await work(conn)
        await engine.dispose()
        return found

    return asyncio.run(run())


async def block(conn: AsyncConnection, id: str, **columns: Any) -> None:
    given = {"content": f"Block {id}.", "category": "knowledge", "source": "api"} | columns
    await insert_block(conn, block_id=id, **given)


# The package.


def test_the_package_has_the_files_and_names_that_are_stated() -> None:
    # S4-234 S4-235 S4-303: env.py is in the package, so that it is installed
    for name in ("__init__.py", "models.py", "engine.py", "queries.py", "alembic/env.py"):
        assert (PACKAGE / name).is_file()
    assert sorted(db.__all__) == ["create_engine", "create_test_engine", "metadata"]
    lines = (
        "from recollect.contracts.blocks.db.models import metadata, blocks, block_tags, edges, "
        "contradictions, frames, sessions, system_config\n"
        "from recollect.contracts.blocks.db.engine import create_engine, create_test_engine\n"
        "from recollect.contracts.blocks.db.queries import insert_block, get_block\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", lines], check=False)
    assert done.returncode == 0


def test_without_the_extra_the_rest_works_and_the_message_names_it(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['sqlalchemy'] = sys.modules['aiosqlite'] = sys.modules['numpy'] = None\n"
        "from recollect import Memory\n"
        "from recollect.errors import NotInstalled\n"
        "from recollect.contracts import blocks\n"
        "from recollect.contracts.blocks import types\n"
        "with Memory.open('w') as memory:\n"
        "    memory.remember('Tea is at four.')\n"
        "try:\n"
        "    import recollect.contracts.blocks.db\n"
        "except NotInstalled as error:\n"
        "    print(error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout == "install it with: pip install 'recollect[blocks]'\n", done.stderr
    loaded = "import sys, recollect.contracts.blocks; print('sqlalchemy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=False
    )
    assert done.stdout == "False\n"


def test_the_packages_and_enums_are_those_that_are_stated() -> None:  # S4-308
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["blocks"]
    assert [need.split(">")[0] for need in extra] == ["aiosqlite", "numpy", "sqlalchemy[asyncio]"]
    assert "sqlalchemy[asyncio]>=2.0" in extra
    assert list(BlockStatus) == ["inbox", "active", "archived"]
    assert list(ArchiveReason) == ["decayed", "superseded", "forgotten"]
    assert [tier.decay_lambda for tier in DecayTier] == [0.0, 0.001, 0.01, 0.05]


def test_the_three_files_are_checked_strictly() -> None:  # S4-306
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"] is True
    assert "src" in settings["files"]
    named = [name for each in settings["overrides"] for name in each["module"]]
    assert not [name for name in named if name.startswith("recollect.contracts")]
    for name in ("models.py", "engine.py", "queries.py"):
        source = (PACKAGE / name).read_text()
        assert "# type: ignore" not in source
        assert "# mypy:" not in source
    makefile = (ROOT / "Makefile").read_text()
    assert "\t$(BIN)/mypy $(1)\n" in makefile
    assert "\t$(call linted)\n" in makefile  # without an argument: all that the settings name


def test_real_is_not_in_sqlalchemy_and_float_stores_one() -> None:  # S4-236
    """Decided: the document's import fails; a column is a Float, and what it holds is a REAL."""
    with pytest.raises(ImportError):
        from sqlalchemy import Real  # type: ignore[attr-defined]  # noqa: F401
    numbers = {c.name for c in blocks.columns if isinstance(c.type, sqlalchemy.Float)}
    assert numbers == {"confidence", "decay_lambda", "last_reinforced_at", "self_alignment"}

    async def work(conn: AsyncConnection) -> Any:
        await block(conn, "a", confidence=1)
        return (await conn.execute(select(sqlalchemy.func.typeof(blocks.c.confidence)))).scalar()

    assert in_test_engine(work) == "real"


def test_no_use_counts_as_zero() -> None:  # S4-301
    assert log_normalise_reinforcement(0, 12) == log_normalise_reinforcement(0, 0) == 0.0
    assert log_normalise_reinforcement(12, 12) == 1.0
    assert 0.0 < log_normalise_reinforcement(3, 12) < 1.0


# The tables.


def test_there_are_seven_tables_and_none_for_the_inbox() -> None:  # S4-231
    assert list(metadata.tables) == TABLES
    assert str(blocks.c.status.default.arg) == "inbox"  # type: ignore[union-attr]


def test_blocks_has_sixteen_columns() -> None:  # S4-237 S4-238 S4-239
    assert (
        columns(blocks)
        == (
            "id content category source created_at status archive_reason confidence "
            "reinforcement_count decay_lambda last_reinforced_at self_alignment embedding "
            "embedding_model token_count last_session_id"
        ).split()
    )
    assert [c.name for c in blocks.primary_key] == ["id"]
    assert (
        nullable(blocks)
        == (
            "archive_reason self_alignment embedding embedding_model token_count last_session_id"
        ).split()
    )
    assert defaults(blocks) == {
        "status": "inbox",
        "confidence": 0.5,
        "reinforcement_count": 0,
        "decay_lambda": 0.01,
        "last_reinforced_at": 0.0,
    }


@pytest.mark.parametrize("column", "id content category source created_at".split())
def test_a_column_that_may_not_be_null_is_not(column: str) -> None:  # S4-239
    given = dict.fromkeys("id content category source created_at".split(), "2026-01-01")

    async def work(conn: AsyncConnection) -> None:
        with pytest.raises(IntegrityError):
            await conn.execute(insert(blocks).values(given | {column: None}))
        await conn.execute(insert(blocks).values(given))

    if column == "id":
        given["id"] = "y"  # SQLite itself lets a key of text be null, SQLAlchemy does not
        assert not blocks.c.id.nullable
    else:
        in_test_engine(work)


def test_tags_edges_and_contradictions_are_as_stated() -> None:  # S4-246 S4-247 S4-250
    to_block = ("blocks.id", "CASCADE")
    assert columns(block_tags) == ["block_id", "tag"]
    assert unique(block_tags) == {"uq_block_tag": ["block_id", "tag"]}
    assert cascades(block_tags) == {"block_id": to_block}
    assert columns(edges) == "from_id to_id weight reinforcement_count created_at".split()
    assert unique(edges) == {"uq_edge": ["from_id", "to_id"]}
    assert cascades(edges) == {"from_id": to_block, "to_id": to_block}
    assert defaults(edges) == {"reinforcement_count": 0}
    assert columns(contradictions) == "block_a_id block_b_id score resolved created_at".split()
    assert unique(contradictions) == {"uq_contradiction": ["block_a_id", "block_b_id"]}
    assert cascades(contradictions) == {"block_a_id": to_block, "block_b_id": to_block}
    assert defaults(contradictions) == {"resolved": 0}
    assert nullable(block_tags) == nullable(edges) == nullable(contradictions) == []


def test_frames_sessions_and_settings_are_as_stated() -> None:  # S4-251 S4-252 S4-253
    names = "name weights_json filters_json guarantees_json template token_budget cache_json"
    assert columns(frames) == [*names.split(), "source", "created_at"]
    assert defaults(frames) == {"guarantees_json": "[]", "source": "user"}
    assert nullable(frames) == ["cache_json"]
    assert columns(sessions) == "id task_type started_at ended_at start_active_hours".split()
    assert (defaults(sessions), nullable(sessions)) == ({"task_type": "general"}, ["ended_at"])
    assert (columns(system_config), nullable(system_config)) == (["key", "value"], [])
    keys = [[c.name for c in t.primary_key] for t in (frames, sessions, system_config)]
    assert keys == [["name"], ["id"], ["key"]]


def test_a_file_has_the_tables_and_seven_indexes(tmp_path: Path) -> None:  # S4-254 S4-304
    async def run() -> tuple[set[str], dict[str, Any], str]:
        engine = await create_engine(f"{tmp_path}/x.db")
        async with engine.begin() as conn:
            made = await conn.run_sync(lambda sync: set(looked_at(sync).get_table_names()))
            indexes = await conn.run_sync(
                lambda sync: {
                    str(each["name"]): each["column_names"]
                    for name in TABLES
                    for each in looked_at(sync).get_indexes(name)
                }
            )
            one = "SELECT sql FROM sqlite_master WHERE name = 'idx_contradictions_unresolved'"
            partial = (await conn.execute(text(one))).scalar_one()
        await engine.dispose()
        return made, indexes, partial

    made, indexes, partial = asyncio.run(run())
    assert made == {*TABLES, "recollect_projection"}
    assert indexes == {
        "idx_blocks_status": ["status"],
        "idx_blocks_last_reinforced": ["last_reinforced_at"],
        "idx_block_tags_tag": ["tag"],
        "idx_block_tags_block_id": ["block_id"],
        "idx_edges_from": ["from_id"],
        "idx_edges_to": ["to_id"],
        "idx_contradictions_unresolved": ["block_a_id", "block_b_id"],
    }
    assert partial.endswith("WHERE resolved = 0")


# The engines.


async def pragmas(conn: AsyncConnection) -> dict[str, Any]:
    names = "journal_mode foreign_keys synchronous cache_size temp_store".split()
    return {name: (await conn.execute(text(f"PRAGMA {name}"))).scalar() for name in names}


def test_an_engine_is_async_and_every_connection_has_its_pragmas(tmp_path: Path) -> None:
    # S4-228 S4-229 S4-255 S4-256 S4-257
    assert inspect.iscoroutinefunction(create_engine)
    parameters = inspect.signature(create_engine).parameters
    assert [(p.name, p.default) for p in parameters.values()][1:3] == [
        ("echo", False),
        ("trust", "agent"),  # one more than is stated, which a caller need not give
    ]
    assert parameters["echo"].kind is inspect.Parameter.KEYWORD_ONLY
    path = f"{tmp_path}/x.db"

    async def run() -> None:
        engine = await create_engine(path)
        assert isinstance(engine, AsyncEngine)
        assert str(engine.url) == f"sqlite+aiosqlite:///{path}"
        assert isinstance(engine.pool, NullPool)
        given = []
        event.listen(engine.sync_engine, "do_connect", lambda *args: given.append(args[3]))
        for _ in range(2):
            async with engine.connect() as conn:
                assert await pragmas(conn) == {
                    "journal_mode": "wal",
                    "foreign_keys": 1,
                    "synchronous": 1,
                    "cache_size": -32000,
                    "temp_store": 2,
                }
        assert [each["check_same_thread"] for each in given] == [False, False]
        await engine.dispose()
        loud = await create_engine(path, echo=True)
        assert loud.echo
        await loud.dispose()

    asyncio.run(run())


def test_the_caller_disposes_the_engine_and_may_go_on(tmp_path: Path) -> None:  # S4-258
    async def run() -> None:
        engine = await create_engine(f"{tmp_path}/x.db")
        async with engine.begin() as conn:
            await block(conn, "a")
        await engine.dispose()
        open_files = {str(path.resolve()) for path in Path("/proc/self/fd").glob("*")}
        assert not [name for name in open_files if str(tmp_path) in name]
        async with engine.begin() as conn:
            assert await block_exists(conn, "a")
        await engine.dispose()

    asyncio.run(run())


def test_the_test_engine_is_in_memory_with_all_tables() -> None:  # S4-259 S4-304
    async def run() -> None:
        engine = await create_test_engine()
        assert engine.url == sqlalchemy.make_url("sqlite+aiosqlite:///:memory:")
        assert isinstance(engine.pool, StaticPool)
        async with engine.begin() as conn:
            for table in metadata.tables.values():
                found = (await conn.execute(select(table))).mappings().all()
                names = {
                    row["name"] for row in found
                }  # the built-in frames need no row of a caller
                assert names == ({"self", "attention", "task"} if table is frames else set())
            assert (await pragmas(conn))["foreign_keys"] == 1
            with pytest.raises(IntegrityError):
                await insert_edge(conn, from_id="a", to_id="b", weight=0.5)
            await block(conn, "a")
        async with engine.connect() as conn:
            assert await block_exists(conn, "a")
        await engine.dispose()
        other = await create_test_engine()
        async with other.connect() as conn:
            assert not await block_exists(conn, "a")
        await other.dispose()

    asyncio.run(run())


def test_another_program_s_file_is_neither_opened_nor_changed(tmp_path: Path) -> None:
    import sqlite3

    theirs = tmp_path / "elfmem.db"
    with sqlite3.connect(theirs) as conn:
        conn.execute("CREATE TABLE blocks (id TEXT)")
    conn.close()
    notes = tmp_path / "notes.txt"
    notes.write_text("Tea is at four.")
    before = (theirs.read_bytes(), notes.read_bytes())
    link = tmp_path / "link.db"
    link.symlink_to(theirs)
    for path in (theirs, notes, link, tmp_path, tmp_path / "index.db", tmp_path / "events.wal"):
        with pytest.raises(ConfigError):
            asyncio.run(create_engine(str(path)))
    for wrong in (":memory:", "", " "):
        with pytest.raises(ConfigError, match="not a file"):
            asyncio.run(create_engine(wrong))
    assert (theirs.read_bytes(), notes.read_bytes()) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elfmem.db", "link.db", "notes.txt"]


# Alembic.


def config(conn: Any) -> Config:
    made = Config()
    made.set_main_option("script_location", str(PACKAGE / "alembic"))
    made.attributes["connection"] = conn
    return made


def test_alembic_s_env_takes_the_metadata_plainly() -> None:  # S4-307
    tree = ast.parse((PACKAGE / "alembic" / "env.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Try)]
    taken = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = {(node.module, n.name, n.asname) for node in taken for n in node.names}
    assert ("recollect.contracts.blocks.db.models", "metadata", "target_metadata") in names


def test_alembic_finds_nothing_to_migrate_in_a_projection(tmp_path: Path) -> None:  # S4-307
    def check(conn: sqlalchemy.Connection) -> None:
        command.check(config(conn))  # raises if the tables differ from the metadata
        conn.exec_driver_sql("DROP INDEX idx_edges_to")
        with pytest.raises(CommandError, match="idx_edges_to"):
            command.check(config(conn))

    async def run() -> None:
        engine = await create_engine(f"{tmp_path}/x.db")
        async with engine.connect() as conn:
            await conn.run_sync(check)
        await engine.dispose()

    asyncio.run(run())


def test_a_migration_is_rendered_in_batches_and_runs(tmp_path: Path) -> None:  # S4-233
    scripts = tmp_path / "alembic"
    (scripts / "versions").mkdir(parents=True)
    (scripts / "env.py").write_text((PACKAGE / "alembic" / "env.py").read_text())
    (scripts / "script.py.mako").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n"
        "revision, down_revision = ${repr(up_revision)}, ${repr(down_revision)}\n"
        "def upgrade():\n    ${upgrades}\n"
    )
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/old.db")
    with engine.begin() as conn:
        metadata.create_all(conn)
        conn.exec_driver_sql("DROP TABLE system_config")
        conn.exec_driver_sql("CREATE TABLE system_config (key TEXT PRIMARY KEY, value TEXT)")
        made = config(conn)
        made.set_main_option("script_location", str(scripts))
        command.revision(made, autogenerate=True, rev_id="0001")
        (written,) = (scripts / "versions").glob("0001*.py")
        assert "with op.batch_alter_table('system_config'" in written.read_text()
        command.upgrade(made, "head")
        (value,) = (c for c in looked_at(conn).get_columns("system_config") if c["name"] == "value")
        assert value["nullable"] is False
    engine.dispose()


def test_the_loop_goes_on_while_a_transaction_waits_for_the_disk(tmp_path: Path) -> None:
    # S4-229: a commit waits for the ledger's lock, which only this loop can release
    waited = threading.Event()

    async def run() -> None:
        engine = await create_engine(f"{tmp_path}/x.db")
        async with engine.begin() as conn:
            await insert_block(conn, block_id="a", content="One.", category="x", source="api")
        fd = os.open(tmp_path / "x.db-memory" / "ledger.lock", os.O_RDWR)
        posix.lock(fd)

        # If the loop itself waited, nothing else would ever release the lock.
        def let_go() -> None:
            waited.set()
            posix.unlock(fd)

        rescue = threading.Timer(60, let_go)
        rescue.start()
        try:

            async def write() -> None:
                async with engine.begin() as conn:
                    await insert_block(
                        conn, block_id="b", content="Two.", category="x", source="api"
                    )

            task = asyncio.create_task(write())
            for _ in range(100):
                await asyncio.sleep(0.001)
            assert not task.done(), "the control: it does wait"
            posix.unlock(fd)
            await task
        finally:
            rescue.cancel()
            os.close(fd)
        async with engine.connect() as conn:
            assert await block_exists(conn, "b")
        await engine.dispose()

    asyncio.run(run())
    assert not waited.is_set()
