"""Blocks of S4 as records and links: where each column of its tables lives here.

Responsible for the columns that a record or a link has no field for. Leaves reading a database to
``elfmem_database`` and the API of S4 to ``contracts.blocks``. Invariants: a record keeps these
columns in its data under ``KEY``, so that they are stored, copied and erased with the text; a link
keeps them in its name, and a name that is not such a note is ignored, since anyone can give one.
"""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple

import msgspec

from recollect.exchange.items import moment_of
from recollect.lifecycle.records.links import CONTRADICTS
from recollect.model.events import Tier
from recollect.model.validate import Json
from recollect.recall.presets import DECAY_PER_HOUR

BlockStatus = Literal["inbox", "active", "archived"]
ArchiveReason = Literal["decayed", "superseded", "forgotten"]

KEY: Final = "block"  # of a record's data
EDGE: Final = "relates_to"  # kinds of links
RESOLVED: Final = "contradiction_resolved"
APART: Final = (CONTRADICTS, RESOLVED)  # links that are not edges

SETTINGS_TYPE: Final = "settings"  # the document that holds ``system_config``
SETTINGS: Final = "block-settings"  # its name, and the id of a record before
GENERAL: Final = "general"  # the task type of a session without one
_SIGN: Final = "block"


class Beside(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The columns that a record has no field for, or that use another clock."""

    source: str | None = None
    status: Literal["inbox"] | None = None  # of a record that is archived: it went back there
    archive_reason: ArchiveReason | Literal[""] | None = None  # "": archived without a reason
    created_at: str | None = None  # as the row has it; the record says when it came in here
    last_session_id: str | None = None  # "": none, also if the record was written in a session
    uses: int = 0  # that the record did not count: it was not active, or they were too many
    decay_lambda: float | None = None
    last_reinforced_at: float | None = None  # in the caller's hours
    self_alignment: float | None = None
    embedding: bytes | None = None
    embedding_model: str | None = None
    token_count: int | None = None

    def as_data(self) -> dict[str, Json]:
        """The part of a record's data that says it; what is None is left out."""
        return {KEY: msgspec.to_builtins(self)}


def embedded(vector: bytes) -> dict[str, Json]:
    """An embedding as it is in the data of a record: bytes are text there."""
    coded: dict[str, Json] = msgspec.to_builtins(Beside(embedding=vector))
    return coded


def tier_of(decay_lambda: float) -> Tier:
    """The tier with the nearest decay rate, so that recency falls about as fast."""
    return min(DECAY_PER_HOUR, key=lambda tier: abs(DECAY_PER_HOUR[tier] - decay_lambda))


class Note(NamedTuple):
    """When the row of an edge or a contradiction was made, and its weight or score."""

    created_at: str
    number: float


def note(created_at: str, number: float) -> str:
    """The name of a link that stands for a row."""
    return f"{_SIGN} {created_at} {number!r}"


def noted(name: str | None) -> Note | None:
    """What a link's name says about its row, or None."""
    sign, _, rest = (name or "").partition(" ")
    created_at, _, number = rest.rpartition(" ")
    try:
        found = Note(created_at, float(number))
    except ValueError:
        return None
    is_note = sign == _SIGN and moment_of(created_at) is not None
    return found if is_note and not math.isnan(found.number) else None


def clamped(number: float) -> float:
    """The nearest weight that a link can have."""
    return min(max(number, 0.0), 1.0)
