"""Asking the witnesses of a ledger: to cosign a checkpoint, and what they have seen.

Responsible for the proofs that they are sent, and for what of their answers counts. Leaves the
answers themselves to each witness. Invariants: whatever a witness answers, the checkpoint itself
stays; a cosignature counts only if the key that was pinned for that witness made it for this text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import Conflict, NotFound, RecollectError, Unavailable
from recollect.ledger.scan import scan
from recollect.ledger.tree import Frontier, Roots
from recollect.ledger.verify import verify
from recollect.model.counts import counted
from recollect.model.events import GENESIS, Head
from recollect.model.instants import from_microseconds, to_microseconds
from recollect.model.values import Checkpoint as Made
from recollect.model.values import Witnessed
from recollect.proof.checkpoints import parse_text
from recollect.proof.growth import grown
from recollect.proof.keys import PublicKey, parse_key, seen_at
from recollect.proof.notes import BadNote, Note, Signature, parse, plus, render
from recollect.proof.witness import Answer, Behind, Cosigned, Refusal, Request
from recollect.store.checkpoints.checkpoints import Kept, Known, Reader
from recollect.store.checkpoints.key_ring import KeyRing, PinnedWitness
from recollect.store.checkpoints.walk import walk_for
from recollect.store.port import Space
from recollect.store.seam import Seam
from recollect.store.witnesses import own_keys
from recollect.store.witnesses.folder import FolderWitness, public_key
from recollect.store.witnesses.port import Witness
from recollect.store.witnesses.remote import RemoteWitness

_TRIES: Final = 4  # others may ask the same witness meanwhile
_NOTES_COUNT: Final = 16  # among which the last one of a witness is looked for
_AHEAD_MAX_S: Final = 86_400  # how far the clock of a witness may be ahead of ours
_HASH_BYTES: Final = 32
_US: Final = 1_000_000
_SCHEMES: Final = ("https://", "http://")


def is_address(place: str) -> bool:
    """True if a witness is behind HTTP, False if it is in a folder."""
    return place.lower().startswith(_SCHEMES)


def opened(pinned: PinnedWitness, keys: Path, seam: Seam) -> Witness:
    """A witness from the list; raises if there is none where it should be."""
    key = parse_key(pinned.key)
    if is_address(pinned.place):
        return RemoteWitness(pinned.place, key)
    folder = Path(pinned.place)
    found = public_key(folder)
    if found is None:
        raise NotFound(f"there is no witness in {folder}", hint="check that the folder is mounted")
    if found != key:
        raise Conflict(
            f"the witness in {folder} is another one than the one that was added",
            hint="if you replaced it yourself: recollect proof witness remove, then add",
        )
    return FolderWitness(folder, key, seam, own_keys.find(keys, key))


def cosigned(space: Space, ring: KeyRing, made: Made, before: Kept | None, seam: Seam) -> Made:
    """Asks every witness to cosign a checkpoint, and keeps what they signed with it.

    ``before`` is where the checkpoint before it ended.
    """
    first = note = parse(made.note.encode())
    growth, answers = _Growth(space, made.size, before), list[Witnessed]()
    for each in ring.witnesses():
        key = parse_key(each.key)
        try:
            witness = opened(each, ring.folder, seam)
            held = _held(space, ring, each)
            signature = _one(witness, note, growth, held, seam.now())
        except RecollectError as error:
            answers.append(Witnessed(name=key.name, place=each.place, problem=str(error)))
        else:
            note = plus(note, [signature])
            ring.keep_size(each, made.size)
            at = from_microseconds(seen_at(signature) * _US)
            answers.append(Witnessed(name=key.name, place=each.place, at=at))
    if note != first:
        ring.keep_cosigned(render(first), render(note))
        space.checkpoints().keep(made.size, render(note))
    return msgspec.structs.replace(made, note=render(note).decode(), witnesses=tuple(answers))


def _one(witness: Witness, note: Note, growth: _Growth, held: int, now: str) -> Signature:
    """One witness's cosignature; a conflict is answered with the proof it asks for.

    ``held`` is the largest size that it has cosigned, as is known here: it may not forget that.
    """
    old = min(held, growth.size)
    for _ in range(_TRIES):
        answer: Answer = witness.add(Request.of(old, growth.proof(old), note))
        match answer:
            case Cosigned() if growth.size < held:
                raise _forgot(held, growth.size)
            case Cosigned(signatures=signatures):
                return good(witness.key, note, signatures, now)
            case Refusal(why=why, text=text):
                raise Conflict(f"it refused: {text}", hint=_NEXT.get(why))
            case Behind(size=size) if size > growth.size:
                raise Conflict(
                    f"it has seen {size:,} events of this ledger, and there are {growth.size:,}",
                    hint="events were lost or this is an older copy: recollect admin verify",
                )
            case Behind(size=size) if size < held:
                raise _forgot(held, size)
            case Behind(size=size):
                old = size
    raise Unavailable(
        "it names another size each time", hint="try again: recollect proof checkpoint"
    )


def _forgot(held: int, size: int) -> Conflict:
    return Conflict(
        f"the witness has forgotten {counted(held - size, 'event')}: it has cosigned {held:,} of "
        f"this ledger, and knows {size:,}",
        hint="let its folder be restored from a copy, or remove it and add a new witness",
    )


_PIN: Final = "let it pin the key of this ledger: recollect proof witness add, or serve --log KEY"
_NEXT: Final = {
    "unknown": _PIN,
    "unsigned": _PIN,
    "inconsistent": "compare the ledger with what was kept elsewhere: recollect admin verify",
}


def good(key: PublicKey, note: Note, found: Sequence[Signature], now: str) -> Signature:
    """The cosignature of the witness that was asked; others in its answer are ignored."""
    latest = to_microseconds(now) // _US + _AHEAD_MAX_S
    for signature in found:
        if key.signed(note.text, signature) and 0 < seen_at(signature) <= latest:
            return signature
    raise Unavailable(
        "its answer has no cosignature of its key for this checkpoint",
        hint="check the address and the key: recollect proof witness list",
    )


def _held(space: Space, ring: KeyRing, witness: PinnedWitness) -> int:
    """The largest size that a witness has cosigned, as far as is known here."""
    beside, found, key = space.checkpoints(), witness.cosigned, parse_key(witness.key)
    for size in reversed(beside.sizes()[-_NOTES_COUNT:]):
        if size <= found:
            break
        found = max(found, _cosigned_size(beside.note(size), ring.ledger, key))
    return found


def _cosigned_size(raw: bytes, ledger: str, key: PublicKey) -> int:
    """How many events of this ledger a key has cosigned in a note; 0 if it has not."""
    try:
        note = parse(raw)
        checkpoint = parse_text(note.text)
    except BadNote:
        return 0
    is_cosigned = any(key.signed(note.text, signature) for signature in note.signatures)
    return checkpoint.size if is_cosigned and checkpoint.origin == ledger else 0


class _Growth:
    """A ledger up to a checkpoint, for proofs that it continues any earlier one."""

    def __init__(self, space: Space, size: int, before: Kept | None) -> None:
        self._space, self.size, self._before = space, size, before
        self._made: dict[int, list[bytes]] = {}

    def proof(self, old: int) -> list[bytes]:
        """The proof that the first ``old`` events are the beginning of all."""
        if not 0 < old < self.size:
            return []
        if old not in self._made:
            self._made[old] = grown(*self._since(old))
        return self._made[old]

    def _since(self, old: int) -> tuple[Frontier, bytes]:
        """The tree of the old events, and the hashes of the ones after them."""
        taken = _Taken(old, self.size)
        before = self._before
        if before is not None and before.size == old:
            for hash in _hashes_after(self._space, before):
                taken.take(hash)
            return Frontier(old, before.peaks), taken.added
        roots = Roots([old])

        def both(hashes: bytes) -> None:
            roots.take(hashes)
            taken.take(hashes)

        taken.seen = 0
        check = verify(self._space.pieces(), hashes=both, walk=walk_for(self._space.size_bytes()))
        if check.broken_at is not None or old not in roots.at:
            raise Conflict("the ledger cannot be read", hint="run: recollect admin verify")
        return roots.at[old], taken.added


class _Taken:
    """The hashes of the events after one and up to another, of those that it is given."""

    def __init__(self, after: int, through: int) -> None:
        self.seen, self._after, self._through = after, after, through
        self._parts: list[bytes] = []

    def take(self, hashes: bytes) -> None:
        """The hashes of the next events."""
        count = len(hashes) // _HASH_BYTES
        low = max(0, self._after - self.seen)
        high = max(0, min(count, self._through - self.seen))
        self._parts.append(hashes[low * _HASH_BYTES : high * _HASH_BYTES])
        self.seen += count

    @property
    def added(self) -> bytes:
        """All of them, one after the other."""
        return b"".join(self._parts)


def _hashes_after(space: Space, before: Kept) -> Iterator[bytes]:
    pieces = space.pieces(before.size, before.offset)
    for append in scan(pieces, Head(before.size, before.hash, GENESIS.at)):
        for line in append.lines:
            yield bytes.fromhex(line.hash)


def seen(space: Space, ring: KeyRing, seam: Seam) -> tuple[list[Known], list[str]]:
    """The last checkpoint of each witness in a folder, and why the others vouch for nothing.

    Witnesses behind HTTP are not asked: checking a ledger needs no network.
    """
    reader, found, problems = Reader(ring), list[Known](), list[str]()
    for each in ring.witnesses():
        if is_address(each.place):
            problems.append(f"the witness at {each.place} was not asked; checkpoint asks it")
            continue
        key = parse_key(each.key)
        try:
            raw, size = opened(each, ring.folder, seam).latest(ring.ledger), 0
            if raw is not None:
                found.append(_vouched(reader, raw, key))
                size = found[-1].checkpoint.size
            problems += _lacks(each.place, size, _held(space, ring, each))
        except RecollectError as error:
            problems.append(f"the witness in {each.place} vouches for nothing: {error.message}")
    return found, problems


def _lacks(place: str, size: int, held: int) -> Iterator[str]:
    """What is to be said of a witness that has seen less than it should."""
    if size < held:
        yield f"the witness in {place}: {_forgot(held, size).message}"
    elif size == 0:
        yield f"the witness in {place} has no checkpoint of this ledger yet"


def _vouched(reader: Reader, raw: bytes, key: PublicKey) -> Known:
    known = reader.read(raw, "witnessed")
    if not any(key.signed(known.note.text, each) for each in known.note.signatures):
        raise BadNote("it did not cosign what it keeps")
    return known
