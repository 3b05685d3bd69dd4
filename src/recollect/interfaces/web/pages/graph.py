"""The records around one, as rings and as a table.

Responsible for what is near a record. Leaves places to ``draw.rings``. Invariant: everything that
is drawn is in the table below it, and at most so many records are drawn.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import rings
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Graph, Include, Link, Record

_COUNTED: Final = 1_000  # records around one that are counted
_STYLES: Final = 6


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One record in the drawing."""

    record: Record
    spot: rings.Spot


class Tie(msgspec.Struct, frozen=True, kw_only=True):
    """One link in the drawing, and in the table."""

    link: Link
    line: rings.Line
    style: int
    source: Record
    target: Record


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    record: Record
    hops: int
    include: tuple[str, ...]
    nodes: tuple[Node, ...]
    ties: tuple[Tie, ...]
    kinds: tuple[tuple[str, int], ...]
    more: int  # how many are not drawn
    is_more_open: bool  # and there are still others
    drawn: rings.Rings
    more_at: float  # how far down


def page(asked: Asked, memory: Memory) -> View:
    """Reads the records around one."""
    hops = asked.number("hops", 1, least=1, most=2)
    include = tuple(each for each in INCLUDES if each in asked.many("include"))
    found = memory.graph.neighbours(asked.names["id"], hops=hops, include=include, limit=_COUNTED)
    main = _main(found, hops, include)
    words = [part for each in include for part in ("--include", each)]
    id = found.records[0].id
    python = asked.python(
        "graph.neighbours", id, hops=hops, include=list(include), limit=rings.NODES_MAX_COUNT
    )
    cli = asked.cli("graph", "show", id, "--hops", hops, *words)
    shown = {node.record.id for node in main.nodes}
    answer = Graph(
        records=tuple(node.record for node in main.nodes),
        links=tuple(link for link in found.links if {link.source, link.target} <= shown),
        more=found.more or main.more > 0,
    )
    title = found.records[0].key or id
    return View(title=f"Around {title}", main=main, answer=answer, calls=(asked.call(python, cli),))


def _main(found: Graph, hops: int, include: tuple[Include, ...]) -> Main:
    shown = found.records[: rings.NODES_MAX_COUNT]
    known = {record.id: record for record in shown}
    links = [each for each in found.links if each.source in known and each.target in known]
    drawn = rings.rings(list(known), [(each.source, each.target) for each in links])
    kinds = {kind: place for place, kind in enumerate(sorted({each.kind for each in links}))}
    at = drawn.at
    ties = tuple(
        Tie(
            link=links[line.place], line=line, style=kinds[links[line.place].kind] % _STYLES,
            source=known[links[line.place].source], target=known[links[line.place].target],
        )
        for line in drawn.lines
    )  # fmt: skip
    return Main(
        record=shown[0], hops=hops, include=include,
        nodes=tuple(Node(record=record, spot=at[record.id]) for record in shown),
        ties=ties, kinds=tuple((kind, place % _STYLES) for kind, place in kinds.items()),
        more=len(found.records) - len(shown), is_more_open=found.more, drawn=drawn,
        more_at=round(drawn.height + 14, 1),
    )  # fmt: skip
