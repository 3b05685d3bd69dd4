"""A memory as a graph envelope of Markitect: ``markitect.memory.graph.v1``.

Responsible for its bytes. Leaves reading the memory to ``memory.exporting``. Invariants: nodes and
edges are streamed; the same memory gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from recollect.model.validate import Json
from recollect.model.values import Document, Link, Record

SCHEMA: Final = "markitect.memory.graph.v1"
EDGE: Final = "edge"  # the documents with the other fields of edges
ABOUT: Final = ("graph", "envelope")  # the document with what a graph says about itself
BETWEEN: Final = "|"  # not in the id of a record, so the parts of such an id are known
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


def envelope(
    records: Iterable[Record], links: Iterable[Link], documents: Iterable[Document]
) -> Iterator[bytes]:
    """What holds now: records as nodes, links as edges."""
    kept = {(one.type, one.name): one for one in documents if one.type in (EDGE, ABOUT[0])}
    about = kept.get(ABOUT)
    head: dict[str, Json] = {} if about is None else about.data
    yield _ENCODE({**head, "schema_version": SCHEMA})[:-1] + b',\n"nodes":['
    for number, record in enumerate(records):
        yield b"%s\n%s" % (b"," if number else b"", _ENCODE(node(record)))
    yield b'],\n"edges":['
    for number, link in enumerate(links):
        made = edge(link, kept.get((EDGE, link.name or "")))
        yield b"%s\n%s" % (b"," if number else b"", _ENCODE(made))
    yield b"]}\n"


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
