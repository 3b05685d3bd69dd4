"""What a transaction has written, row by row.

Responsible for temporary tables that hold each changed row as it was before. Leaves what becomes of
a change to ``changes``. Invariants: the tables belong to one connection and roll back with its
transaction, also to a savepoint; every statement is noticed, not only those of ``queries``. The
texts here are made of the names of tables and columns alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sqlalchemy import Table

from recollect.contracts.blocks.db import models
from recollect.contracts.blocks.db.driver import Driver
from recollect.contracts.blocks.table import Row

Key = tuple[str, ...]

KEYS: Final[dict[str, Key]] = {
    "blocks": ("id",),
    "block_tags": ("block_id", "tag"),
    "edges": ("from_id", "to_id"),
    "contradictions": ("block_a_id", "block_b_id"),
    "frames": ("name",),
    "sessions": ("id",),
    "system_config": ("key",),
}


class Change(NamedTuple):
    """One row before a transaction and now; None where there is none."""

    before: Row | None
    after: Row | None


Written = dict[str, dict[tuple[object, ...], Change]]  # by table and key


def notice(db: Driver) -> None:
    """Begins to notice what this connection writes."""
    for name, key in KEYS.items():
        for statement in _statements(models.metadata.tables[name], key):
            db.run(statement)


def written(db: Driver) -> Written:
    """What was written since the transaction began, without what came to nothing."""
    found: Written = {}
    for name, key in KEYS.items():
        changes = dict(_changes(db, name, key))
        if changes:
            found[name] = changes
    return found


def forget(db: Driver) -> None:
    """Forgets what was noticed so far."""
    for name in KEYS:
        db.run(f"DELETE FROM temp.was_{name}")  # noqa: S608 - a name of this module


def _changes(db: Driver, name: str, key: Key) -> Iterator[tuple[tuple[object, ...], Change]]:
    columns = [column.name for column in models.metadata.tables[name].columns]
    every = ", ".join(columns)
    same = _all(f"was.{part} = {name}.{part}" for part in key)
    old = db.run(f"SELECT existed, {every} FROM temp.was_{name} ORDER BY rowid")  # noqa: S608
    if not old:
        return
    now = db.run(
        f"SELECT {every} FROM {name} "  # noqa: S608
        f"WHERE EXISTS (SELECT 1 FROM temp.was_{name} AS was WHERE {same})"
    )
    rows = [dict(zip(columns, row, strict=True)) for row in now]
    after = {tuple(row[part] for part in key): row for row in rows}
    for existed, *values in old:
        row = dict(zip(columns, values, strict=True))
        place = tuple(row[part] for part in key)
        change = Change(row if existed else None, after.get(place))
        if change.before != change.after:
            yield place, change


def _statements(table: Table, key: Key) -> Iterator[str]:
    name, was = table.name, f"was_{table.name}"
    columns = [column.name for column in table.columns]
    every = ", ".join(columns)
    yield f"CREATE TEMP TABLE {was} (existed INTEGER NOT NULL, {every})"
    yield f"CREATE INDEX temp.{was}_key ON {was} ({', '.join(key)})"
    of_new = _unless(was, key, "NEW")
    of_old = _unless(was, key, "OLD")
    there = _all(f"{part} = NEW.{part}" for part in key)
    new_key = ", ".join(f"NEW.{part}" for part in key)
    old_row = ", ".join(f"OLD.{column}" for column in columns)
    fresh = f"INSERT INTO {was} (existed, {', '.join(key)}) SELECT 0, {new_key} {of_new};"
    stood = f"INSERT INTO {was} SELECT 1, {old_row} {of_old};"
    # A row that REPLACE removes is seen by no trigger but this one.
    replaced = (
        f"INSERT INTO {was} SELECT 1, {every} FROM {name} "  # noqa: S608
        f"WHERE {there} AND {of_new.removeprefix('WHERE ')};"
    )
    for moment, body in (
        ("BEFORE INSERT", replaced),
        ("AFTER INSERT", fresh),
        ("AFTER UPDATE", stood + fresh),
        ("AFTER DELETE", stood),
    ):
        trigger = f"{was}_{moment.replace(' ', '_').lower()}"
        yield f"CREATE TEMP TRIGGER {trigger} {moment} ON main.{name} BEGIN {body} END"


def _unless(was: str, key: Key, which: str) -> str:
    """A row is noticed once, as it was first."""
    same = _all(f"{part} = {which}.{part}" for part in key)
    return f"WHERE NOT EXISTS (SELECT 1 FROM {was} WHERE {same})"  # noqa: S608


def _all(parts: Iterator[str]) -> str:
    return " AND ".join(parts)
