"""S4: what its document promises about safety, each promise tried where it could break."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from recollect import InvalidInput, Memory
from recollect.contracts.blocks.db import models, queries
from recollect.contracts.blocks.db.queries import get_config, seed_builtin_data, set_config
from recollect.propose.chat import ChatProposer
from tests.contract.test_s4_queries import QUERIES, VECTOR, Database
from tests.contract.test_s4_transactions import block, using
from tests.embed.servers import Server
from tests.propose.servers import JsonServer, suggesting

ROOT = Path(__file__).parents[2]
PACKAGE = Path(queries.__file__).parent


@pytest.fixture
def db() -> Iterator[Database]:
    with asyncio.Runner() as runner:
        made = Database(runner)
        yield made
        runner.run(made.engine.dispose())


# Statements.

HOSTILE = "'); DROP TABLE blocks; --"
# What a query refuses before it runs anything, and a value that it takes.
REFUSED: dict[str, dict[str, str]] = {
    "insert_block": {"block_id": "plain", "status": "active"},
    "update_block_status": {"status": "active"},
}
OTHERS = {
    "float": 0.5,
    "float | None": 0.5,
    "int": 1,
    "int | None": 1,
    "Embedding | None": VECTOR,
}


def given(name: str, type: str) -> Any:
    """A value for a parameter; a text is hostile, and says whose it is."""
    said = f"{name}{HOSTILE}"
    texts = {
        "str": said,
        "str | None": said,
        "list[str]": [said],
        "list[tuple[str, str]]": [(said, f"{said}z")],
    }
    return {**OTHERS, **texts}[type]


def parameters(query: Any) -> dict[str, str]:
    return {one.name: one.annotation for one in inspect.signature(query).parameters.values()}


@pytest.mark.parametrize("name", list(QUERIES))
def test_every_text_of_every_query_is_bound(db: Database, name: str) -> None:  # S4-295
    """The texts come from the signature, so a new query or parameter is tried too."""
    types = parameters(QUERIES[name])
    assert types.pop("conn") == "AsyncConnection"
    named = {one: given(one, type) for one, type in types.items()}
    texts = [one for one, type in types.items() if "str" in type]
    db.statements.clear()
    refused = REFUSED.get(name, {})
    for one in refused:
        with pytest.raises(InvalidInput):
            db(name, **{**named, **refused, one: named[one]})
    assert HOSTILE not in repr(db.statements)
    with suppress(IntegrityError, InvalidInput):  # no such block; a name that no record can have
        db(name, **{**named, **refused})
    assert db.statements
    assert not [text for text, _ in db.statements if HOSTILE in text or "DROP" in text]
    bound = repr([values for _, values in db.statements])
    assert {one for one in texts if f"{one}{HOSTILE}" not in bound} == refused.keys()
    assert db.rows(select(models.blocks.c.id)) is not None  # the table is there


RAW = {"text", "literal", "literal_column", "exec_driver_sql", "executescript", "TextClause"}


def raw_parts(source: str) -> set[str]:
    """What a module calls that takes SQL as a text, by the last part of its name."""
    tree = ast.parse(source)
    called = [x.func for x in ast.walk(tree) if isinstance(x, ast.Call)]
    last = [x.attr if isinstance(x, ast.Attribute) else getattr(x, "id", "") for x in called]
    renamed = {
        x.name
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom | ast.Import)
        for x in each.names
    }
    return (set(last) | renamed) & RAW


def test_no_query_takes_sql_as_a_text() -> None:  # S4-295
    assert raw_parts(Path(queries.__file__).read_text()) == set()
    assert raw_parts((PACKAGE / "models.py").read_text()) == set()
    for evil in (
        "conn.execute(sqlalchemy.text(f'SELECT {x}'))",
        "from sqlalchemy import text as t",
        "other.exec_driver_sql('x' % y)",
        "sa.sql.literal_column(x)",
        "text(x)",
    ):
        assert raw_parts(evil), evil  # the control


# Keys.

SECRET = "sk-0123456789abcdefSECRET"


def holding(folder: Path) -> list[str]:
    """The files under a folder that hold the secret."""
    found = [each for each in folder.rglob("*") if each.is_file()]
    assert len(found) >= 3
    return [each.name for each in found if SECRET.encode() in each.read_bytes()]


def test_a_key_that_is_used_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S4-297
    """An embedder and a model are really asked with the key; only they have seen it."""
    path, suggested = tmp_path / "x.db", {"intent": "add", "text": "Tea is at five.", "reason": "x"}
    quotes = [{"episode": "e1", "words": "tea is at five"}]

    async def write(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await seed_builtin_data(conn)
            await block(conn, "a")
            await queries.update_block_scoring(
                conn, "a", embedding=VECTOR, embedding_model="small", self_alignment=0.5
            )
        async with engine.connect() as conn:
            keys = (await conn.execute(select(models.system_config.c.key))).scalars().all()
            assert set(keys) == {"total_active_hours", "prune_threshold", "top_k"}

    with Server() as embedding, JsonServer(suggesting({**suggested, "quotes": quotes})) as model:
        monkeypatch.setenv("RECOLLECT_EMBEDDER", f"{embedding.url}#small")
        monkeypatch.setenv("RECOLLECT_EMBEDDER_KEY", SECRET)
        using(path, write)
        with Memory.open(tmp_path / "x.db-memory") as memory:
            memory.observe("From now on tea is at five.", id="e1")
            memory.settings.rules.set("asked", propose=True)
            done = memory.settings.rules.run(
                "asked", proposer=ChatProposer(model.url, "small", SECRET)
            )
            assert done.waiting == 1
            memory.admin.embed()
            assert memory.recall("tea")
        using(path, write_more)
        for asked in (embedding, model):
            assert asked.keys
            assert set(asked.keys) == {f"Bearer {SECRET}"}
    assert holding(tmp_path) == []


async def write_more(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        await block(conn, "b")


def test_a_key_that_a_caller_sets_is_a_setting_until_it_is_erased(tmp_path: Path) -> None:
    # S4-297
    """Decided: no name or text tells a key from a threshold; what was set can be erased."""
    path = tmp_path / "x.db"

    async def leak(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await set_config(conn, "openai_api_key", SECRET)
            await set_config(conn, "top_k", "9")
            assert await get_config(conn, "openai_api_key") == SECRET

    async def after(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            assert await get_config(conn, "openai_api_key") is None
            await set_config(conn, "top_k", "9")

    using(path, leak)
    assert "x.db" in " ".join(holding(tmp_path))  # the control: the search finds it
    with Memory.open(tmp_path / "x.db-memory") as memory:
        memory.settings.documents.drop("settings", "block-settings", erase=True)
    using(path, after)
    assert holding(tmp_path) == []


# Readers beside a writer.


def test_a_reader_keeps_what_it_began_with(tmp_path: Path) -> None:  # S4-299
    """In WAL mode a writer commits while another program reads in a transaction of its own."""
    path = tmp_path / "x.db"

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "first")
        reader = sqlite3.connect(path, isolation_level=None, timeout=0)

        def asked(question: str) -> Any:
            return reader.execute(question).fetchone()[0]

        try:
            for number in range(1, 6):
                reader.execute("BEGIN")
                assert asked("PRAGMA journal_mode") == "wal"
                assert asked("SELECT count(*) FROM blocks") == number
                async with engine.begin() as conn:  # not kept from writing by the reader
                    await block(conn, f"later-{number}")
                async with engine.connect() as conn:
                    found = await conn.execute(select(models.blocks.c.id))
                    assert len(found.all()) == number + 1  # it was committed meanwhile
                    mode = await conn.exec_driver_sql("PRAGMA journal_mode")
                    assert mode.scalar() == "wal"
                assert asked("SELECT count(*) FROM blocks") == number
                assert asked("PRAGMA integrity_check") == "ok"
                reader.execute("COMMIT")
        finally:
            reader.close()

    using(path, work)


# Types.


def mypy(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_three_files_pass_mypy(tmp_path: Path) -> None:  # S4-306
    names = ("models.py", "engine.py", "queries.py")
    source = (PACKAGE / "queries.py").read_text()
    wrong = re.sub(r"return vec\.astype\(np\.float32\)\.tobytes\(\)", "return vec", source)
    wrong = re.sub(r"def _touches\(.*", "def _touches(one, other, ids):", wrong)
    copy = tmp_path / "queries_with_errors.py"
    copy.write_text(wrong)
    done = mypy(*(PACKAGE / name for name in names), copy)
    *problems, last = done.stdout.splitlines()
    assert {line.partition(":")[0] for line in problems} == {str(copy)}  # none is in the three
    assert last.endswith("in 1 file (checked 4 source files)")
    assert done.returncode == 1  # the control
    assert [code for code in ("return-value", "no-untyped-def") if f"[{code}]" in done.stdout] == [
        "return-value",
        "no-untyped-def",
    ]
