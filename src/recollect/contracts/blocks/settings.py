"""The settings of this API, stored as one document.

Responsible for reading and changing them. Leaves their meaning to the caller. Invariant: two
callers that change different settings at the same time keep both changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from recollect.contracts.blocks.connection import Connection, again
from recollect.errors import NotFound
from recollect.exchange.importers.blocks import SETTINGS, SETTINGS_TYPE
from recollect.lifecycle.commands import Expect
from recollect.memory import Memory
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import INCLUDES, Record

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
    return texts(stored(memory)[0])


def texts(settings: Mapping[str, Json]) -> dict[str, str]:
    """The settings that are texts, as all are that this API writes."""
    return {key: value for key, value in settings.items() if isinstance(value, str)}


def stored(memory: Memory) -> tuple[Mapping[str, Json], Expect]:
    """The settings, and what must not have changed when they are written."""
    position = memory.events.position
    try:
        found = memory.settings.documents.get(SETTINGS_TYPE, SETTINGS)
    except NotFound:
        return _of_an_earlier_release(memory), position
    return found.data, (found.id, found.seq)


def _of_an_earlier_release(memory: Memory) -> Mapping[str, Json]:
    """Earlier releases stored the settings in a record of the inbox."""
    try:
        record = memory.get(SETTINGS, include=INCLUDES)
    except NotFound:
        return {}
    config = record.data.get("config") if isinstance(record, Record) else None
    return config if isinstance(config, dict) else {}


def _put(memory: Memory, values: Mapping[str, str]) -> None:
    """Writes the settings whole, from what was read."""

    def put() -> None:
        known, expect = stored(memory)
        memory.settings.documents.set(SETTINGS_TYPE, SETTINGS, {**known, **values}, expect=expect)

    again(put)
