"""The calls of a memory that follow links.

Responsible for the public signatures and for what each call may show. Leaves walking to
``finding.graph``. Invariant: a record or link that ``list`` and ``why`` do not show this handle is
neither shown nor walked through.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import msgspec

from recollect.errors import InvalidInput, NotFound
from recollect.finding.graph import Walk, neighbours, page, path
from recollect.finding.search import first_page, listing
from recollect.index.graph import Ask, Direction
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.memory.handle.handle import Handle
from recollect.model import limits, validate
from recollect.model.values import Graph, Include


def whole(
    handle: Handle, kinds: Iterable[str], include: frozenset[Include], limit: int, after: str | None
) -> Graph:
    """A page of the whole; ``Memory.graph`` documents the arguments."""
    limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
    ask, wish = _ask(kinds, "out", include), handle.wish("record", include)
    with handle.reading() as reads:
        before = first_page(handle.position) if after is None else handle.find(reads, after).seq
        rows = listing(reads, wish, before, limit + 1)
        walk = _walk(handle, reads, ask, include)
        return page(walk, rows[:limit], more=len(rows) > limit)


def around(
    handle: Handle,
    id: str,
    hops: int,
    kinds: Iterable[str],
    direction: str,
    include: frozenset[Include],
    limit: int,
) -> Graph:
    """What is near a record; ``Memory.neighbours`` documents the arguments."""
    hops = validate.count(hops, "hops", at_most=limits.GRAPH_MAX_HOPS)
    limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
    ask = _ask(kinds, direction, include)
    with handle.reading() as reads:
        start = _record(handle, reads, id, include)
        return neighbours(_walk(handle, reads, ask, include, start), start, hops, limit)


def between(
    handle: Handle,
    a: str,
    b: str,
    kinds: Iterable[str],
    direction: str,
    include: frozenset[Include],
) -> Graph:
    """The way between two records; ``Memory.path`` documents the arguments."""
    ask = _ask(kinds, direction, include)
    with handle.reading() as reads:
        ends = [_record(handle, reads, id, include) for id in (a, b)]
        return path(_walk(handle, reads, ask, include, *ends), *ends)


def _ask(kinds: Iterable[str], direction: str, include: frozenset[Include]) -> Ask:
    """Checks which links a call follows."""
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidInput(
            f"kinds is a list of kinds of links, not {validate.shown(kinds)}",
            hint="pass a list, such as ['derived_from']",
        )
    for known in get_args(Direction):
        if direction == known:
            names = tuple(validate.name(kind, "kind") for kind in kinds)
            return Ask(kinds=names, direction=known, held="waiting" in include)
    raise InvalidInput(f"direction must be both, out or in, not {validate.shown(direction)}")


def _walk(
    handle: Handle, reads: Reads, ask: Ask, include: frozenset[Include], *ends: VersionRow
) -> Walk:
    words: frozenset[str | None] = include | {None}
    ask = msgspec.structs.replace(
        ask,
        user=handle.actor.user,
        include=tuple(sorted(include)),
        now=handle.now(),
        ends=tuple(row.id for row in ends),
    )
    return Walk(reads, lambda row: handle.may_see(row) and handle.why_hidden(row) in words, ask)


def _record(handle: Handle, reads: Reads, id: str, include: frozenset[Include]) -> VersionRow:
    """A record that a call starts from, if ``get`` would show it."""
    row = handle.find(reads, id)
    if isinstance(row, EpisodeRow):
        raise InvalidInput(f"{row.id} is an episode, and links are between records")
    hidden = handle.why_hidden(row)
    if hidden is not None and hidden not in include | {"waiting"}:
        hint = f"ask with include=[{hidden!r}]"
        raise NotFound(f"{id!r} is {hidden}", hint=hint, is_seen=True)
    return row
