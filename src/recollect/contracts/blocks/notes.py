"""What a link's name says, if a row was written as that link.

Responsible for the columns of an edge or a contradiction that a link has no field for: when the row
was made, and a number that a link's weight, from 0 to 1, cannot hold. Leaves links to the engine.
Invariant: a name that is not such a note is ignored, since anyone can give a link a name.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from recollect.errors import InvalidInput
from recollect.model.instants import instant

_SIGN: Final = "block"


class Note(NamedTuple):
    """When the row was made, and its weight or score."""

    created_at: str
    number: float


def note(created_at: str, number: float) -> str:
    """The name of a link that stands for a row."""
    return f"{_SIGN} {created_at} {number!r}"


def noted(name: str | None) -> Note | None:
    """What a link's name says about its row, or None."""
    sign, _, rest = (name or "").partition(" ")
    created_at, _, number = rest.partition(" ")
    try:
        found = Note(instant(created_at), float(number))
    except (InvalidInput, ValueError):
        return None
    return found if sign == _SIGN and not math.isnan(found.number) else None


def clamped(number: float) -> float:
    """The nearest weight that a link can have."""
    return min(max(number, 0.0), 1.0)
