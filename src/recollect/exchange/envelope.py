"""A memory as a graph envelope of Markitect: ``markitect.memory.graph.v1``.

Responsible for its bytes, and for the documents that hold what neither a record nor a link does.
Leaves reading the memory to ``memory.exchange.exports``. Invariants: nodes and edges are
streamed; the same memory gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from recollect.model import policy
from recollect.model.validate import Json
from recollect.model.values import Document, Link, Record

SCHEMA: Final = "markitect.memory.graph.v1"
PROFILE_SCHEMA: Final = "markitect.memory.profile.v1"
PROFILE: Final = policy.PROFILE
EDGE: Final = "edge"  # the documents with the other fields of edges
EVENT: Final = "event"  # the documents with the events that an import brought
ABOUT: Final = ("graph", "envelope")  # the document with what a graph says about itself
BETWEEN: Final = "|"  # not in the id of a record, so the parts of such an id are known
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


def envelope(
    records: Iterable[Record],
    links: Iterable[Link],
    documents: Iterable[Document],
    log: Iterable[dict[str, Json]] = (),
) -> Iterator[bytes]:
    """What holds now: records as nodes, links as edges, and the events of a log and of imports."""
    types = (EDGE, EVENT, ABOUT[0])
    kept = {(one.type, one.name): one for one in documents if one.type in types}
    about = kept.get(ABOUT)
    head: dict[str, Json] = {} if about is None else about.data
    yield _ENCODE({**head, "schema_version": SCHEMA})[:-1] + b',\n"nodes":['
    for number, record in enumerate(records):
        yield b"%s\n%s" % (b"," if number else b"", _ENCODE(node(record)))
    yield b'],\n"edges":['
    for number, link in enumerate(links):
        made = edge(link, kept.get((EDGE, link.name or "")))
        yield b"%s\n%s" % (b"," if number else b"", _ENCODE(made))
    yield b"]"
    if events := with_brought(log, kept.values()):
        lines = b",".join(b"\n%s" % _ENCODE(event) for event in events)
        yield b',\n"events":[%s]' % lines
    yield b"}\n"


def with_brought(
    log: Iterable[dict[str, Json]], documents: Iterable[Document]
) -> list[dict[str, Json]]:
    """The events of a log, then those that only an import brought, in the order of their coming."""
    events = list(log)
    known = {event["id"] for event in events}
    brought = sorted((one for one in documents if one.type == EVENT), key=lambda one: one.seq)
    return events + [one.data for one in brought if one.name not in known]


def unnamed(source: str, kind: str, target: str) -> str:
    """The id of an edge whose link has no name."""
    return BETWEEN.join((source, kind, target))


def node(record: Record) -> dict[str, Json]:
    """A record as a node."""
    return {**record.data, "id": record.id, "kind": record.kind, "text": record.text}


def edge(link: Link, document: Document | None) -> dict[str, Json]:
    """A link as an edge, with the fields that its document has."""
    extra = None if document is None else document.data.get("extra")
    made: dict[str, Json] = dict(extra) if isinstance(extra, dict) else {}
    made |= {"kind": link.kind, "source": link.source, "target": link.target}
    made["id"] = link.name or unnamed(link.source, link.kind, link.target)
    return made if link.weight == 1.0 else made | {"weight": link.weight}
