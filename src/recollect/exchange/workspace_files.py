"""A memory as the files of a graph workspace, which ``FileBackedMemoryGraphStore`` reads.

Responsible for which files there are. Leaves their names and bytes to ``exchange.workspace`` and
writing them to ``memory.exchange.exports``. Invariants: nodes and edges are streamed; no file
comes twice; paths, activations and events are what happened, and are not exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recollect.exchange import workspace as layout
from recollect.exchange.envelope import ABOUT, EDGE, PROFILE, edge, node, unnamed
from recollect.model.validate import Json
from recollect.model.values import Document, Link, Record


def workspace_files(
    records: Iterable[Record], links: Iterable[Link], documents: Iterable[Document]
) -> Iterator[tuple[str, bytes]]:
    """The paths of the files, each with its bytes: what holds now."""
    extras: dict[str, Document] = {}
    about: dict[str, Json] = {}
    for one in documents:
        if one.type == EDGE:
            extras[one.name] = one
        elif (one.type, one.name) == ABOUT:
            about = one.data
        elif one.type == PROFILE:
            yield _file("profile", {**one.data, "id": one.name})
    yield layout.HEAD, layout.head(about)
    for record in records:
        yield _file("node", node(record))
    named: set[str] = set()
    for link in links:
        made = edge(link, extras.get(link.name or ""))
        if link.name in named:  # two links may have one name
            made["id"] = unnamed(link.source, link.kind, link.target)
        elif link.name is not None:
            named.add(link.name)
        yield _file("edge", made)


def _file(kind: layout.Kind, given: dict[str, Json]) -> tuple[str, bytes]:
    name = layout.file_name(str(given["id"]))
    return f"{layout.FOLDERS[kind]}/{name}", layout.document(kind, given)
