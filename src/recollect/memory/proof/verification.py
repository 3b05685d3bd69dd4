"""Checking a ledger, its clock and, if asked for, what its index makes of it.

Responsible for the order of the checks and for telling how far they are. Leaves the lines to
``ledger.verify`` and the comparison to the store. Invariant: a sound answer means the same on every
engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from recollect.config import keys_folder
from recollect.errors import InvalidInput, RecollectError
from recollect.index.erasures import was_erased_since
from recollect.index.statements import INDEX_VERSION
from recollect.ledger import verify as lines
from recollect.ledger.codec import decode
from recollect.ledger.line import Line
from recollect.ledger.scan import scan
from recollect.memory.handle.due import has_keys
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.model.counts import counted
from recollect.model.events import EventsErased, LedgerSealed
from recollect.model.rules import may_erase
from recollect.model.values import Finding, OrderedErasure, Sealed, Verification
from recollect.store import clock
from recollect.store.checkpoints.seen_heads import ANOTHER, contradiction
from recollect.store.checkpoints.walk import walk_for
from recollect.store.disk.regular_files import read_regular
from recollect.store.port import Progress, Space
from recollect.store.seam import Seam

if TYPE_CHECKING:
    from recollect.memory.proof.checkpoints import Signed

_NOTE_MAX_BYTES: Final = 1 << 21
_ANCHOR: Final = re.compile(r"(\d{1,15}):([0-9A-Fa-f]{64})", re.ASCII)


def verify(
    space: Space, seam: Seam, progress: Progress | None, *, deep: bool, anchor: str | None = None
) -> Verification:
    """Every line; with ``deep`` also every row of the index and every word of its full text."""
    note = None if anchor is None else note_in(anchor)
    wanted = None if anchor is None or note is not None else parse_anchor(anchor)
    signed = _signed(space, seam, note)
    found: list[str] = []
    size = space.size_bytes()
    total, done = (2 * size if deep else size), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(min(done, size), total)

    def folded(now: int, _: int) -> None:
        if progress is not None:
            progress(min(size + now, total), total)

    def is_as_sealed(seal: LedgerSealed) -> bool:
        if seal.index_version != INDEX_VERSION or space.digest(seal.count) == seal.digest:
            return True
        with space.reading() as reads:  # something may have been erased since the walk began
            return was_erased_since(reads, seal.count)

    def note_anchor(line: Line) -> None:
        found.append(line.hash)

    check = lines.verify(
        space.pieces(),
        advance,
        seen=space.seen(),
        state=is_as_sealed,
        each=note_anchor,
        only=0 if wanted is None else wanted[0],
        hashes=None if signed is None else signed.take,
        walk=walk_for(size),
    )
    if signed is not None and check.ok:
        check = signed.result(check)
    if wanted is not None and check.ok:
        check = _anchored(check, wanted, found)
    if check.ok and anchor is None:
        check = _as_seen(check, space)
    if check.ok:
        check = _with_overdue(check, space, seam)
    if not deep or not check.ok:
        return check
    space.head()  # an index that is missing, old or behind is made good first
    problem = space.index_problem(folded)
    return check if problem is None else lines.as_misfolded(check, problem)


def _as_seen(check: Verification, space: Space) -> Verification:
    """Also says if another ledger was signed here; each of them is consistent in itself."""
    found = contradiction(space, keys_folder()) if has_keys() else None
    if found is None:
        return check
    told = f"{ANOTHER}: {found.what}, as {found.path} says"
    return structs.replace(check, status="not anchored", problem=told)


def _with_overdue(check: Verification, space: Space, seam: Seam) -> Verification:
    """Also says if a checkpoint is overdue; only where the index that knows is up to date."""
    seen = space.seen()
    if seen is None or seen.seq != check.events or not check.events:
        return check
    from recollect.memory.proof import checkpoints

    with suppress(RecollectError):
        late = checkpoints.overdue(space, seam)
        if late is not None:
            told = f"checkpoints are {late.detail}; {late.fix}"
            problem = told if check.problem is None else f"{check.problem}; {told}"
            return structs.replace(check, problem=problem)
    return check


def note_in(anchor: str) -> bytes | None:
    """The signed checkpoint that an anchor is, or names; None if it is neither."""
    if not isinstance(anchor, str) or _ANCHOR.fullmatch(anchor.strip()):
        return None
    if "\n" in anchor.strip():
        return anchor.encode()
    try:
        return read_regular(Path(anchor.strip()).expanduser(), _NOTE_MAX_BYTES)
    except (OSError, ValueError, RuntimeError):
        return None


def _signed(space: Space, seam: Seam, note: bytes | None) -> Signed | None:
    """The checkpoints to compare with; None if no key is trusted here."""
    if note is None and not has_keys():
        return None
    from recollect.memory.proof.checkpoints import (
        Signed,  # loaded only if there may be a checkpoint
    )

    return Signed.of(space, seam, keys_folder(), note)


def require_last(handle: Handle) -> None:
    """Refuses to copy a ledger that is not, or no longer, the one that was seen here before."""
    if not has_keys():
        return
    from recollect.memory.proof import checkpoints  # loaded only if there may be a checkpoint

    checkpoints.require_last(handle)


def with_checkpoint(handle: Handle, done: Sealed) -> Sealed:
    """Signs a checkpoint of what was sealed, if there is a key."""
    if not done.events or not has_keys():
        return done
    from recollect.memory.proof import checkpoints

    made = checkpoints.checkpoint_if_possible(handle)
    return done if made is None else structs.replace(done, checkpoint=made.size)


def parse_anchor(anchor: str) -> tuple[int, str]:
    """The seq and the hash of an anchor."""
    found = _ANCHOR.fullmatch(anchor.strip()) if isinstance(anchor, str) else None
    if found is None:
        raise InvalidInput(
            f"{validate.shown(anchor)} is not an anchor",
            hint="write SEQ:HASH, as an earlier `verify` printed it, or the file of a checkpoint",
        )
    return int(found[1]), found[2].lower()


def _anchored(check: Verification, wanted: tuple[int, str], found: Sequence[str]) -> Verification:
    """The result for a sound ledger that is compared with an event which was kept elsewhere."""
    seq, hash = wanted
    if list(found) == [hash]:
        through = max(seq, check.anchored_through or 0)
        return structs.replace(check, status="anchored", anchored_through=through)
    problem = (
        f"event {seq} has another hash than the anchor says"
        if found
        else f"the ledger has {counted(check.events, 'event')}, and the anchor names event {seq}"
    )
    return structs.replace(
        check, status="not anchored", problem=f"{problem}: this is another ledger, or a part of it"
    )


def erasures(space: Space, progress: Progress | None) -> list[OrderedErasure]:
    """Every erasure that the ledger records, oldest first; reads the whole ledger."""
    size, found = space.size_bytes(), list[OrderedErasure]()
    done = 0

    def pieces() -> Iterator[bytes]:
        nonlocal done
        for piece in space.pieces():
            yield piece
            done += len(piece)
            if progress is not None:
                progress(min(done, size), size)

    for append in scan(pieces()):
        for line in append.lines:
            body = decode(line).body if line.is_erasure else None
            if isinstance(body, EventsErased) and may_erase(line.origin):
                found.append(
                    OrderedErasure(
                        seq=line.seq,
                        at=line.at,
                        by=line.origin,
                        events=body.targets,
                        reason=body.reason,
                    )
                )
    return found


def findings(space: Space, now: str, progress: Progress | None) -> list[Finding]:
    """What a doctor sees: the store, and whether the clock fits the last event."""
    found = space.examine(progress)
    last = space.seen()
    return [*found, *(clock.findings(last.at, now) if last is not None and last.seq > 1 else ())]


def replaced(space: Space) -> list[Finding]:
    """What a doctor says of a sound ledger where another one was signed."""
    found = contradiction(space, keys_folder()) if has_keys() else None
    if found is None:
        return []
    return [
        Finding(
            level="problem",
            what="ledger",
            detail=f"{ANOTHER}: {found.what}. Nothing is read from it or written to it",
            fix="1. Find the ledger that was here before, or a backup, and put it back. "
            f"2. If you replaced it on purpose, remove {found.path} and the .note beside it.",
        )
    ]


def overdue(handle: Handle) -> list[Finding]:
    """Whether a sound memory contradicts its last checkpoint, or the policy asks for another."""
    from recollect.memory.proof import checkpoints

    wrong = checkpoints.contradicted(handle) if has_keys() else None
    found = wrong or checkpoints.overdue(handle.space, handle.seam)
    return [] if found is None else [found]
