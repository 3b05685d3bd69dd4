"""The settings of this API, stored as the data of one record.

Responsible for reading and changing them. Leaves their meaning to the caller. Invariant: the record
is in the inbox, so that no recall finds it; it is listed, and can be erased, like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from recollect.contracts.blocks.connection import Connection
from recollect.errors import Conflict, NotFound
from recollect.lifecycle.commands import Remember, Revise
from recollect.memory import Memory
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import INCLUDES, Record

SETTINGS: Final = "block-settings"  # the record's id
CONFIG: Final[Mapping[str, str]] = {
    "total_active_hours": "0.0",
    "prune_threshold": "0.05",
    "top_k": "5",
}
_HOURS: Final = "total_active_hours"


async def get_config(conn: Connection, key: str) -> str | None:
    """A setting, or None."""
    return (await conn.run(_config)).get(key)


async def set_config(conn: Connection, key: str, value: str) -> None:
    """Set a setting."""
    await conn.run(
        lambda memory: _put(memory, {validate.name(key, "key"): validate.text(value, "value")})
    )


async def get_total_active_hours(conn: Connection) -> float:
    """The active hours that the caller counted; 0.0 if not set."""
    return float(await get_config(conn, _HOURS) or 0.0)


async def set_total_active_hours(conn: Connection, hours: float) -> None:
    """Store the active hours that the caller counted."""
    await set_config(conn, _HOURS, str(float(hours)))


async def seed_builtin_data(conn: Connection) -> None:
    """Set the defaults that are not set yet; the built-in frames always exist."""

    def work(memory: Memory) -> None:
        known = _config(memory)
        missing = {key: value for key, value in CONFIG.items() if key not in known}
        if missing:
            _put(memory, missing)

    await conn.run(work)


def _config(memory: Memory) -> dict[str, str]:
    try:
        record = memory.get(SETTINGS, include=INCLUDES)
    except NotFound:
        return {}
    config = record.data.get("config") if isinstance(record, Record) else None
    pairs = config.items() if isinstance(config, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def _put(memory: Memory, values: Mapping[str, str]) -> None:
    data: dict[str, Json] = {"config": dict(values)}
    first = Remember(
        id=SETTINGS,
        stamp="",
        chance="",
        text="Settings of the blocks",
        kind="system_config",
        status="inbox",
        fresh=True,
        data=data,
    )
    try:
        memory.submit(Revise(id=SETTINGS, patch=data))
    except NotFound:
        try:
            memory.submit(first)
        except Conflict:  # another writer was first
            memory.submit(Revise(id=SETTINGS, patch=data))
