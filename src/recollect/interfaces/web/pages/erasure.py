"""The certificate of an erasure, from the ledger itself.

Responsible for what was erased, when, by whom and from where, and for looking again whether it is
gone. Leaves the check of the whole ledger to ``checked``. Invariant: no word that was erased can be
on it, because it is made from numbers, hashes, names of places and the reason that was given.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.checked import CHECKED, REFRESH_S, Check
from recollect.interfaces.web.digits import number
from recollect.interfaces.web.draw.verdicts import Verdict, verdict
from recollect.interfaces.web.signed import Signed, signatures
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.events import Origin
from recollect.model.values import EventView

_LOOKED_MAX_COUNT: Final = 1_000
NOT_REACHED: Final = "NOT "


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What the page says, as data."""

    space: str
    seq: int
    at: str
    by: Origin
    reason: str | None
    events: tuple[int, ...]
    gone: int  # of so many, looked at now, nothing but the header is left
    looked: int
    head_before: str
    head_after: str
    places: tuple[str, ...] | None  # None if another process erased it
    not_reached: tuple[str, ...]
    check: Check | None
    checkpoint: Signed | None


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    certificate: Certificate
    verdict: Verdict | None
    ledger: str | None
    can_sign: bool
    percent: int | None  # how far a check is that has not ended


def seq_of(asked: Asked) -> int:
    """The event that an address names."""
    found = number(asked.names["seq"])
    if found is None:
        raise InvalidInput("an event is named by its number", hint="change it in the address")
    return found


def page(asked: Asked, memory: Memory) -> View:
    """Reads one erasure."""
    event = memory.events.get(seq_of(asked))
    if event.kind != "events.erased" or event.body is None:
        raise NotFound(
            f"event {event.seq} is not an erasure",
            hint="the timeline shows erasures under `show`",
        )
    check, running = CHECKED.after(memory, event.seq), CHECKED.running(memory)
    keys = signatures(memory)
    made = _certificate(memory, event, check, keys.covering(event.seq))
    main = Main(
        certificate=made,
        verdict=None if made.check is None else verdict(made.check.found),
        ledger=keys.ledger,
        can_sign=keys.can_sign,
        percent=None if running is None else running.percent,
    )
    calls = (
        asked.call(
            asked.python("events.get", event.seq), asked.cli("proof", "erasures", past=False)
        ),
        asked.call(asked.python("admin.verify"), asked.cli("admin", "verify", past=False)),
    )
    refresh_s = 0 if running is None else REFRESH_S
    return View(
        title=f"Erasure {event.seq}", main=main, answer=made, calls=calls, refresh_s=refresh_s
    )


def _certificate(
    memory: Memory, event: EventView, check: Check | None, signed: Signed | None
) -> Certificate:
    body = event.body or {}
    targets = body.get("targets")
    named = targets if isinstance(targets, list) else []
    events = tuple(each for each in named if isinstance(each, int))
    reason = body.get("reason")
    looked = events[:_LOOKED_MAX_COUNT]
    gone = sum(memory.events.get(each).body is None for each in looked)
    places = CHECKED.places(event.hash)
    return Certificate(
        space=memory.scope.space,
        seq=event.seq,
        at=event.at,
        by=event.by,
        reason=reason if isinstance(reason, str) else None,
        events=events,
        gone=gone,
        looked=len(looked),
        head_before=event.previous_hash,
        head_after=event.hash,
        places=None
        if places is None
        else tuple(each for each in places if not each.startswith(NOT_REACHED)),
        not_reached=tuple(each for each in places or () if each.startswith(NOT_REACHED)),
        check=check,
        checkpoint=signed,
    )
