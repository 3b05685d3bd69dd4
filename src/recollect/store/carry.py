"""Carrying a whole space from one store to another.

Responsible for the order: check the source, send what the target lacks, finish its erasures, then
compare both. Leaves reading and writing to the two engines. Invariants: nothing is sent if the
ledger is damaged or the target would refuse any part of it; afterwards both ledgers have the same
head and the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import cast

from recollect.errors import IntegrityError, NotFound
from recollect.ledger.line import Line
from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.model.events import Head
from recollect.model.values import Copied
from recollect.store.backup import copy_checkpoints
from recollect.store.clock import check_arriving
from recollect.store.keys.wrapped_keys import Wrapped, missing
from recollect.store.port import Copyable, Progress
from recollect.store.received import another_history


def carry(
    source: Copyable, target: Copyable, progress: Progress | None = None, *, now: str
) -> Copied:
    """Brings the target up to the source; events that it already has are not sent again.

    ``now`` is what the clock says. The source is read twice, so that a refusal comes before
    anything is sent.
    """
    if source.head().seq == 0:  # this also repairs a torn tail or a lagging index
        raise NotFound(f"there are no events in {source.where} yet")
    size = source.size_bytes()
    held = target.existing_head()
    first, keys = _check(source, target, held, now, _counting(progress, 2 * size))

    def tick(done: int) -> None:
        if progress is not None:
            progress(min(size + done, 2 * size), 2 * size)

    with begun(source) as pieces:  # both may be the same folder
        head = target.receive(pieces, tick, keys)
    target.purge()
    checkpoints = copy_checkpoints(source.checkpoints(), target.checkpoints(), head.seq, first)
    return Copied(
        space=target.name,
        where=target.where,
        events=head.seq - held.seq,
        seq=head.seq,
        head=head.hash,
        digest=_same_digest(source, target, head),
        checkpoints=checkpoints,
    )


@contextmanager
def begun(source: Copyable) -> Iterator[Iterator[bytes]]:
    """The bytes of a source that is open already: reading on waits for no thread that uses it."""
    with _reading(source) as pieces:
        yield chain((next(pieces, b""),), pieces)


def _reading(source: Copyable) -> closing[Generator[bytes, None, None]]:
    """The bytes of the source; its files or connection are released even if reading stops early."""
    return closing(cast("Generator[bytes, None, None]", source.pieces()))


def _check(
    source: Copyable, target: Copyable, held: Head, now: str, advance: Callable[[int], None]
) -> tuple[str, list[Wrapped]]:
    """Checks the whole source: it is sound, continues the target, and is allowed there.

    Returns the hash of its first event, from which checkpoints have its name, and the keys of
    subjects that the target lacks.
    """
    first, named = "", set[str]()

    def each(line: Line) -> None:
        nonlocal first
        first = first or line.hash
        if line.subject is not None and line.data is not None:
            named.add(line.subject)
        if line.seq > held.seq:
            check_arriving(line.seq, line.at, now)
        if line.seq == held.seq and line.hash != held.hash:
            raise another_history(held.seq)
        # Events that the target already has are checked too: copied events are not decided by the
        # lifecycle, so a token must not copy into a memory with events above its own trust.
        target.admit(line)

    seen = source.seen()
    with _reading(source) as pieces:
        check = verify(pieces, advance, seen=seen, each=each)
    if check.broken_at is not None:
        raise Damage(check.broken_at, f"{check.problem}; nothing was sent")
    return first, _keys(source, target, first, named) if named else []


def _keys(source: Copyable, target: Copyable, first: str, named: set[str]) -> list[Wrapped]:
    """The keys that the target lacks, as the source has them; raises ``KeyMissing``."""
    lacking = target.subjects.of(first).keys.lacks(named)
    found = source.subjects.keys.wrapped(lacking)
    left = lacking - {one.pseudonym for one in found}
    if left:
        raise missing(min(left), "here")
    return found


def _counting(progress: Progress | None, total: int) -> Callable[[int], None]:
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(min(done, total), total)

    return advance


def _same_digest(source: Copyable, target: Copyable, head: Head) -> str:
    """The state digest at the head, which must be the same on both sides."""
    digest = target.digest(head.seq)
    if digest != source.digest(head.seq):
        raise IntegrityError(
            f"both ledgers end at the same event {head.seq}, but their indexes differ",
            hint="try again; if that does not help, run `recollect admin rebuild` on both",
        )
    return digest
