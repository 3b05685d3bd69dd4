"""Presets and receipts as rows of the index.

Responsible for what a preset and a receipt become in their tables, and for the preset that a row
describes. Leaves the columns to ``index.rows``. Invariant: a preset that is invalid in this release
is refused when it is read, not when it is folded.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from recollect.errors import IntegrityError, InvalidInput
from recollect.index.rows import PresetRow, ReceiptRow, decoded, pack_names, unpack_names
from recollect.model.events import ContextHanded, FrameSet, Handed
from recollect.model.presets import SIGNALS, Cache, Preset, Template, Units, Weights

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
# Made here, by one thread: a type that two threads decode for the first time can crash.
_TEMPLATE: Final = msgspec.json.Decoder(Template)
_CACHE: Final = msgspec.json.Decoder(Cache)
_ITEMS: Final = msgspec.json.Decoder(tuple[Handed, ...])


def preset_row(seq: int, until: int, at: str, body: FrameSet) -> PresetRow:
    """The row of a preset."""
    template = {"intro": body.intro, "record": body.record, "episode": body.episode}
    return PresetRow(
        body.name,
        seq,
        until,
        at,
        body.trust,
        _ENCODER.encode(body.weights).decode(),
        body.where,
        body.unit,
        pack_names(body.guarantees),
        body.tokens,
        _ENCODER.encode(template).decode(),
        _ENCODER.encode(body.cache).decode(),
        body.floor,
    )


def preset_of(row: PresetRow) -> Preset:
    """The preset a row describes; a preset that is invalid in this release is refused."""
    try:
        weights = msgspec.json.decode(row.weights, type=tuple[float, ...])
        return Preset(
            name=row.name,
            weights=Weights(**dict(zip(SIGNALS, weights, strict=True))),
            where=row.where,
            unit=cast(Units, row.unit),
            guarantees=unpack_names(row.guarantees),
            tokens=row.tokens,
            template=_TEMPLATE.decode(row.template),
            cache=_CACHE.decode(row.cache),
            floor=row.floor,
        )
    except (InvalidInput, ValueError) as error:
        raise IntegrityError(
            f"the preset {row.name!r} could not be parsed: {error}", hint="drop it, or set it again"
        ) from error


def receipt_row(seq: int, at: str, body: ContextHanded) -> ReceiptRow:
    """The row of a receipt."""
    return ReceiptRow(
        body.id,
        seq,
        at,
        body.user,
        body.session,
        body.agent,
        body.query,
        body.frame,
        body.frame_digest,
        body.ranking,
        body.embedder,
        body.now,
        body.position,
        body.budget,
        body.tokens,
        body.counter,
        pack_names(body.signals),
        _ENCODER.encode(body.items).decode(),
    )


def unpack_items(column: str) -> tuple[Handed, ...]:
    """The lines that a receipt names."""
    return decoded(_ITEMS, column)
