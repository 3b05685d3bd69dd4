"""Nodes, edges and activations as what a memory holds, and back.

Responsible for the acts that a node or an edge becomes. Leaves submitting them to ``store``.
Invariants: an id is taken as it is, never as the beginning of another or as a key; a node that says
the same as another is a node of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, structs

from recollect.contracts.graph.values import Activation, Edge, Node
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.exchange.envelope import BETWEEN, EDGE, unnamed
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, unpack_object
from recollect.index.values import link_of, record_of
from recollect.lifecycle.commands import Act, SetDocument
from recollect.memory.handle import acts
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import Link, Receipt, Record

ACTIVATION: Final = "activation"  # the documents with what another memory handed out


def shown_version(handle: Handle, reads: Reads, id: str) -> VersionRow | None:
    """The record with exactly this id, if a default read shows it."""
    try:
        row = reads.version(validate.identifier(id))
    except InvalidInput:
        return None
    return row if row is not None and is_shown(handle, row) else None


def is_shown(handle: Handle, row: VersionRow) -> bool:
    """True if a default read shows a record."""
    return handle.may_see(row) and handle.why_hidden(row) is None


def node_from(record: Record) -> Node:
    """A record as a node."""
    return Node(id=record.id, kind=record.kind, text=record.text, extra=dict(record.data))


def node_acts(handle: Handle, reads: Reads, node: Node) -> list[Act]:
    """What is done to the memory so that it has this node."""
    kind, data = validate.name(node.kind, "the kind of a node"), validate.data(node.extra)
    row = reads.version(validate.identifier(node.id))
    if row is None:
        new = handle.acts.remember(node.text, {"id": node.id, "kind": kind, "data": data})
        return [structs.replace(new, fresh=True)]
    known = node_from(record_of(row))
    if known.kind != kind:
        raise Conflict(
            f"the node {node.id!r} is a {known.kind}", hint="a node keeps its kind; use another id"
        )
    back = _back(handle, row)
    if (known.text, known.extra) == (node.text, data):
        return back
    revise = handle.acts.revise(
        node.id, node.text, reason=None, evidence=(), data=data, expires=UNSET
    )
    return [*back, revise]


def _back(handle: Handle, row: VersionRow) -> list[Act]:
    """What brings a record back that is hidden; one that saving cannot bring back is refused."""
    hidden = handle.why_hidden(row)
    if hidden in ("waiting", "expired") and handle.actor.trust != "unverified":
        raise Conflict(
            f"the node {row.id!r} is {hidden}",
            hint="`recollect review` shows what waits; save what expired under another id",
        )
    return [acts.restore(row.id)] if hidden in ("forgotten", "archived", "replaced") else []


def edge_acts(handle: Handle, reads: Reads, edge: Edge) -> list[Act]:
    """What is done to the memory so that it has this edge."""
    kind = validate.name(edge.kind, "the kind of an edge")
    is_unnamed = edge.id == unnamed(edge.source, kind, edge.target) and not edge.extra
    id = edge.id if is_unnamed else validate.document(EDGE, edge.id)[1]
    for end in (edge.source, edge.target):
        if shown_version(handle, reads, end) is None:
            raise NotFound(f"the edge {id!r} lacks the node {end!r}", hint="save the node first")
    link = reads.link(edge.source, edge.target, kind)
    name = None if is_unnamed else id
    if link is not None and link.name not in (None, name):
        raise Conflict(
            f"{edge.source!r} and {edge.target!r} have the edge {link.name!r} of this kind",
            hint="use its id, or another kind",
        )
    made: list[Act] = []
    old = _ends(reads, id)
    if old not in (None, (edge.source, edge.target, kind)) and _has_name(reads, old, id):
        made.append(acts.unlink(*old))
    if link is None or (link.name, link.weight) != (name, edge.weight):
        new = acts.link(edge.source, edge.target, kind, edge.weight, name)
        made.append(new if link is not None else structs.replace(new, fresh=True))
    if is_unnamed:
        return made
    data: dict[str, Json] = {"source": edge.source, "target": edge.target, "kind": kind}
    data |= {"extra": edge.extra} if edge.extra else {}
    return [*made, SetDocument(type=EDGE, name=id, data=validate.data(data, "an edge"))]


def edge_from(reads: Reads, link: Link) -> Edge:
    """A link as an edge, with the fields that its document has."""
    ends = (link.source, link.target, link.kind)
    id = link.name or unnamed(link.source, link.kind, link.target)
    row = reads.document(EDGE, link.name) if link.name and _ends(reads, link.name) == ends else None
    extra = unpack_object(row.data).get("extra") if row is not None else None
    return Edge(
        id=id,
        source=link.source,
        target=link.target,
        kind=link.kind,
        weight=link.weight,
        extra=extra if isinstance(extra, dict) else {},
    )


def edge_at(handle: Handle, reads: Reads, id: str) -> Edge | None:
    """The edge with an id, found by its document or by the parts of the id."""
    ends = _ends(reads, id) or _parts(id)
    if ends is not None and not all(map(validate.is_name, ends)):
        return None
    row = None if ends is None else reads.link(*ends)
    if row is None or row.trust == "unverified":
        return None
    if any(shown_version(handle, reads, end) is None for end in (row.source, row.target)):
        return None
    edge = edge_from(reads, link_of(row))
    return edge if edge.id == id else None


def _ends(reads: Reads, id: str) -> tuple[str, str, str] | None:
    """Source, target and kind of an edge, as its document says."""
    row = reads.document(EDGE, id) if validate.is_document(EDGE, id) else None
    if row is None:
        return None
    data = unpack_object(row.data)
    return str(data.get("source")), str(data.get("target")), str(data.get("kind"))


def _parts(id: str) -> tuple[str, str, str] | None:
    """Source, target and kind in the id of a link without a name."""
    source, _, rest = id.partition(BETWEEN)
    kind, _, target = rest.rpartition(BETWEEN)
    return (source, target, kind) if kind else None


def _has_name(reads: Reads, ends: tuple[str, str, str], name: str) -> bool:
    row = reads.link(*ends)
    return row is not None and row.name == name


def activation_of(receipt: Receipt) -> Activation:
    """A receipt as an activation; what was erased since is left out."""
    return Activation(
        id=receipt.id,
        at=receipt.at,
        nodes=tuple(item.id for item in receipt.items if item.id and item.unit == "record"),
        tokens=receipt.tokens,
        max_tokens=receipt.budget,
    )


def activation_from(given: Mapping[str, Json]) -> Activation:
    """An activation from its object."""
    try:
        return msgspec.convert(dict(given), Activation)
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidInput(
            f"{validate.shown(dict(given))} is not an activation: {error}"
        ) from error
