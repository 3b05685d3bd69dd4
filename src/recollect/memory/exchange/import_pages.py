"""Pages that are imported: their times, their ids, and what they say about themselves.

Responsible for what depends on this memory: its local time, ids that earlier releases gave, entries
that an earlier import brought in, and the documents of pages. Leaves storing to
``memory.exchange.imports``. Invariants: what a page's document says already stays; an entry takes
the place only of one that an import brought in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import structs

from recollect.errors import NotFound
from recollect.exchange.items import Item, RecordItem, SettingItem, State, short
from recollect.index.reads import Reads
from recollect.index.rows import unpack_object
from recollect.memory.handle.handle import Handle
from recollect.memory.handle.healed import asked_again
from recollect.memory.pages.page_care import PRESEEDED
from recollect.mirror import words
from recollect.mirror.names import page_named
from recollect.model.validate import Json


@asked_again
def as_here(handle: Handle, items: list[Item]) -> list[Item]:
    """Items with local times of here, and with the ids that earlier releases gave them."""
    if not any(isinstance(item, RecordItem) and item.earlier_id for item in items):
        return items
    try:
        with handle.reading() as reads:
            ids = _earlier_ids(reads, items)
    except NotFound:  # no memory was created yet
        ids = {}
    offset = handle.actor.tz_minutes
    return [
        _here(item, ids, offset) if isinstance(item, RecordItem) and item.earlier_id else item
        for item in items
    ]


def _earlier_ids(reads: Reads, items: Iterable[Item]) -> dict[str, str]:
    """For each id that an earlier release imported under another one, that one."""
    records = (item for item in items if isinstance(item, RecordItem))
    pairs = ((item.id, earlier_id(item)) for item in records)
    return {  # the command stays when the record is erased, so that it does not come back
        id: earlier
        for id, earlier in pairs
        if earlier != id and earlier is not None and reads.command(earlier) is not None
    }


def earlier_id(item: RecordItem) -> str | None:
    """What an earlier release called a record, and the command that imported it."""
    return None if item.earlier_id is None else short(item.earlier_id)


def _here(item: RecordItem, ids: Mapping[str, str], offset: int) -> RecordItem:
    state, before = item.state, item.replaces
    if state is not None and state.replaced_by is not None:
        by = state.replaced_by
        state = structs.replace(state, replaced_by=ids.get(by, by))
    moment = None if item.said_at is None else words.instant_of(item.said_at, offset)
    return structs.replace(
        item,
        id=ids.get(item.id, item.id),
        replaces=None if before is None else ids.get(before, before),
        said_at=None if moment is None else moment.isoformat(),
        state=state,
    )


@asked_again
def takes_over(handle: Handle, item: RecordItem, state: State, names: Iterable[str]) -> bool:
    """True if an entry of a page takes the place of one that is here and holds.

    ``names`` are those that the command which imported that one can have.
    """
    if item.earlier_id is None or item.replaces is None or state.status != "active":
        return False
    try:
        with handle.reading() as reads:
            row = reads.version(item.replaces)
            is_brought = any(reads.command(name) is not None for name in names)
    except NotFound:  # no memory was created yet
        return False
    return is_brought and row is not None and row.status == "active"


@asked_again
def whole(handle: Handle, item: SettingItem) -> SettingItem:
    """The document of a page with what it says here."""
    try:
        with handle.reading() as reads:
            return structs.replace(item, data=filled(reads, item))
    except NotFound:  # no memory was created yet
        return item


def filled(reads: Reads, item: SettingItem) -> dict[str, Json]:
    """The document of a page with what an import knows and no document says here."""
    type, name = item.id.split("/", 1)
    row = reads.document(type, name)
    known = {} if row is None else unpack_object(row.data)
    usual = list(PRESEEDED.get(page_named(name), ()))
    said = {key: value for key, value in known.items() if (key, value) != ("tags", usual)}
    dates = [date for date in map(_date, (known, item.data)) if date is not None]
    first = {"created": min(dates)[1]} if dates else {}  # the same page was created there before
    return {**known, **item.data, **said, **first}


def _date(said: Mapping[str, Json]) -> tuple[float, str] | None:
    created = said.get("created")
    moment = words.instant_of(created, 0) if isinstance(created, str) else None
    try:
        return None if moment is None else (moment.timestamp(), str(created))
    except (OverflowError, ValueError):  # the first and the last day that there is
        return None


def other_fields(item: SettingItem, merged: Mapping[str, Json]) -> list[str]:
    """What a page says there and not here, because it says something else here."""
    fields = item.data.keys() - {"created"}
    return sorted(name for name in fields if merged[name] != item.data[name])
