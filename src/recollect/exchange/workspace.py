"""The layout of a graph workspace: which file holds what, and its bytes.

Responsible for the names of files and for their JSON, as ``docs/format/workspace.md`` says, and for
which files a memory is. Leaves reading and writing files to its callers. Invariants: the same
object gives the same bytes; no id leads out of its folder, and two ids never have the same file;
nodes and edges are streamed; paths, activations and events are what happened, and not exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, Literal, get_args

import msgspec

from recollect.errors import InvalidInput, Unsupported
from recollect.exchange.envelope import ABOUT, EDGE, PROFILE, edge, node, unnamed
from recollect.model.validate import Json
from recollect.model.values import Document, Link, Record

Kind = Literal["profile", "node", "edge", "path", "activation"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FOLDERS: Final[dict[Kind, str]] = {
    "profile": "profiles",
    "node": "nodes",
    "edge": "edges",
    "path": "paths",
    "activation": "activations",
}
HEAD: Final = "workspace.json"
EVENTS: Final = "events.jsonl"
AUDIT: Final = "audit.jsonl"
ASIDE: Final = "aside"  # files of others, from where the memory's were wanted
SUFFIX: Final = ".json"
SCHEMA: Final = "recollect.workspace.v1"
SCHEMAS: Final[dict[Kind, str]] = {kind: f"recollect.{kind}.v1" for kind in KINDS}
EVENT_SCHEMA: Final = "recollect.event.v1"
AUDIT_SCHEMA: Final = "recollect.audit.v1"

_KEPT: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.@")
_NAME_MAX_CHARS: Final = 200  # file systems end at 255 bytes, and a file gets a suffix
_CUT_CHARS: Final = 120
_LINE: Final = msgspec.json.Encoder(order="sorted")


def file_name(id: str) -> str:
    """A file name for an id, in characters that every file system distinguishes.

    Other bytes are %-escaped, capitals too, because some file systems ignore case. A name that
    would be too long ends with a digest of its id.
    """
    escaped = "".join(chr(byte) if byte in _KEPT else f"%{byte:02x}" for byte in id.encode())
    if escaped.startswith("."):
        escaped = f"%2e{escaped[1:]}"
    if len(escaped) > _NAME_MAX_CHARS:
        escaped = f"{escaped[:_CUT_CHARS]}~{sha256(id.encode()).hexdigest()}"
    return escaped + SUFFIX


def document(kind: Kind, given: dict[str, Json]) -> bytes:
    """The bytes of one file."""
    return _pretty({"schema_version": SCHEMAS[kind], kind: given})


def head(graph: dict[str, Json]) -> bytes:
    """The bytes of ``workspace.json``, with what the graph says about itself."""
    files: dict[str, Json] = {FOLDERS[kind]: SCHEMAS[kind] for kind in KINDS}
    return _pretty(
        {
            "schema_version": SCHEMA,
            "graph": graph,
            "files": files | {EVENTS: EVENT_SCHEMA, AUDIT: AUDIT_SCHEMA},
        }
    )


def line(given: dict[str, Json]) -> bytes:
    """The bytes of one line of ``events.jsonl`` or ``audit.jsonl``."""
    return _LINE.encode(given) + b"\n"


def graph_in(raw: bytes, where: str) -> dict[str, Json]:
    """What a graph says about itself; refuses a workspace that this release does not know."""
    given = parse(raw, where)
    found, graph = given.get("schema_version"), given.get("graph")
    if found != SCHEMA:
        raise Unsupported(
            f"{where} says {found!r}, and this release knows {SCHEMA!r}",
            hint="update Recollect, or name another folder",
        )
    return graph if isinstance(graph, dict) else {}


def object_in(kind: Kind, raw: bytes, where: str) -> dict[str, Json]:
    """What one file holds."""
    given = parse(raw, where)
    if given.get("schema_version") != SCHEMAS[kind]:
        raise Unsupported(
            f"{where} says {given.get('schema_version')!r}, and this release knows "
            f"{SCHEMAS[kind]!r}",
            hint="update Recollect, or correct the file",
        )
    found = given.get(kind)
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} lacks {kind!r}, an object")
    return found


def parse(raw: bytes, where: str) -> dict[str, Json]:
    """A JSON object."""
    try:
        found: Json = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{where} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{where} is not a JSON object")
    return found


def _pretty(given: dict[str, Json]) -> bytes:
    return msgspec.json.format(_LINE.encode(given), indent=2) + b"\n"


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
    yield HEAD, head(about)
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


def _file(kind: Kind, given: dict[str, Json]) -> tuple[str, bytes]:
    name = file_name(str(given["id"]))
    return f"{FOLDERS[kind]}/{name}", document(kind, given)
