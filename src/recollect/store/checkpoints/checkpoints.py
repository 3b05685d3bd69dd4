"""Making checkpoints of a ledger, comparing the ledger with them, and copying them with it.

Responsible for what is signed: never something that contradicts the last checkpoint known here; and
for which notes go along with a copy: those of this ledger, and none of more events than the copy
has. Which ones count depends on the keys that the verifier trusts. Leaves keys to
``store.checkpoints.key_ring``, notes to ``recollect.proof`` and reading to the engines. Invariant:
a checkpoint costs what was written since the last one. For that, the frontier of the tree is kept
beside it; it counts only if its root is the one that was signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from recollect.errors import Forbidden, IntegrityError
from recollect.index.rows import PositionRow
from recollect.ledger.batches import hashes
from recollect.ledger.line import parse as parse_line
from recollect.ledger.scan import Damage, Scanner
from recollect.ledger.tree import Frontier, Roots
from recollect.ledger.verify import verify
from recollect.model.counts import counted
from recollect.model.events import GENESIS, Head
from recollect.model.values import Checkpoint as Made
from recollect.model.values import Verification
from recollect.proof.checkpoints import Checkpoint, parse_text, sign
from recollect.proof.keys import PublicKey, signers
from recollect.proof.notes import BadNote, Note, Signature, parse, plus, render
from recollect.store.checkpoints.key_ring import KeyRing, ledger_name, no_key
from recollect.store.checkpoints.seen_heads import ANOTHER, place_of
from recollect.store.checkpoints.walk import walk_for
from recollect.store.port import Checkpoints, Space
from recollect.store.seam import Seam

# Where a known checkpoint was: elsewhere than the ledger, or beside it. One beside it anchors
# nothing, even if it was cosigned: cutting the ledger removes the later ones too.
Where = Literal["given", "outside", "witnessed", "beside"]
_FIRST_LINE_MAX_BYTES: Final = 1 << 24


class Known(msgspec.Struct, frozen=True):
    """A checkpoint that a known key signed."""

    checkpoint: Checkpoint
    where: Where
    note: Note


class Kept(msgspec.Struct, frozen=True):
    """Where the next checkpoint continues."""

    size: int
    hash: str  # of the last event
    offset: int  # where the next one begins in the active file
    peaks: tuple[bytes, ...]


def ring_of(space: Space, folder: Path, seam: Seam) -> KeyRing:
    """The keys for a space's ledger, whose first event must be readable."""
    return KeyRing(folder, ledger_name(_first_hash(space)), seam)


def make(space: Space, ring: KeyRing) -> Made:
    """Signs how many events the ledger has and which root, with every key that can sign here."""
    beside = space.checkpoints()
    if not beside.keeps:
        raise Forbidden(
            f"this token may not keep checkpoints in {space.where}",
            hint="use a person's token that writes in the whole space, or pull the memory into a "
            "folder and sign there",
        )
    keys = ring.private()
    if not keys:
        raise no_key(ring.ledger)
    position = _position(space)
    last = last_known(space, ring)
    tree = _grown(space, position, last)
    made = Checkpoint(ring.ledger, position.seq, tree.root)
    signed = sign(made, keys)
    if last is not None and last.checkpoint == made:  # it may have cosignatures already
        signed = plus(signed, _by(last.note, ring.cosigners()))
    note = render(signed)
    ring.keep_last(note)  # first: nothing may be signed that this would contradict
    ring.keep_head(place_of(space), position.seq, position.hash)
    beside.keep(position.seq, note)
    kept = Kept(position.seq, position.hash, position.offset, tree.peaks)
    beside.keep_frontier(msgspec.json.encode(kept))
    return Made(
        space=space.name,
        ledger=ring.ledger,
        size=position.seq,
        root=tree.root.hex(),
        note=note.decode(),
    )


def known(space: Space, ring: KeyRing, given: bytes | None = None) -> list[Known]:
    """Every checkpoint of the ledger that a known key signed; a wrong one raises.

    Notes beside the ledger that no known key signed are ignored: anyone may put them there.
    """
    reader, found = Reader(ring), list[Known]()
    if given is not None:
        found.append(reader.read(given, "given"))
    if not reader.keys:
        return found
    outside = ring.last()
    if outside is not None:
        found.append(reader.read(outside, "outside"))
    beside = space.checkpoints()
    for size in beside.sizes():
        with suppress(BadNote):
            found.append(reader.read(beside.note(size), "beside"))
    return found


def last_known(space: Space, ring: KeyRing) -> Known | None:
    """The largest checkpoint that a known key signed; looks at no more notes than it must."""
    reader, outside, beside = Reader(ring), ring.last(), space.checkpoints()
    last = None if outside is None else reader.read(outside, "outside")
    for size in reversed(beside.sizes()):
        if last is not None and size <= last.checkpoint.size:
            break
        with suppress(BadNote):
            return reader.read(beside.note(size), "beside")
    return last


def require_last(space: Space, ring: KeyRing) -> None:
    """Refuses a ledger that is smaller than the last checkpoint known here, or contradicts it.

    That note is in a folder of this person alone, so its signature is not checked again. One that
    cannot be read is left to ``verify``, which reports it.
    """
    raw = ring.last()
    if raw is None:
        return
    try:
        note = parse(raw)
        last = Known(parse_text(note.text), "outside", note)
    except BadNote:
        return
    try:
        _grown(space, _position(space), last)
    except Damage as error:
        raise IntegrityError(
            f"{ANOTHER}: {error.problem}",
            hint="see what is missing or changed: recollect admin verify",
        ) from error


def end_of_last(space: Space, ring: KeyRing) -> Kept | None:
    """Where the last checkpoint ends, if that is still known."""
    return _kept(space, last_known(space, ring))


def latest(found: Sequence[Known]) -> Known | None:
    """The largest of them."""
    return max(found, key=lambda each: each.checkpoint.size, default=None)


class Comparison:
    """A ledger beside the checkpoints of it that are known; give it all hashes in order."""

    def __init__(self, found: Sequence[Known]) -> None:
        self._found = sorted(found, key=lambda each: each.checkpoint.size)
        self._roots = Roots(each.checkpoint.size for each in found)
        self.take = self._roots.take

    def result(self, check: Verification) -> Verification:
        """The answer for a ledger that is consistent in itself."""
        sound = 0
        for each in self._found:
            size, root = each.checkpoint.size, each.checkpoint.root
            if size > check.events:
                problem = f"it is missing: a signed checkpoint has {counted(size, 'event')}"
                return _broken(check, check.events + 1, problem)
            if size and self._roots.at[size].root != root:
                span = f"event {size}" if size == sound + 1 else f"an event from here to {size}"
                problem = f"{span} is not the one that was signed in the checkpoint of {size:,}"
                return _broken(check, sound + 1, problem)
            sound = size
        anchors = [each.checkpoint.size for each in self._found if each.where != "beside"]
        if not anchors:
            return check
        return msgspec.structs.replace(check, status="anchored", anchored_through=max(anchors))


def remember(ring: KeyRing, found: Sequence[Known]) -> None:
    """Keeps the largest checkpoint as the last one seen, for the next comparison."""
    newest = latest(found)
    outside = latest([each for each in found if each.where == "outside"])
    if newest is None or (outside and outside.checkpoint.size >= newest.checkpoint.size):
        return
    ring.keep_last(render(newest.note))


def _broken(check: Verification, at: int, problem: str) -> Verification:
    return msgspec.structs.replace(check, status="broken", broken_at=at, problem=problem)


class Reader:
    """Reads notes about one ledger; raises BadNote if no known key of it signed one."""

    def __init__(self, ring: KeyRing) -> None:
        self.keys = ring.public()
        self._ledger = ring.ledger

    def read(self, raw: bytes, where: Where) -> Known:
        """A checkpoint that was found somewhere."""
        note = parse(raw)
        checkpoint = parse_text(note.text)
        if checkpoint.origin != self._ledger:
            raise BadNote(f"it is a checkpoint of {checkpoint.origin}, and this is {self._ledger}")
        signers(note, self.keys)
        return Known(checkpoint, where, note)


def _by(note: Note, keys: Sequence[PublicKey]) -> Iterator[Signature]:
    """The signatures of a note that these keys made."""
    for signature in note.signatures:
        if any(key.signed(note.text, signature) for key in keys):
            yield signature


def _position(space: Space) -> PositionRow:
    with space.reading() as reads:
        position = reads.position()
    if position is None:
        raise IntegrityError("the index lost its position", hint="rebuild it")
    return position


def _first_hash(space: Space) -> str:
    """The hash of the ledger's first event."""
    held = b""
    for piece in space.pieces():
        held += piece
        if b"\n" in held or len(held) > _FIRST_LINE_MAX_BYTES:
            break
    return parse_line(held.partition(b"\n")[0]).hash


def _grown(space: Space, position: PositionRow, last: Known | None) -> Frontier:
    """The tree over all events, which must continue the last checkpoint."""
    size = 0 if last is None else last.checkpoint.size
    if size > position.seq:
        raise Damage(
            position.seq + 1,
            f"it is missing: a signed checkpoint has {counted(size, 'event')}",
        )
    kept = _kept(space, last)
    if kept is not None:
        with suppress(Damage):  # a full read says what is wrong, or that it is the frontier
            return _continued(space, position, kept)
    return _from_start(space, position, last)


def _continued(space: Space, position: PositionRow, kept: Kept) -> Frontier:
    """The tree after the events since a checkpoint."""
    roots = Roots([position.seq], Frontier(kept.size, kept.peaks))
    if kept.size == position.seq:
        _check_hash(position, kept.hash)
        return Frontier(kept.size, kept.peaks)
    scanner = Scanner(Head(kept.size, kept.hash, GENESIS.at))
    for taken in hashes(scanner, space.pieces(kept.size, kept.offset), position.seq):
        roots.take(taken)
        if scanner.head.seq == position.seq:
            break
    return _reached(roots, position, scanner.head.hash)


def _from_start(space: Space, position: PositionRow, last: Known | None) -> Frontier:
    """The tree over every event, each of them checked."""
    sizes = [position.seq, *([last.checkpoint.size] if last is not None else [])]
    roots, seen = Roots(sizes), Head(position.seq, position.hash, position.at)
    walk = walk_for(space.size_bytes())
    check = verify(space.pieces(), seen=seen, hashes=roots.take, walk=walk)
    if check.broken_at is not None:
        raise Damage(check.broken_at, check.problem or "")
    if last is not None and roots.at[last.checkpoint.size].root != last.checkpoint.root:
        raise Damage(
            last.checkpoint.size, "the events up to it are not those that a checkpoint signed"
        )
    return _reached(roots, position, position.hash)


def _reached(roots: Roots, position: PositionRow, seen: str) -> Frontier:
    _check_hash(position, seen)
    return roots.at[position.seq]


def _check_hash(position: PositionRow, seen: str) -> None:
    if seen != position.hash:
        raise Damage(position.seq, "it differs from the event that was seen here before")


def _kept(space: Space, last: Known | None) -> Kept | None:
    """Where to continue, if the frontier that is kept is that of the last checkpoint."""
    raw = space.checkpoints().frontier()
    if last is None or raw is None:
        return None
    try:
        kept = msgspec.json.decode(raw, type=Kept)
    except ValueError:
        return None
    is_whole = len(kept.peaks) == kept.size.bit_count() and all(len(p) == 32 for p in kept.peaks)
    is_signed = (kept.size, Frontier(kept.size, kept.peaks).root) == (
        last.checkpoint.size,
        last.checkpoint.root,
    )
    return kept if is_whole and is_signed else None


def copied(source: Checkpoints, target: Checkpoints, through: int, first: str | None) -> int:
    """Copies the notes up to an event that the other one lacks; says how many.

    ``first`` is the hash of the ledger's first event. A note that both have is replaced by the
    same one with more signatures. Only the last such note can have got any: a key is replaced at
    the end of a ledger.
    """
    ledger = None if first is None else ledger_name(first)
    sizes, there = [size for size in source.sizes() if size <= through], set(target.sizes())
    shared = [size for size in sizes if size in there][-1:]
    count = 0
    for size in [*shared, *(size for size in sizes if size not in there)]:
        raw = source.note(size)
        note = _fitting(raw, size, ledger)
        if note is None or (size in there and not _adds(note, target.note(size))):
            continue
        target.keep(size, raw)
        count += 1
    return count


def _fitting(raw: bytes, size: int, ledger: str | None) -> Note | None:
    """The note, if it is a checkpoint of so many events of this ledger."""
    try:
        note = parse(raw)
        checkpoint = parse_text(note.text)
    except BadNote:
        return None
    fits = checkpoint.size == size and ledger in (None, checkpoint.origin)
    return note if fits else None


def _adds(note: Note, raw: bytes) -> bool:
    """True if a note has all the signatures of another one of the same text, and more."""
    try:
        other = parse(raw)
    except BadNote:
        return True
    return note.text == other.text and set(note.signatures) > set(other.signatures)
