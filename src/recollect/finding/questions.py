"""From queries to parsed and encoded queries.

Responsible for parsing and encoding them, outside of the transactions that search. Leaves missing
vectors to ``finding.vectors`` and searching to ``finding.search``. Invariant: if an embedder fails,
only its leg is left out, which the answer reports; the recall never fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import TypeVar

from recollect.compose import Embedders
from recollect.errors import RecollectError
from recollect.finding.candidates import Near, Question, understood
from recollect.finding.vectors import Leg, embedder_name, legs
from recollect.index.reads import Reads
from recollect.store.port import Searchable

T = TypeVar("T")


def ask(
    space: Searchable, at: int, queries: Sequence[str], embedders: Embedders | None
) -> list[Question]:
    """Queries, parsed for the memory at a position and encoded."""
    with ExitStack() as opened:
        plain = _parsed(cache(lambda: opened.enter_context(space.reading(at))), queries)
    if embedders is None or not any(question.asked.terms for question in plain):
        return plain
    ready, note = legs(space, embedders)
    return _encoded(plain, ready, [note] if note else [])


def answer(
    space: Searchable,
    at: int,
    queries: Sequence[str],
    embedders: Embedders | None,
    search: Callable[[Reads, list[Question]], T],
) -> T:
    """What a search finds for these queries in the memory at a position.

    Encoding can take long, so the queries are then parsed and encoded before the transaction that
    searches; without an embedder one transaction does both.
    """
    ready, notes = embedders.available() if embedders else ((), ())
    if ready:
        asked = ask(space, at, queries, embedders)
        with space.reading(at) as reads:
            return search(reads, asked)
    with space.reading(at) as reads:
        return search(reads, _encoded(_parsed(lambda: reads, queries), (), notes))


def at_once(
    space: Searchable, queries: Sequence[str], embedders: Embedders | None
) -> list[Question]:
    """Queries, encoded with the static vectors of a memory as it is; none without those."""
    static = embedders.static() if embedders else None
    if static is None:
        return []
    with space.reading() as reads:
        plain = _parsed(lambda: reads, queries)
    return _encoded(plain, [Leg(static, space.vectors(static.name, static.dimensions))], ())


def _parsed(reading: Callable[[], Reads], queries: Sequence[str]) -> list[Question]:
    return [Question(query, understood(reading, query)) for query in queries]


def _encoded(
    plain: Sequence[Question], ready: Sequence[Leg], notes: Sequence[str]
) -> list[Question]:
    """The queries, encoded by each embedder; one that fails is not called again."""
    said = list(notes)
    found: list[list[Near]] = [[] for _ in plain]
    names: list[str] = []
    for leg in ready:
        try:
            rows = [
                leg.embedder.embed_query(one.asked.plain) if one.asked.terms else None
                for one in plain
            ]
        except RecollectError as error:
            said.append(f"recall works without {embedder_name(leg.embedder)}: {error}")
            continue
        names.append(leg.embedder.name)
        for near, row in zip(found, rows, strict=True):
            if row is not None:
                near.append(Near(leg.embedder.grain, leg.vectors, row))
    embedder, degraded = " + ".join(names) or None, "; ".join(dict.fromkeys(said)) or None
    return [
        one._replace(legs=tuple(near), embedder=embedder, degraded=degraded)
        if one.asked.terms
        else one
        for one, near in zip(plain, found, strict=True)
    ]
