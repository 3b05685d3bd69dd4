"""A memory's ledger as bytes, for the service: handed out, taken in, and its last checkpoint.

Responsible for who may do it, which is as for ``copy_to``. Leaves bytes to the engine. Invariants:
nothing is taken in unless all of it is sound, continues this ledger and is allowed; on this machine
the same is done by ``copy_to`` and ``checkpoint``.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.errors import InvalidInput, NotFound, NotInstalled
from recollect.ledger.line import Line
from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.memory.handle.due import has_keys
from recollect.memory.handle.handle import Handle, handle_of
from recollect.memory.memory import Memory
from recollect.memory.proof.verification import require_last
from recollect.model import validate
from recollect.model.events import GENESIS, Head
from recollect.model.values import Checkpoint
from recollect.store.clock import check_arriving
from recollect.store.received import another_history, parcels


def ledger(memory: Memory, after: int = 0) -> Iterator[bytes]:
    """The lines of the ledger after an event, in pieces, as they lie."""
    handle = _whole(memory)
    if handle.space.head().seq == 0:
        raise NotFound("there are no events yet")
    require_last(handle)
    return handle.space.pieces(validate.position(after, "after"))


def receive(memory: Memory, raw: bytes) -> Head:
    """Appends the events that a whole ledger has beyond this one; where this one ends then."""
    handle = _whole(memory)
    space = handle.space
    _check_sound(raw, space.name)  # before the space is looked at, which may create it
    held, now = space.existing_head(), handle.now()

    def each(line: Line) -> None:
        if line.seq > held.seq:
            check_arriving(line.seq, line.at, now)
        if line.seq == held.seq and line.hash != held.hash:
            raise another_history(held.seq)
        space.admit(line)

    verify([raw], each=each)
    head = space.receive([raw])
    space.purge()
    return head


def _check_sound(raw: bytes, name: str) -> None:
    """Refuses bytes that are not the whole, sound ledger of this space."""
    named = set[str]()

    def each(line: Line) -> None:
        if line.subject is not None and line.data is not None:
            named.add(line.subject)

    check = verify([raw], each=each)
    if check.events == 0:
        raise InvalidInput("this is not a ledger: it has no whole event")
    if check.broken_at is not None:
        raise InvalidInput(f"event {check.broken_at} of this ledger: {check.problem}")
    try:
        for _ in parcels([raw], GENESIS, name):
            pass
    except Damage as error:
        raise InvalidInput(f"event {error.seq} of this ledger: {error.problem}") from error
    if named:
        raise InvalidInput(
            "this ledger has memory of subjects, whose keys are not in it",
            hint="push it with `recollect admin push`, which takes the keys along",
        )


def last_checkpoint(memory: Memory) -> Checkpoint:
    """The largest checkpoint that a key of this service signed."""
    handle = handle_of(memory)
    handle.require_whole("a checkpoint")
    last = _last(handle) if has_keys() else None
    if last is None:
        raise NotFound("no checkpoint of this ledger was signed yet")
    return last


def _last(handle: Handle) -> Checkpoint | None:
    try:
        from recollect.memory.proof.checkpoints import ring_of  # loaded only if there may be one
        from recollect.proof.notes import render
        from recollect.store.checkpoints.checkpoints import last_known
    except NotInstalled:
        return None
    found = last_known(handle.space, ring_of(handle))
    if found is None:
        return None
    return Checkpoint(
        space=handle.space.name,
        ledger=found.checkpoint.origin,
        size=found.checkpoint.size,
        root=found.checkpoint.root.hex(),
        note=render(found.note).decode(),
    )


def _whole(memory: Memory) -> Handle:
    handle = handle_of(memory)
    handle.require_whole("carrying a memory")
    handle.require_person("copying the whole ledger")
    return handle
