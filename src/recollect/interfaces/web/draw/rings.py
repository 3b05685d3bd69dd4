"""A graph around one record, as rings: where each node stands and where each line runs.

Responsible for places alone. Leaves shapes, line styles and words to a template. Invariants: the
same graph gives the same drawing; a node has a part of the circle to itself, in which the nodes
behind it stand; every ring is wide enough for its labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import cos, degrees, pi, sin
from typing import Final

import msgspec

NODES_MAX_COUNT: Final = 120
_RADIUS_MIN: Final = 150.0
_RING_MIN: Final = 190.0  # between two rings: room for a label along its spoke
_RING_LEVEL: Final = 110.0  # the same where labels stand level
_NODE_ROOM: Final = 20.0  # along the circle
_LEVEL_MAX_COUNT: Final = 12  # so many labels can stand level; more turn along their spokes
LABEL_ROOM: Final = 200.0
_NODE_SIZE: Final = 26.0


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node stands; its label starts there, or ends there on the left half."""

    id: str
    ring: int
    x: float
    y: float
    turn: float  # of its label, in degrees
    is_left: bool


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Where a link runs: straight, or bent towards the middle if both ends are on one ring."""

    place: int  # of the link in the list that was given
    x1: float
    y1: float
    x2: float
    y2: float
    cx: float
    cy: float


class Rings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole drawing, around 0, 0."""

    spots: tuple[Spot, ...]
    lines: tuple[Line, ...]
    radii: tuple[float, ...]
    width: float  # from the middle to the left and the right
    height: float  # and up and down

    @property
    def at(self) -> Mapping[str, Spot]:
        """The spot of each id."""
        return {spot.id: spot for spot in self.spots}


def rings(ids: Sequence[str], links: Sequence[tuple[str, str]]) -> Rings:
    """Lays out nodes, of which the first is the middle, nearest first."""
    parents = _parents(ids, links)
    children: dict[str, list[str]] = {id: [] for id in ids}
    for id, parent in parents.items():
        children[parent].append(id)
    spans = _spans(ids[0], children) if ids else {}
    depth = _depths(ids, parents)
    radii = _radii(ids, depth, spans)
    counts = [sum(1 for id in ids if depth[id] == ring) for ring in range(len(radii))]
    spots = tuple(_spot(id, depth[id], _middle(spans[id]), radii, counts[depth[id]]) for id in ids)
    at = {spot.id: spot for spot in spots}
    drawn = tuple(
        _line(place, at[a], at[b]) for place, (a, b) in enumerate(links) if a in at and b in at
    )
    last = radii[-1] if radii else 0.0
    is_turned = any(spot.turn for spot in spots if spot.ring == len(radii) - 1)
    return Rings(
        spots=spots,
        lines=drawn,
        radii=tuple(radii[1:]),
        width=last + LABEL_ROOM,
        height=last + (LABEL_ROOM if is_turned else _NODE_SIZE),
    )


def _parents(ids: Sequence[str], links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The node through which each was reached first; one that no link reaches hangs at the middle.

    The ids come nearest first, so one pass over the rings is enough.
    """
    near: dict[str, list[str]] = {id: [] for id in ids}
    for a, b in links:
        if a in near and b in near and a != b:
            near[a].append(b)
            near[b].append(a)
    order = {id: place for place, id in enumerate(ids)}
    parents: dict[str, str] = {}
    reached = list(ids[:1])
    for id in reached:
        for other in sorted(near[id], key=lambda each: order[each]):
            if other != ids[0] and other not in parents:
                parents[other] = id
                reached.append(other)
    return parents | {id: ids[0] for id in ids[1:] if id not in parents}


def _depths(ids: Sequence[str], parents: Mapping[str, str]) -> dict[str, int]:
    depth = dict.fromkeys(ids[:1], 0)

    def of(id: str) -> int:
        if id not in depth:
            depth[id] = of(parents[id]) + 1
        return depth[id]

    return {id: of(id) for id in ids}


def _spans(root: str, children: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    """The part of the circle that each node has: as much as the leaves behind it need."""
    leaves: dict[str, int] = {}

    def count(id: str) -> int:
        leaves[id] = max(1, sum(count(child) for child in children[id]))
        return leaves[id]

    count(root)
    spans = {root: (0.0, 2 * pi)}
    waiting = [root]
    for id in waiting:
        start, end = spans[id]
        for child in children[id]:
            share = (end - start) if leaves[id] == 0 else leaves[child] / leaves[id]
            width = (spans[id][1] - spans[id][0]) * share
            spans[child] = (start, start + width)
            start += width
            waiting.append(child)
    return spans


def _middle(span: tuple[float, float]) -> float:
    """The first node stands at the right, the others follow clockwise."""
    return (span[0] + span[1]) / 2 - pi / 2


def _radii(
    ids: Sequence[str], depth: Mapping[str, int], spans: Mapping[str, tuple[float, float]]
) -> list[float]:
    """A ring is as wide as its narrowest node asks for."""
    radii = [0.0] if ids else []
    for ring in range(1, max(depth.values(), default=0) + 1):
        narrow = min(spans[id][1] - spans[id][0] for id in ids if depth[id] == ring)
        needed = _NODE_ROOM / narrow
        inner = sum(1 for id in ids if depth[id] == ring - 1)
        gap = _RING_LEVEL if inner <= _LEVEL_MAX_COUNT else _RING_MIN
        least = _RADIUS_MIN if ring == 1 else radii[-1] + gap
        radii.append(round(max(least, needed), 1))
    return radii


def _spot(id: str, ring: int, angle: float, radii: Sequence[float], count: int) -> Spot:
    radius = radii[ring]
    is_left = ring > 0 and cos(angle) < -1e-9
    turned = degrees(angle) - (180 if is_left else 0)
    is_level = count <= _LEVEL_MAX_COUNT
    return Spot(
        id=id,
        ring=ring,
        x=round(radius * cos(angle), 1),
        y=round(radius * sin(angle), 1),
        turn=0.0 if is_level or not ring else round(turned, 1),
        is_left=is_left,
    )


def _line(place: int, a: Spot, b: Spot) -> Line:
    bend = 0.55 if a.ring == b.ring and a.ring else 1.0
    return Line(
        place=place, x1=a.x, y1=a.y, x2=b.x, y2=b.y,
        cx=round((a.x + b.x) / 2 * bend, 1), cy=round((a.y + b.y) / 2 * bend, 1),
    )  # fmt: skip
