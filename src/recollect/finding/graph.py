"""Walking from record to record along links.

Responsible for what is near a record, for the shortest path between two, and for a page of the
whole. Leaves the statements to ``index.graph`` and who may see what to its caller. Invariants: a
record that is not shown is not walked through; each step reads its links and its records once;
every walk has a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from recollect.index.graph import Ask, links_around, versions_of
from recollect.index.reads import Reads
from recollect.index.rows import LinkRow, VersionRow
from recollect.index.values import link_of, record_of
from recollect.model import limits
from recollect.model.values import Graph

_TOGETHER: Final = 500  # records whose links one statement reads in a search for a path
_BACK: Final = {"both": "both", "out": "in", "in": "out"}


class Walk(msgspec.Struct, frozen=True):
    """One state of the index, what may be seen of it, and which links are followed."""

    reads: Reads
    shows: Callable[[VersionRow], bool]
    ask: Ask

    def links(self, ids: Sequence[str], limit: int) -> tuple[list[LinkRow], bool]:
        """The links of these records, each once; and whether a record has more."""
        found = links_around(self.reads, ids, self.ask, limit + 1)
        each = {link.seq: link for link in found}
        if len(found) <= limit:
            return list(each.values()), False
        kept, is_cut = self._within(each, frozenset(ids), limit)
        return [link for link in each.values() if link.seq in kept], is_cut

    def _within(
        self, found: dict[int, LinkRow], ids: frozenset[str], limit: int
    ) -> tuple[set[int], bool]:
        """The newest links of each record in each direction; and whether there are more."""
        sides = {"out": (0,), "in": (1,), "both": (0, 1)}[self.ask.direction]
        counts, kept = Counter[tuple[int, str]](), set[int]()
        for seq in sorted(found, reverse=True):
            for end in ((side, str(found[seq][side])) for side in sides):
                if end[1] in ids:
                    counts[end] += 1
                    if counts[end] <= limit:
                        kept.add(seq)
        return kept, max(counts.values()) > limit

    def shown(self, ids: Iterable[str]) -> dict[str, VersionRow]:
        """Those of these records that are shown."""
        rows = versions_of(self.reads, list(dict.fromkeys(ids)))
        return {id: row for id, row in rows.items() if self.shows(row)}

    def backwards(self) -> Walk:
        """The same walk against the direction of the links."""
        ask = msgspec.structs.replace(self.ask, direction=_BACK[self.ask.direction])
        return Walk(self.reads, self.shows, ask)


def page(walk: Walk, rows: Sequence[VersionRow], *, more: bool) -> Graph:
    """These records with the links that start from them."""
    mine = {row.id: row for row in rows}
    found, _ = walk.links(list(mine), limits.INTEGER_MAX) if rows else ([], False)
    ends = mine | walk.shown(link.target for link in found if link.target not in mine)
    return _graph(rows, [link for link in found if link.target in ends], more=more)


def neighbours(walk: Walk, start: VersionRow, hops: int, limit: int) -> Graph:
    """The records within so many steps of one, nearest first, and the links that lead there.

    The walk ends at the first link that would lead to one record too many.
    """
    seen, links = {start.id: start}, dict[int, LinkRow]()
    frontier, more = [start.id], False
    for _ in range(hops):
        if not frontier:
            break
        found, is_cut = walk.links(frontier, limit * limits.GRAPH_LINKS_FOR_RECORD)
        more = more or is_cut
        frontier = []
        for link, new in _with_ends(walk, found, seen, limit):
            if new is not None and len(seen) == limit:
                return _graph(seen.values(), links.values(), more=True)
            if new is not None:
                seen[new.id] = new
                frontier.append(new.id)
            links[link.seq] = link
    return _graph(seen.values(), links.values(), more=more)


def _with_ends(
    walk: Walk, links: Sequence[LinkRow], seen: Container[str], together: int
) -> Iterator[tuple[LinkRow, VersionRow | None]]:
    """Each link with its end that was not seen before; without those to what is not shown.

    The ends are read in groups, because a walk may stop early.
    """
    for first in range(0, len(links), together):
        some = links[first : first + together]
        near = walk.shown(end for link in some for end in link[:2] if end not in seen)
        for link in some:
            new = next((end for end in link[:2] if end not in seen), None)
            if new is None or new in near:
                yield link, None if new is None else near[new]


class _Side(msgspec.Struct):
    """What a search for a path has reached from one of its ends."""

    walk: Walk
    came: dict[str, LinkRow | None]  # each record, and the link over which it was first reached
    frontier: list[str]
    is_cut: bool = False  # something may be reachable that was not followed

    def step(self, rows: dict[str, VersionRow], other: _Side) -> str | None:
        """One step further; returns a record that the other side has reached too."""
        ids, self.frontier = self.frontier, []
        for first in range(0, len(ids), _TOGETHER):
            some = ids[first : first + _TOGETHER]
            found, is_cut = self.walk.links(some, limits.PATH_MAX_LINKS_OF_ONE)
            self.is_cut = self.is_cut or is_cut
            ends = [end for link in found for end in link[:2] if end not in self.came]
            rows |= self.walk.shown(end for end in ends if end not in rows)
            for link in found:
                new = next((end for end in link[:2] if end not in self.came), None)
                if new is not None and new in rows:
                    self.came[new] = link
                    self.frontier.append(new)
                    if new in other.came:
                        return new
            if len(rows) > limits.PATH_MAX_RECORDS:
                self.is_cut = True
                break
        return None

    def back(self, id: str) -> tuple[list[str], list[LinkRow]]:
        """The records and links from one of them back to this side's end."""
        ids, links = [id], list[LinkRow]()
        while (link := self.came[ids[-1]]) is not None:
            links.append(link)
            ids.append(link.target if link.source == ids[-1] else link.source)
        return ids, links


def path(walk: Walk, first: VersionRow, last: VersionRow) -> Graph:
    """The shortest way from one record to another; empty if there is none.

    With ``more``, links were left out, and there may be a way, or a shorter one.
    It searches from both ends, from the one with fewer records to go on from.
    """
    rows = {first.id: first, last.id: last}
    if len(rows) == 1:
        return _graph([first], [], more=False)
    here = _Side(walk, {first.id: None}, [first.id])
    there = _Side(walk.backwards(), {last.id: None}, [last.id])
    met = None
    while met is None and here.frontier and there.frontier:
        if len(rows) > limits.PATH_MAX_RECORDS:
            return Graph(more=True)
        nearer = len(here.frontier) <= len(there.frontier)
        met = here.step(rows, there) if nearer else there.step(rows, here)
    more = here.is_cut or there.is_cut
    if met is None:
        return Graph(more=more)
    before, after = here.back(met), there.back(met)
    ids = [*reversed(before[0]), *after[0][1:]]
    return _graph([rows[id] for id in ids], [*reversed(before[1]), *after[1]], more=more)


def _graph(rows: Iterable[VersionRow], links: Iterable[LinkRow], *, more: bool) -> Graph:
    return Graph(records=tuple(map(record_of, rows)), links=tuple(map(link_of, links)), more=more)
