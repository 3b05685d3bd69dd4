"""The stops of the time bar: a position for each pixel of the slider.

Responsible for the mapping from pixels to commands. Leaves one step back or forward to the layout.
Invariants: there are at most as many stops as pixels; the first is the beginning, the last the
head; each is a position that ``memory.at`` gives back unchanged.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.interfaces.web import stops
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.view import View
from recollect.memory import Memory

_WIDTH: Final = 40
_WIDTH_MAX: Final = 2_000


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One stop, and when it was."""

    position: int
    at: str | None


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    stops: tuple[Stop, ...]


def page(asked: Asked, memory: Memory) -> View:
    """Reads the stops of the whole ledger, whatever position the page shows."""
    width = asked.number("width", _WIDTH, least=2, most=_WIDTH_MAX)
    found = stops.across(memory, asked.position, width)
    shown = found if len(found) <= _WIDTH else found[:: -(-len(found) // _WIDTH)]
    return View(
        title="Stops",
        main=Main(stops=tuple(_stop(memory, each) for each in shown)),
        answer={"stops": found},
        calls=(asked.call(asked.python("events.list", before=asked.position + 1)),),
    )


def _stop(memory: Memory, position: int) -> Stop:
    last = memory.events.list(before=position + 1, limit=1)
    return Stop(position=position, at=last[-1].at if last else None)
