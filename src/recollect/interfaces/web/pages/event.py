"""One event, byte for byte, and its proof.

Responsible for the exact bytes with the part that the hash covers, and for the proof as a file.
Leaves who may see an event to the memory. Invariant: no checkpoint is signed by looking: a proof is
handed out only if a signed one covers the event already.
"""

from __future__ import annotations

import msgspec

from recollect.errors import NotFound, Unsupported
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.line_parts import Parts, parts
from recollect.interfaces.web.draw.rows import Row, rows
from recollect.interfaces.web.pages.erasure import seq_of
from recollect.interfaces.web.signed import Signatures, Signed, signatures
from recollect.interfaces.web.view import Download, View
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.one_event import exact_line
from recollect.model.values import EventView


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    event: EventView
    row: Row | None
    line: Parts | None  # None if a service has it
    before: int | None
    after: int | None
    keys: Signatures
    covered: Signed | None


def page(asked: Asked, memory: Memory) -> View:
    """Reads one event."""
    event = memory.events.get(seq_of(asked))
    keys = signatures(memory)
    near = memory.events.list(after=event.seq - 1, limit=2)
    earlier = memory.events.list(before=event.seq, limit=1)
    main = Main(
        event=event,
        row=next((row for row in rows(near[:1]) if row.change.seq == event.seq), None),
        line=_line(memory, event.seq),
        before=earlier[0].seq if earlier else None,
        after=near[1].seq if len(near) > 1 and near[1].seq <= asked.position else None,
        keys=keys,
        covered=keys.covering(max(event.seq, event.erased_by or 0)),
    )
    line = asked.cli("log", "--after", event.seq - 1, "--limit", 1, "--json", past=False)
    call = asked.call(asked.python("events.get", event.seq), line)
    return View(title=f"Event {event.seq}", main=main, answer=event, calls=(call,))


def proof(asked: Asked, memory: Memory) -> View:
    """The proof of one event, as a file."""
    event = memory.events.get(seq_of(asked))
    if signatures(memory).covering(max(event.seq, event.erased_by or 0)) is None:
        raise NotFound(
            f"no signed checkpoint covers event {event.seq} yet",
            hint="sign one on the page of the ledger",
        )
    made = memory.proof.prove(event=event.seq)
    file = Download(name=f"event-{event.seq}.proof", body=made.document.encode())
    return View(title=f"Proof {event.seq}", main=None, answer=made, download=file)


def _line(memory: Memory, seq: int) -> Parts | None:
    try:
        return parts(exact_line(handle_of(memory), seq))
    except Unsupported:
        return None
