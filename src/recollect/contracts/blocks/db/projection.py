"""The file that holds the tables: made from a memory, and made again from it at any time.

Responsible for the tables' schema in a file, for how far it follows the ledger, and for writing
rows. Leaves what rows say to ``rows``. Invariants: rows and position change in one transaction; a
file of another program is neither changed nor read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Final

from sqlalchemy import Column, Index, Integer, MetaData, Table, Text, delete, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, DropTable
from sqlalchemy.sql import ClauseElement

from recollect.contracts.blocks.db import models
from recollect.contracts.blocks.db.driver import Driver
from recollect.contracts.blocks.db.rows import Head, Rows
from recollect.contracts.blocks.table import Row
from recollect.errors import ConfigError
from recollect.store.disk.layout import PROJECTION_ID

VERSION: Final = 2  # of the schema and of what rows say; another one is made again
SIGN: Final = int.from_bytes(PROJECTION_ID)
_DIALECT: Final = sqlite.dialect()

own = MetaData()
state = Table(
    "recollect_projection",
    own,
    Column("version", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("command", Text, nullable=False),
)


def prepare(db: Driver) -> None:
    """Makes the tables, unless they are there."""
    ((sign,),) = db.run("PRAGMA application_id")  # the engine signs a new file
    tables = {str(name) for (name,) in db.run(_sql(select(_names.c.name)))}
    if sign == SIGN and state.name in tables and _version(db) == VERSION:
        return
    if sign != SIGN:
        raise ConfigError(
            "the file holds another program's tables",
            hint="name a new file; `recollect import elfmem` brings in what this one holds",
        )
    db.begin()
    for table in reversed([*models.metadata.sorted_tables, state]):
        if table.name in tables:
            db.run(_sql(DropTable(table)))
    for table in (*models.metadata.sorted_tables, state):
        db.run(_sql(CreateTable(table, if_not_exists=True)))
        for index in sorted(table.indexes, key=_name_of):
            db.run(_sql(CreateIndex(index, if_not_exists=True)))
    db.end()


def head_of(db: Driver) -> Head | None:
    """How far the rows follow the ledger; None if there are none."""
    found = db.run(_sql(select(state.c.seq, state.c.command)))
    return Head(*found[0]) if found else None


def write(db: Driver, rows: Rows) -> None:
    """Writes rows and the position at which they were read."""
    if rows.ids is None:
        for table in models.metadata.sorted_tables:
            db.run(_sql(delete(table)))
    else:
        # What hangs on a block goes with it, and is among the rows.
        db.many(_sql(delete(models.blocks).where(models.blocks.c.id == "")), _ones(rows.ids))
        of_block = models.block_tags.c.block_id == ""
        db.many(_sql(delete(models.block_tags).where(of_block)), _ones(rows.kept))
    _change(db, models.blocks, [row for row in rows.blocks if row["id"] in rows.kept])
    for table, some in (
        (models.blocks, [row for row in rows.blocks if row["id"] not in rows.kept]),
        (models.block_tags, rows.tags),
        (models.edges, rows.edges),
        (models.contradictions, rows.contradictions),
    ):
        _insert(db, table, some)
    _replace(db, models.sessions, rows.sessions)
    _replace(db, models.frames, rows.frames)
    _replace(db, models.system_config, rows.config)
    db.run(_sql(delete(state)))
    _insert(db, state, [{"version": VERSION, "seq": rows.head.seq, "command": rows.head.command}])


def _ones(ids: Collection[str]) -> list[tuple[str]]:
    return [(id,) for id in sorted(ids)]


def _insert(db: Driver, table: Table, rows: Sequence[Row]) -> None:
    if rows:
        names = [column.name for column in table.columns]
        db.many(_inserting(table), [[row[name] for name in names] for row in rows])


def _change(db: Driver, table: Table, rows: Sequence[Row]) -> None:
    names = [column.name for column in table.columns if column.name != "id"]
    if rows:
        changed = update(table).where(table.c.id == "").values(dict.fromkeys(names))
        db.many(_sql(changed), [[*(row[name] for name in names), row["id"]] for row in rows])


def _replace(db: Driver, table: Table, rows: Sequence[Row] | None) -> None:
    if rows is not None:
        db.run(_sql(delete(table)))
        _insert(db, table, rows)


@cache
def _inserting(table: Table) -> str:
    return _sql(insert(table))


def _sql(statement: ClauseElement) -> str:
    return str(statement.compile(dialect=_DIALECT))


def _version(db: Driver) -> int | None:
    found = db.run(_sql(select(state.c.version)))
    return int(found[0][0]) if found else VERSION


def _name_of(index: Index) -> str:
    return str(index.name)


_names = Table("sqlite_master", MetaData(), Column("name", Text), Column("type", Text))
