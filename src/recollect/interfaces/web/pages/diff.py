"""Two positions compared: what was added, changed and gone between them.

Responsible for the difference of two lists. Leaves comparing words to ``draw.words``. Invariants:
what ``list`` shows at the first position, without what is gone and with what was added, is what it
shows at the second; a value that moved to another record under the same key is a change.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web import stops
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.words import Piece, compared
from recollect.interfaces.web.pages import density
from recollect.interfaces.web.view import Call, View
from recollect.memory import Memory
from recollect.model.events import KINDS, NOTED
from recollect.model.values import INCLUDES, Change, Record

_EVENTS_MAX_COUNT: Final = 2_000
_BACK_COUNT: Final = 20  # events that are compared if nothing is asked for
_COMPARED_MAX_CHARS: Final = 200_000  # on one page
_RECORDS: Final = tuple(kind for kind in KINDS if kind.startswith("record."))


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One value that is another now, with its words compared."""

    before: Record
    after: Record
    pieces: tuple[Piece, ...]  # empty if only something besides the text changed, or it is too long
    others: tuple[str, ...]  # what else changed


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """A record that is not listed any more, and why."""

    record: Record
    why: str


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    start: int
    end: int
    start_at: str | None
    end_at: str | None
    added: tuple[Record, ...]
    changed: tuple[Changed, ...]
    gone: tuple[Gone, ...]
    looked: int
    is_cut: bool
    head: int


def page(asked: Asked, memory: Memory) -> View:
    """Compares two positions."""
    end = _position(asked, memory, "to", asked.position)
    start = _position(asked, memory, "from", max(0, end - _BACK_COUNT))
    start, end = min(start, end), max(start, end)
    then, now = memory.at(start), memory.at(end)
    events = now.events.list(kinds=_RECORDS, after=start, limit=_EVENTS_MAX_COUNT + 1)
    is_cut = len(events) > _EVENTS_MAX_COUNT
    added, changed, gone = differences(then, now, events[:_EVENTS_MAX_COUNT])
    main = Main(
        start=start, end=end, start_at=_instant(memory, start), end_at=_instant(memory, end),
        added=added, changed=changed, gone=gone, looked=len(events), is_cut=is_cut,
        head=asked.head,
    )  # fmt: skip
    answer = {
        "added": added,
        "changed": [{"before": each.before, "after": each.after} for each in changed],
        "gone": [each.record for each in gone],
    }
    return View(title="Difference", main=main, answer=answer, calls=_calls(asked, start, end))


def differences(
    then: Memory, now: Memory, events: list[Change]
) -> tuple[tuple[Record, ...], tuple[Changed, ...], tuple[Gone, ...]]:
    """What became of each record that an event between two positions names."""
    ids = dict.fromkeys(event.id for event in reversed(events) if event.id)
    pairs = [(id, _listed(then, id), _listed(now, id)) for id in ids]
    added = [after for _, before, after in pairs if before is None and after is not None]
    gone = [before for _, before, after in pairs if before is not None and after is None]
    budget = [_COMPARED_MAX_CHARS]
    changed = [_changed(before, after, budget) for _, before, after in pairs if before and after]
    holders = {(each.key, each.scope.user): each for each in added if each.key}
    moved = [(each, holders.get((each.key, each.scope.user))) for each in gone if each.key]
    taken = [_changed(old, new, budget) for old, new in moved if new is not None]
    old = {each.before.id for each in taken if each}
    new = {each.after.id for each in taken if each}
    return (
        tuple(each for each in added if each.id not in new),
        tuple(each for each in (*taken, *changed) if each is not None),
        tuple(Gone(record=each, why=_why(now, each)) for each in gone if each.id not in old),
    )


def _listed(memory: Memory, id: str) -> Record | None:
    """A record as ``list`` shows it; None if it leaves it out."""
    try:
        found = memory.get(id)
    except NotFound:
        return None
    return found if isinstance(found, Record) and found.status == "active" else None


_FIELDS: Final = (
    "kind",
    "key",
    "about",
    "tags",
    "confidence",
    "trust",
    "valid_from",
    "valid_to",
    *NOTED,
)


def _changed(before: Record, after: Record, budget: list[int]) -> Changed | None:
    """None if nothing that a reader sees is different; words are compared while there is budget."""
    others = tuple(
        name.replace("_", " ") for name in _FIELDS if getattr(before, name) != getattr(after, name)
    )
    if before.text == after.text and before.id == after.id and not others:
        return None
    size = len(before.text) + len(after.text)
    is_compared = before.text != after.text and size <= budget[0]
    budget[0] -= size if is_compared else 0
    pieces = compared(before.text, after.text) if is_compared else ()
    return Changed(before=before, after=after, pieces=pieces, others=others)


def _why(now: Memory, record: Record) -> str:
    try:
        found = now.get(record.id, include=INCLUDES)
    except NotFound:
        return "erased"
    if not isinstance(found, Record) or found.status == "active":
        return "expired"
    return found.reason or found.status


def _instant(memory: Memory, position: int) -> str | None:
    last = density.last_of(memory, position)
    return None if last is None else last.at


def _position(asked: Asked, memory: Memory, name: str, default: int) -> int:
    """A position, a day or an instant, as the time bar reads it."""
    given = asked.text(name)
    if not given:
        return memory.at(default).events.position
    return stops.position_of(memory, given, asked.tz_minutes)


def _calls(asked: Asked, start: int, end: int) -> tuple[Call, ...]:
    return (
        asked.call(
            f"memory.at({end}).events.list(kinds={list(_RECORDS)!r}, after={start})",
            asked.cli("log", "--after", start, past=False) if end == asked.head else None,
        ),
        asked.call(f"memory.at({start}).list(), memory.at({end}).list()"),
    )
