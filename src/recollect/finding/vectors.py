"""Bringing the vectors of a memory up to date with its texts.

Responsible for finding texts without vectors and encoding them outside of transactions. Leaves
encoding to ``embed``, storing to ``store``, and the use of the nearest texts to recall. Invariants:
nothing here runs before a write is acknowledged; every loop ends, because each round advances the
position of the vectors or is the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.compose import Embedders
from recollect.errors import IntegrityError, RecollectError, Unsupported
from recollect.model.values import Embedded
from recollect.store.port import IndexHealed, Progress, Readable, Searchable, Vectors

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.embed.port import Embedder

_BATCH_TEXTS: Final = 256  # read at a time
_BATCH_PIECES: Final = 1_024  # encoded and stored at a time
_FIRST_PIECES: Final = 32  # encoded in a recall to see how fast the embedder is
_RECALL_MAX_NS: Final = 20_000_000  # that a recall spends on missing vectors
_COUNT_MAX_TEXTS: Final = 1_000  # counting all that are missing would read all of them
_IDLE_MAX_EVENTS: Final = 1_000  # events without a text after which the position is moved
_NEXT_STEP: Final = "run `recollect admin embed`"


class Leg(NamedTuple):
    """One embedder and its vectors of a memory: one way to search."""

    embedder: Embedder
    vectors: Vectors


class _Brought(NamedTuple):
    """A leg, and how many texts lack its vectors."""

    leg: Leg
    missing: int


class _Batch(NamedTuple):
    """Consecutive texts, cut into pieces, and the position that they reach."""

    after: int
    through: int
    texts: list[tuple[int, list[str]]]
    events: int  # the total number of events

    @property
    def pieces(self) -> list[str]:
        return [piece for _, cut in self.texts for piece in cut]


def legs(
    space: Searchable, embedders: Embedders | None, *, makes: bool = True
) -> tuple[list[Leg], str | None]:
    """The legs that a recall can use, brought up to date within limits, and a sentence or None.

    The sentence, for ``Recall.degraded``, says what is missing. Unless it ``makes`` vectors, it
    only looks. Those of an embedder that was used before are used until a new one's are there.
    """
    ready, notes = embedders.available() if embedders else ((), ())
    found, said = _brought(space, ready, makes=makes)
    lacking = [one for one in found if one.missing]
    if embedders is not None and lacking:
        before = _still_used(space, found, embedders.before(), makes=makes)
        if before:
            most = max(lacking, key=lambda one: one.missing)
            name = embedder_name(most.leg.embedder)
            said.append(
                f"{_how_many(most.missing)} no vectors of {name} yet, and those of "
                f"the embedder before are used: {_NEXT_STEP}"
            )
            return [one.leg for one in before], _joined(notes, said)
    said += [f"{_how_many(one.missing)} no vectors yet: {_NEXT_STEP}" for one in lacking]
    return [one.leg for one in found], _joined(notes, said)


def _brought(
    space: Searchable, embedders: Sequence[Embedder], *, makes: bool
) -> tuple[list[_Brought], list[str]]:
    """A leg for each embedder that works, and a sentence for each that does not."""
    found: list[_Brought] = []
    said: list[str] = []
    for embedder in embedders:
        try:
            vectors = space.vectors(embedder.name, embedder.dimensions)
            missing = 0
            if makes and vectors.keeps:
                limit = embedder.recall_max_pieces
                missing = catch_up(space, Leg(embedder, vectors), limit, _RECALL_MAX_NS).missing
            elif vectors.through() < space.head().seq:
                missing = _missing(space, vectors)
        except (IndexHealed, IntegrityError):
            raise  # the whole recall is repeated, or must not be answered
        except RecollectError as error:
            said.append(f"recall works without {embedder_name(embedder)}: {error}")
            continue
        found.append(_Brought(Leg(embedder, vectors), missing))
    return found, said


def _still_used(
    space: Searchable, new: list[_Brought], before: Sequence[Embedder], *, makes: bool
) -> list[_Brought]:
    """The legs of the embedders before, if they know texts that the new ones do not.

    Nobody brings them further once the new ones are there, so no later text brings them back.
    """
    names = {embedder_name(one.leg.embedder) for one in new}
    others = [embedder for embedder in before if embedder_name(embedder) not in names]
    try:
        reached = [space.vectors(one.name, one.dimensions).through() for one in others]
    except (IndexHealed, IntegrityError):
        raise
    except RecollectError:
        return []
    if not reached or min(one.leg.vectors.through() for one in new) >= max(reached):
        return []
    return _brought(space, before, makes=makes)[0]


def _joined(*parts: Sequence[str]) -> str | None:
    return "; ".join(dict.fromkeys(said for part in parts for said in part)) or None


def embed_all(
    space: Searchable, embedders: Embedders | None, progress: Progress | None = None
) -> tuple[Embedded, ...]:
    """Encodes every text without vectors, with each embedder; refused if one is unavailable."""
    lacking = embedders.missing() if embedders else ()
    if lacking:
        raise Unsupported(lacking[0], hint="or choose another with --embedder")
    found: list[Embedded] = []
    for embedder in embedders.ready() if embedders else ():
        leg = Leg(embedder, space.vectors(embedder.name, embedder.dimensions))
        found.append(catch_up(space, leg, progress=progress))
    return tuple(found)


def catch_up(
    space: Readable,
    leg: Leg,
    limit: int | None = None,
    max_ns: int | None = None,
    progress: Progress | None = None,
) -> Embedded:
    """Encodes texts without vectors, oldest first: all, or about ``limit`` pieces, or as many as
    fit in a time. The first few show how many do.
    """
    texts = pieces = 0
    before = -1
    is_done = False
    start = perf_counter_ns()
    while limit is None or pieces < limit:
        most = _BATCH_PIECES if limit is None else limit - pieces
        if max_ns is not None:
            most = min(most, _fitting(pieces, perf_counter_ns() - start, max_ns))
        if not most:
            break
        batch = _next(space, leg, most)
        is_done = batch.through == batch.after
        if is_done or batch.after <= before:
            break
        before = batch.after
        _keep(leg, batch)
        texts += len(batch.texts)
        pieces += len(batch.pieces)
        if progress is not None:
            progress(batch.through, max(batch.through, batch.events))
    missing = 0 if is_done else _missing(space, leg.vectors)
    return Embedded(model=leg.embedder.name, texts=texts, pieces=pieces, missing=missing)


def _fitting(pieces: int, spent: int, max_ns: int) -> int:
    """How many pieces can still be encoded in a time, by how long those so far have taken."""
    return _FIRST_PIECES if not pieces else max(0, max_ns - spent) * pieces // max(1, spent)


def _next(space: Readable, leg: Leg, most: int) -> _Batch:
    """The next texts, with about ``most`` pieces; at least one text if there are any."""
    after = leg.vectors.through()
    with space.reading() as reads:
        position = reads.position()
        events = position.seq if position else 0
        # A trial's texts have numbers that other events will get, so they have no vectors.
        found = [one for one in reads.texts_after(after, _BATCH_TEXTS) if one[0] <= events]
    through = events if len(found) < _BATCH_TEXTS else found[-1][0]
    if not found and through - after < _IDLE_MAX_EVENTS:
        through = after
    batch: list[tuple[int, list[str]]] = []
    left = most
    for seq, text in found:
        cut = leg.embedder.cut(text)
        if batch and len(cut) > left:
            return _Batch(after, batch[-1][0], batch, events)
        batch.append((seq, cut))
        left -= len(cut)
    return _Batch(after, through, batch, events)


def _keep(leg: Leg, batch: _Batch) -> None:
    """Encodes and adds; the vectors handle concurrent changes."""
    rows = leg.embedder.embed(batch.pieces)
    texts, start = [], 0
    for seq, cut in batch.texts:
        texts.append((seq, rows[start : start + len(cut)]))
        start += len(cut)
    leg.vectors.add(batch.after, batch.through, texts)


def _missing(space: Readable, vectors: Vectors) -> int:
    """How many texts have no vectors; one more than the limit if there are more."""
    after = vectors.through()
    with space.reading() as reads:
        return reads.count_texts_after(after, _COUNT_MAX_TEXTS + 1)


def _how_many(missing: int) -> str:
    if missing > _COUNT_MAX_TEXTS:
        return f"more than {_COUNT_MAX_TEXTS:,} texts have"
    return f"{missing:,} texts have" if missing != 1 else "1 text has"


def embedder_name(embedder: Embedder) -> str:
    """Its name, or its class if the name needs a request that fails."""
    try:
        return embedder.name
    except RecollectError:
        return type(embedder).__name__
