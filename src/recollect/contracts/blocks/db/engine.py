"""Engines over a memory.

Responsible for the two functions that make one, its settings, and where its memory lies. Leaves
what happens in a transaction to ``opened``. Invariant: a file that is not a projection of ours is
not opened.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from shlex import quote
from typing import Any, Final

from sqlalchemy import URL, Connection, delete, event, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, Pool, StaticPool

from recollect.config import MEMORY, load
from recollect.contracts.blocks.db.models import metadata
from recollect.contracts.blocks.db.opened import OpenedMemory
from recollect.contracts.blocks.db.projection import SIGN, state
from recollect.errors import ConfigError
from recollect.model.events import Trust
from recollect.store.disk.layout import is_empty, is_projection, is_reserved, memory_beside

_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA cache_size=-32000",
    "PRAGMA temp_store=MEMORY",
)
_READS: Final = ("SELECT", "PRAGMA", "EXPLAIN", "VALUES")


async def create_engine(db_path: str, *, echo: bool = False, trust: Trust = "agent") -> AsyncEngine:
    """An engine over the memory of a database file; the caller disposes it.

    Args:
        db_path: The file. Its memory is the folder it lies in, if that is one, else the folder
            beside it with ``-memory`` after its name.
        echo: Log every statement.
        trust: The trust with which it writes. With "agent" a transaction cannot change what a
            person said, nor archive more than 20 blocks; give "person" only to a program that a
            person runs for this.

    Raises:
        ConfigError: The file belongs to another program, or the path cannot be used.
    """
    memory = OpenedMemory(load(_folder_of(_checked(db_path))), trust)
    await asyncio.to_thread(memory.get)
    return _engine(db_path, memory, NullPool, echo)


async def create_test_engine() -> AsyncEngine:
    """An engine over a memory that is gone when it is disposed, with all tables."""
    memory = OpenedMemory(load(MEMORY))
    engine = _engine(MEMORY, memory, StaticPool, False)
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
    return engine


async def rebuild(engine: AsyncEngine) -> None:
    """Make the tables again from the memory. Deleting the file has the same effect."""
    async with engine.begin() as conn:
        await conn.execute(delete(state))
    async with engine.connect() as conn:
        await conn.execute(select(state))


def _engine(path: str, memory: OpenedMemory, pool: type[Pool], echo: bool) -> AsyncEngine:
    # Put together, not parsed: a name may hold the signs of an address.
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=path),
        echo=echo,
        poolclass=pool,
        connect_args={"check_same_thread": False},
    )
    sync = engine.sync_engine

    @event.listens_for(sync, "connect")
    def connect(dbapi_conn: Any, _: ConnectionPoolEntry) -> None:
        # The driver would begin a transaction at the first change of a row, but not at a savepoint.
        dbapi_conn.isolation_level = None
        set_pragmas(dbapi_conn)

    @event.listens_for(sync, "before_cursor_execute")
    def execute(conn: Connection, _: object, statement: str, *others: object) -> None:
        if not statement.lstrip().upper().startswith(_READS):
            memory.writes(conn)

    @event.listens_for(sync, "engine_disposed")
    def disposed(_: object) -> None:
        memory.close()

    event.listen(sync, "begin", memory.begin)
    event.listen(sync, "commit", memory.commit)
    return engine


def set_pragmas(dbapi_conn: DBAPIConnection) -> None:
    """Sets what every connection needs, and signs a new file."""
    cursor = dbapi_conn.cursor()
    cursor.execute("PRAGMA page_count")
    if cursor.fetchone() == (0,):  # before there is a log: then the header itself has the sign
        cursor.execute(f"PRAGMA application_id={SIGN}")
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _folder_of(path: Path) -> Path:
    beside = memory_beside(path)
    return path.parent if is_empty(beside) and not is_empty(path.parent) else beside


def _checked(db_path: str) -> Path:
    if os.fspath(db_path) == MEMORY or not os.fspath(db_path).strip():
        raise ConfigError(
            f"{db_path!r} is not a file", hint="use create_test_engine() for one in memory"
        )
    path = Path(db_path)
    if is_reserved(path.name):
        raise ConfigError(f"{path.name} is a file of the memory itself", hint="use another name")
    if os.path.lexists(path) and not is_projection(path):
        raise ConfigError(
            f"{db_path} is not a database that was made from a memory",
            hint=_how_to_move_in(path),
        )
    return path


def _how_to_move_in(path: Path) -> str:
    """The commands that make a database of S4 one that an engine opens."""
    store, file, aside = (quote(str(p)) for p in (memory_beside(path), path, f"{path}.original"))
    return (
        f"move what it holds into a memory: `recollect --store {store} import elfmem {file}`, "
        f"then `mv {file} {aside}`, and create the engine again; or name a new file"
    )
