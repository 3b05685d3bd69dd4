"""The signed checkpoints of a ledger, as pages show them.

Responsible for reading those that a known key signed, and who cosigned them. Leaves keys and notes
to ``store`` and ``proof``. Invariant: nothing is signed or written here.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from recollect.errors import Forbidden, NotInstalled, RecollectError, Unsupported
from recollect.memory import Memory
from recollect.memory.handle.due import has_keys
from recollect.memory.handle.handle import handle_of


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """One checkpoint."""

    size: int
    root: str
    by: tuple[str, ...]
    witnesses: tuple[str, ...]  # who cosigned it
    note: str


class Signatures(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about signatures of a ledger."""

    ledger: str | None = None  # its name in checkpoints
    can_sign: bool = False
    checkpoints: tuple[Signed, ...] = ()  # the largest first
    witnesses: tuple[tuple[str, str], ...] = ()  # name and place
    problem: str | None = None

    def covering(self, seq: int) -> Signed | None:
        """The smallest checkpoint that covers an event."""
        return next((each for each in reversed(self.checkpoints) if each.size >= seq), None)


def signatures(memory: Memory) -> Signatures:
    """What is signed; empty without keys, for one user, and for a memory of a service."""
    if memory.events.position == 0 or not has_keys():
        return Signatures()
    with suppress(Unsupported, Forbidden, NotInstalled):
        try:
            return _read(memory)
        except RecollectError as error:
            if isinstance(error, Unsupported | Forbidden):
                raise
            return Signatures(problem=error.message)
    return Signatures()


def _read(memory: Memory) -> Signatures:
    # Loaded only if there are keys, as everywhere.
    from recollect.memory.handle.unsigned import ring_for
    from recollect.proof.keys import parse_key, signers
    from recollect.proof.notes import BadNote, render
    from recollect.store.checkpoints.checkpoints import known

    handle = handle_of(memory)
    ring = ring_for(handle.space, handle.seam)
    keys, cosigners = ring.public(), ring.cosigners()
    found: dict[int, Signed] = {}
    for each in known(handle.space, ring):
        seen: tuple[str, ...] = ()
        with suppress(BadNote):
            seen = tuple(key.name for key in signers(each.note, cosigners))
        found[each.checkpoint.size] = Signed(
            size=each.checkpoint.size,
            root=each.checkpoint.root.hex(),
            by=tuple(f"{key.name}+{key.id.hex()}" for key in signers(each.note, keys)),
            witnesses=seen,
            note=render(each.note).decode(),
        )
    return Signatures(
        ledger=ring.ledger,
        can_sign=bool(ring.private()),
        checkpoints=tuple(found[size] for size in sorted(found, reverse=True)),
        witnesses=tuple((parse_key(each.key).name, each.place) for each in ring.witnesses()),
    )
