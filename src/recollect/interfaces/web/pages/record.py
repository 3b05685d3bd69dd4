"""One record: what it says, its life, and why it is believed.

Responsible for everything about one id. Leaves what was said to ``episode``. Invariant: all of it
is as of one position.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.words import Piece, compared
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.events import NOTED
from recollect.model.reasons import SENTENCES
from recollect.model.values import INCLUDES, Change, Episode, EventView, Record, Version, Why

_EVENTS_MAX_COUNT: Final = 20
_LIFE_MAX_COUNT: Final = 30
_RECEIPTS_COUNT: Final = 100
_LINKS_MAX_COUNT: Final = 50
HAPPENED: Final = {
    "added": "added",
    "revised": "revised",
    "replaced": "replaced by another record",
    "reinforced": "restated or used",
    "forgotten": "forgotten",
    "archived": "archived",
    "restored": "restored",
    "tagged": "tagged",
    "vouched": "vouched for",
    "reviewed": "reviewed",
}
BY: Final = {
    "person": "a person",
    "agent": "the agent",
    "unverified": "an unverified source",
    "system": "the store",
}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One version, and what changed in its words."""

    version: Version
    happened: str
    by: str
    pieces: tuple[Piece, ...]  # empty if the text stayed


class Tied(msgspec.Struct, frozen=True, kw_only=True):
    """A link to or from this record, with the text at its other end."""

    kind: str
    id: str
    text: str
    trust: str
    is_outward: bool


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    record: Record
    reason: str | None
    noted: tuple[str, ...]  # what no rule looks at
    life: tuple[Step, ...]  # newest first
    why: Why
    links: tuple[Tied, ...]
    events: tuple[EventView, ...]
    changes: tuple[Change, ...]
    handed: tuple[str, ...]  # the instants at which contexts contained it, newest first
    receipts: int  # how many of the last contexts were looked at
    can_forget: bool
    can_restore: bool
    earlier: int  # versions before those that are shown


def page(asked: Asked, memory: Memory) -> View:
    """Reads one record."""
    given = asked.names["id"]
    found = memory.get(given, include=INCLUDES)
    if isinstance(found, Episode):
        return View(title=found.id, main=None, answer=found, to=asked.url("e", found.id))
    history, why = memory.history(found.id), memory.why(found.id)
    changes = memory.events.list(id=found.id, before=asked.position + 1, limit=_EVENTS_MAX_COUNT)
    # A handle on the present would write the receipts that wait, and looking writes nothing.
    handed, receipts = _handed(memory.at(asked.position), found.id)
    main = Main(
        record=found,
        reason=SENTENCES.get(found.reason) if found.reason else None,
        noted=tuple(value for name in NOTED if (value := getattr(found, name)) is not None),
        life=_life(history[-_LIFE_MAX_COUNT:]),
        earlier=max(0, len(history) - _LIFE_MAX_COUNT),
        why=why,
        links=_links(memory, why),
        events=tuple(memory.events.get(change.seq) for change in reversed(changes)),
        changes=tuple(reversed(changes)),
        handed=handed,
        receipts=receipts,
        can_forget=found.status in ("active", "waiting", "inbox"),
        can_restore=found.status in ("forgotten", "replaced", "archived"),
    )
    every = list(INCLUDES)
    return View(
        title=found.key or found.id,
        main=main,
        answer={"record": found, "history": history, "why": why},
        calls=(
            asked.call(asked.python("get", found.id, include=every), asked.cli("show", found.id)),
            asked.call(asked.python("history", found.id)),
            asked.call(asked.python("why", found.id)),
            asked.call(
                asked.python("events.list", id=found.id), asked.cli("log", "--id", found.id)
            ),
        ),
    )


def _life(history: list[Version]) -> tuple[Step, ...]:
    first = [(None, history[0])] if history else []
    steps = [
        Step(
            version=now,
            happened=HAPPENED.get(now.what, now.what),
            by=_by(now),
            pieces=compared(before.record.text, now.record.text)
            if before is not None and before.record.text != now.record.text
            else (),
        )
        for before, now in [*first, *pairwise(history)]
    ]
    return tuple(reversed(steps))


def _by(version: Version) -> str:
    """Who took a step: a person by name, if it is known."""
    if version.author is not None and version.by == "person":
        return str(version.author)
    return BY.get(version.by, version.by)


def _links(memory: Memory, why: Why) -> tuple[Tied, ...]:
    """The record at the other end of each link, if this handle sees it."""
    found = []
    for link in why.links[:_LINKS_MAX_COUNT]:
        is_outward = link.source == why.record.id
        other = link.target if is_outward else link.source
        try:
            text = memory.get(other, include=INCLUDES).text
        except NotFound:
            continue
        found.append(
            Tied(kind=link.kind, id=other, text=text, trust=link.trust, is_outward=is_outward)
        )
    return tuple(found)


def _handed(memory: Memory, id: str) -> tuple[tuple[str, ...], int]:
    """When it was in a context, of the last ones."""
    last = memory.proof.receipts.list(limit=_RECEIPTS_COUNT)
    found = [each.at for each in last if any(item.id == id for item in each.items)]
    return tuple(found), len(last)
