"""What a memory holds, as bytes in the formats of export.

Responsible for these formats. Leaves reading the memory and writing the file to
``memory.exchange.exports``. Invariants: everything is streamed, but for ``mcp-memory``, whose
lines each hold all that is known about one entity; the same state gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from recollect.exchange.envelope import envelope
from recollect.model.presets import Preset
from recollect.model.validate import Json
from recollect.model.values import Document, Episode, Graph, Link, Record

VERSION: Final = 1
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode
Line = dict[str, object]


class Whole(NamedTuple):
    """A memory at one position; each part is read when it is asked for."""

    space: str
    position: int
    records: Callable[[], Iterator[Record]]
    episodes: Callable[[], Iterator[Episode]]
    links: Callable[[], Iterator[Link]]
    presets: Callable[[], Iterator[Preset]]
    documents: Callable[[], Iterator[Document]]
    graph: Callable[[], Iterator[Graph]]  # what holds, page by page
    log: Sequence[dict[str, Json]] = ()  # events that are kept beside the memory


def ndjson(whole: Whole) -> Iterator[bytes]:
    """One object on each line, with what it is as its only key."""
    head = {"format": "recollect", "version": VERSION, "space": whole.space}
    yield _line({"export": head | {"position": whole.position}})
    for name, part in _parts(whole):
        for one in part():
            yield _line({name.removesuffix("s"): one})


def document(whole: Whole) -> Iterator[bytes]:
    """One JSON document with a list for each part."""
    yield b'{"format":"recollect","version":%d,' % VERSION
    yield b'"space":%s,"position":%d' % (_ENCODE(whole.space), whole.position)
    for name, part in _parts(whole):
        yield b',\n"%s":[' % name.encode()
        for number, one in enumerate(part()):
            yield b"%s\n%s" % (b"," if number else b"", _ENCODE(_plain(one)))
        yield b"]"
    yield b"}\n"


def graph(whole: Whole) -> Iterator[bytes]:
    """What holds now, in the node-link form of NetworkX and D3: records, then links."""
    head = {"format": "recollect-graph", "position": whole.position, "space": whole.space}
    yield b'{"directed":true,"multigraph":true,"graph":%s,\n"nodes":[' % _ENCODE(head)
    records = (record for page in whole.graph() for record in page.records)
    for number, record in enumerate(records):
        yield b"%s\n%s" % (b"," if number else b"", _ENCODE(_plain(record)))
    yield b'],\n"links":['
    links = (link for page in whole.graph() for link in page.links)
    for number, link in enumerate(links):
        key = {"key": link.kind}  # tells links between the same two records apart
        yield b"%s\n%s" % (b"," if number else b"", _ENCODE(_fields(link) | key))
    yield b"]}\n"


def mem0(whole: Whole) -> Iterator[bytes]:
    """What holds now, as mem0's ``get_all`` gives it."""
    yield b'{"results":['
    is_first = True
    for record in whole.records():
        if record.status == "active":
            yield b"%s\n%s" % (b"" if is_first else b",", _ENCODE(_memory(record)))
            is_first = False
    yield b"]}\n"


def mcp_memory(whole: Whole) -> Iterator[bytes]:
    """What holds now, as the file of MCP's memory server: what a record is about is an entity."""
    entities: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    about: dict[str, str] = {}
    relations: dict[tuple[str, str, str], None] = {}
    for record in whole.records():
        if record.status != "active":
            continue
        name = record.about or record.kind
        about[record.id] = name
        texts = entities.setdefault(name, [])
        relation = _relation(record)
        if relation is not None:
            relations[relation] = None
            entities.setdefault(relation[2], [])
        elif record.text == record.about:
            kinds[name] = str(record.data.get("type") or "")
        else:
            texts.append(record.text)
    for name, texts in sorted(entities.items()):
        kind = kinds.get(name) or "entity"
        yield _line(
            {"type": "entity", "name": name, "entityType": kind, "observations": texts[::-1]}
        )
    for link in whole.links():
        source, target = about.get(link.source), about.get(link.target)
        if source is not None and target is not None and source != target:
            relations[source, link.kind, target] = None
    for source, kind, target in relations:
        yield _line({"type": "relation", "from": source, "to": target, "relationType": kind})


def _relation(record: Record) -> tuple[str, str, str] | None:
    """What a record says that came from such a file as a relation."""
    parts = [record.data.get(name) for name in ("from", "relation", "to")]
    source, kind, target = (part if isinstance(part, str) else None for part in parts)
    if record.kind != "relation" or source is None or kind is None or target is None:
        return None
    return source, kind, target


def markitect(whole: Whole) -> Iterator[bytes]:
    """What holds now, as a graph envelope of Markitect."""
    records = (record for page in whole.graph() for record in page.records)
    links = (link for page in whole.graph() for link in page.links)
    return envelope(records, links, whole.documents(), whole.log)


WRITERS: Final[dict[str, Callable[[Whole], Iterator[bytes]]]] = {
    "ndjson": ndjson,
    "json": document,
    "graph": graph,
    "mem0": mem0,
    "mcp-memory": mcp_memory,
    "markitect": markitect,
}
COMPLETE: Final = frozenset({"ndjson", "json"})  # they have everything, and can be imported whole


def _parts(whole: Whole) -> Iterator[tuple[str, Callable[[], Iterator[object]]]]:
    for name in ("records", "episodes", "links", "presets", "documents"):
        yield name, getattr(whole, name)


def _line(given: Line) -> bytes:
    return _ENCODE({name: _plain(value) for name, value in given.items()}) + b"\n"


def _plain(value: object) -> object:
    """A value without its fields that have their default and say nothing."""
    return _fields(value) if isinstance(value, msgspec.Struct) else value


def _fields(value: msgspec.Struct) -> dict[str, object]:
    built: dict[str, object] = msgspec.to_builtins(value)
    return {name: part for name, part in built.items() if part not in (None, (), [], {})}


def _memory(record: Record) -> dict[str, Json]:
    scope = record.scope
    return {
        "id": record.id,
        "memory": record.text,
        "user_id": scope.user,
        "agent_id": scope.agent,
        "run_id": scope.session,
        "categories": list(record.tags),
        "metadata": dict(record.data),
        "created_at": record.said_at or record.at,
    }
