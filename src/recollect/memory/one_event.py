"""``memory.events.get``: one event with its header and its body.

Responsible for who may see it. Leaves finding it to the store and reading it to ``ledger``.
Invariant: an event is shown only to a handle whose ``events`` lists it.
"""

from __future__ import annotations

import msgspec

from recollect.errors import NotFound, Unsupported
from recollect.index.erasures import erased_by
from recollect.index.reads import Reads
from recollect.ledger.codec import decode, encode_body
from recollect.ledger.line import erase, parse
from recollect.memory.handle.authors import Authors
from recollect.memory.handle.handle import Handle
from recollect.memory.handle.on_branch import BranchSpace
from recollect.model import validate
from recollect.model.values import EventView


def event(handle: Handle, seq: int) -> EventView:
    """One event; ``Memory.event`` documents the arguments."""
    require_ledger(handle)
    with handle.reading() as reads:
        seq = listed(handle, reads, validate.position(seq, "seq"))
        by = erased_by(reads, seq)
        author = Authors(reads).of(seq)
    raw = handle.space.line(seq)
    if raw is None:
        raise _no_event(seq)
    line = parse(raw)
    by = line.erased_by if by is None else by  # it may have been erased a moment ago
    body = None if by is not None else decode(line, handle.space.subjects).body
    return EventView(
        seq=line.seq,
        first=line.first,
        last=line.last,
        id=line.id,
        at=line.at,
        kind=line.kind,
        by=line.origin,
        body=None if body is None else msgspec.json.decode(encode_body(body)),
        erased_by=by,
        hash=line.hash,
        previous_hash=line.prev,
        author=author if by is None else None,
    )


def exact_line(handle: Handle, seq: int) -> bytes:
    """The bytes of one event, without the newline; of an erased one without its body."""
    require_ledger(handle)
    with handle.reading() as reads:
        seq = listed(handle, reads, validate.position(seq, "seq"))
        by = erased_by(reads, seq)
    raw = handle.space.line(seq)
    if raw is None:
        raise _no_event(seq)
    return raw if by is None or parse(raw).data is None else erase(raw, by)


def listed(handle: Handle, reads: Reads, seq: int, id: str | None = None) -> int:
    """An event, if this handle's list of events has it; with an id, the list about that."""
    about = None if id is None else handle.find(reads, id).id
    rows = reads.events(
        kinds=(), id=about, user=handle.actor.user, after=seq - 1, before=None, limit=1
    )
    if not rows or rows[0].seq != seq:
        raise _no_event(seq, about)
    return seq


def require_ledger(handle: Handle) -> None:
    """Refuses a handle whose events are written nowhere."""
    if isinstance(handle.space, BranchSpace):
        raise Unsupported(
            "what is on a branch only is not in the ledger", hint="ask for it after the merge"
        )


def _no_event(seq: int, about: str | None = None) -> NotFound:
    named = "" if about is None else f" about {about}"
    return NotFound(f"there is no event {seq}{named}", hint="`recollect log` lists them")
