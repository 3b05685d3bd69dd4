"""Frames as rows with JSON in them.

Responsible for the rows of frames, whichever of the two APIs reads or writes them. Leaves what a
row means to ``exchange.importers.block_frames``. Invariant: a row is a frame that contexts use; its
texts are kept beside the frame as they were written, and shown for as long as the frame says the
same.
"""

from __future__ import annotations

from typing import Literal, TypedDict, cast

import msgspec

from recollect.contracts.blocks.connection import Connection
from recollect.contracts.blocks.table import Row
from recollect.errors import Conflict, InvalidInput
from recollect.exchange.importers.block_frames import ALWAYS, FrameData, frame_of, row_in, row_of
from recollect.lifecycle.commands import Act, DropDocument, DropPreset, SetDocument, SetPreset
from recollect.memory import Memory
from recollect.model import validate
from recollect.model.limits import LIST_MAX_DOCUMENTS
from recollect.model.presets import BUILT_IN, KEPT_ROWS, Preset
from recollect.store.seam import REAL


class FrameRow(TypedDict):
    """One row; the columns that end in ``_json`` hold JSON as text."""

    name: str
    weights_json: str
    filters_json: str
    guarantees_json: str
    template: str
    token_budget: int
    cache_json: str | None
    source: Literal["builtin", "user"]
    created_at: str


async def get_frame(conn: Connection, name: str) -> FrameRow | None:
    """A frame, or None."""
    found = await list_frames(conn)
    return next((row for row in found if row["name"] == name), None)


async def list_frames(conn: Connection) -> list[FrameRow]:
    """All frames, the built-in ones first."""
    return await conn.run(rows)


async def upsert_frame(
    conn: Connection,
    *,
    name: str,
    weights_json: str,
    filters_json: str,
    guarantees_json: str,
    template: str,
    token_budget: int,
    cache_json: str | None,
    source: str,
) -> None:
    """Insert or replace a frame. A built-in frame can only be given unchanged."""

    def work(memory: Memory) -> None:
        known = [row["created_at"] for row in rows(memory) if row["name"] == name]
        row: Row = {
            "weights_json": weights_json,
            "filters_json": filters_json,
            "guarantees_json": guarantees_json,
            "template": template,
            "token_budget": token_budget,
            "cache_json": cache_json,
            "source": source,
            "created_at": known[0] if known else REAL.now(),
        }
        memory.events.submit(*put(name, row))

    await conn.run(work)


def put(name: str, row: Row) -> list[Act]:
    """The acts that set a frame to what a row says."""
    plain = {validate.plain(column, "column"): value for column, value in row.items()}
    data = row_in(plain | {"in_use": True})
    if data is None:
        raise InvalidInput(f"a column of the frame {name!r} is not of its type")
    frame = frame_of(name, data)
    if frame == BUILT_IN.get(name):
        return []
    type, own = validate.document(KEPT_ROWS, frame.name)
    return [SetPreset(preset=frame), SetDocument(type=type, name=own, data=data.as_data())]


def dropped(memory: Memory, name: str) -> list[Act]:
    """The acts that remove a frame."""
    if name in BUILT_IN:
        raise Conflict(f"the frame {name!r} is built in", hint="choose another name")
    acts: list[Act] = []
    if name in _kept(memory):
        type, own = validate.document(KEPT_ROWS, name)
        acts.append(DropDocument(type=type, name=own))
    if any(frame.name == name for frame in memory.settings.presets.list()):
        acts.append(DropPreset(name=name))
    return acts


def rows(memory: Memory) -> list[FrameRow]:
    """Every frame as a row, the built-in ones first."""
    kept = _kept(memory)
    found = [
        _row(memory, frame, kept.pop(frame.name, None)) for frame in memory.settings.presets.list()
    ]
    # Earlier releases kept a row without setting a frame.
    alone = ((name, data) for name, data in kept.items() if data is not None and not data.in_use)
    return [*found, *(_named(name, data) for name, data in alone)]


def _row(memory: Memory, frame: Preset, kept: FrameData | None) -> FrameRow:
    if kept is not None and _means(frame.name, kept) == frame:
        return _named(frame.name, kept)
    since = ALWAYS if frame.is_built_in else memory.settings.presets.since(frame.name)
    return _named(frame.name, row_of(frame, since))


def _means(name: str, data: FrameData) -> Preset | None:
    try:
        return frame_of(name, data)
    except InvalidInput:
        return None


def _named(name: str, data: FrameData) -> FrameRow:
    columns = msgspec.structs.asdict(data)
    del columns["in_use"]
    return cast(FrameRow, {"name": name, **columns})


def _kept(memory: Memory) -> dict[str, FrameData | None]:
    """The rows as they were written; None where another program wrote another shape."""
    page = memory.settings.documents.list(KEPT_ROWS, limit=LIST_MAX_DOCUMENTS)
    found = list(page)
    while len(page) == LIST_MAX_DOCUMENTS:
        page = memory.settings.documents.list(
            KEPT_ROWS, limit=LIST_MAX_DOCUMENTS, after=page[-1].id
        )
        found += page
    return {document.name: row_in(document.data) for document in found}
