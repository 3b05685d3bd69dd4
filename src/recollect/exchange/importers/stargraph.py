"""The episodes of stargraph's SQLite store.

Responsible for the rows of its one table, as ``contracts.episodic`` stores them. Leaves reading the
file to ``databases`` and storing to ``memory.exchange.imports``. Invariants: an episode keeps its
id and its scope, or is reported; a row that cannot be read is reported.

A row has ``id``, ``scope_key``, ``content`` (JSON with ``content``, ``agent``, ``user`` and
``session``), ``timestamp`` and ``metadata`` (JSON).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.given import Given
from recollect.exchange.importers import databases
from recollect.exchange.importers.databases import HEADER, Database, Row
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Altered,
    EpisodeItem,
    Found,
    Source,
    Trouble,
    name_of,
    named,
    object_of,
)
from recollect.model.validate import Json

FORMAT: Final = "stargraph"
KEY: Final = "episodic"  # of an episode's metadata: what it has no field for
_SCOPE: Final = ("user", "session", "agent")
_TABLE: Final = "episodes"


def recognizes(name: str, head: bytes) -> bool:
    """True if a file is such a database."""
    return head.startswith(HEADER) and b"scope_key" in head


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The episodes of a database."""
    return databases.read(sources, _items)


def _items(name: str, database: Database) -> Iterator[Found]:
    if _TABLE not in map(str.lower, database.tables):
        yield Trouble(where=name, why="it has no table of episodes")
        return
    for other in sorted(set(map(str.lower, database.tables)) - {_TABLE}):
        yield Altered(where=f"{name}, table {name_of(other)}", why="it is not read")
    for row in database.rows(_TABLE, FORMAT):
        yield from _episode(name, row)
    if database.not_utf8:
        why = f"not UTF-8: \ufffd stands for what is not ({database.not_utf8:,})"
        yield Altered(where=f"{name}, texts", why=why)


def _episode(name: str, row: Row) -> Iterator[Found]:
    columns = Given(f"{name}, {name_of(row.get('id'))}", row)
    id, scope = columns.get("id"), columns.get("scope_key")
    content = _object(columns, "content")
    fields = Given(columns.where, content)
    text = fields.get("content")
    if not isinstance(text, str) or not text.strip():
        yield Trouble(where=columns.where, why="an episode without content")
        return
    user, session, agent = names = [name_of(fields.get(part)) for part in _SCOPE]
    said = [fields.get(part) for part in _SCOPE]
    if names != [None if one == "" else one for one in said]:  # it would be of another scope
        why = "its user, session or agent is not a name as it stands"
        yield Trouble(where=columns.where, why=why)
        return
    if storable(text) != text:
        fields.note("content", "characters that cannot be stored; \ufffd stands for them")
    if scope not in (None, *_keys([part or "" for part in names])):
        columns.note("scope_key", "its user, session and agent are those of the content")
    if agent is None:
        columns.note("agent", f"there is none, so it is {FORMAT!r}")
    own = _own(fields)
    item = EpisodeItem(
        id=columns.id("id", FORMAT) if isinstance(id, str) else named(FORMAT, scope, id),
        name=named(FORMAT, scope, id),
        text=storable(text),
        where=columns.where,
        role="assistant",  # what a node of a graph tells
        said_at=columns.moment("timestamp"),
        metadata=_metadata(columns) | ({KEY: own} if own else {}),
        user=user,
        session=session,
        agent=agent,
    )
    yield from columns.changes()
    yield from fields.changes()
    yield item


def _own(fields: Given) -> dict[str, Json]:
    """What a memory has no field for."""
    node = fields.get("source_node")
    if isinstance(node, str):
        if storable(node) != node:
            fields.note("source_node", "characters that cannot be stored; \ufffd stands for them")
        return {"source_node": storable(node)}
    if node is not None:
        fields.note("source_node", "it is not a text")
    return {}


def _metadata(columns: Given) -> dict[str, Json]:
    inner = Given(columns.where, {"metadata": _object(columns, "metadata")})
    found = inner.data("metadata", KEY)
    columns.add(inner)
    return found


def _object(columns: Given, column: str) -> dict[str, object]:
    """The JSON object of a column; empty if there is none."""
    value = columns.get(column)
    found = object_of(_bytes(value))
    if found is None and _bytes(value).strip() not in (b"", b"null"):
        columns.note(column, "it is not a JSON object")
    return found or {}


def _keys(names: list[str]) -> Iterator[str]:
    """How a scope is written: as it stands, or with escaped slashes; a slash may end it."""
    escaped = [name.replace("%", "%25").replace("/", "%2F") for name in names]
    for user, session, agent in (names, escaped):
        key = f"/user/{user}/session/{session}/agent/{agent}"
        yield from (key, f"{key}/")


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return value if isinstance(value, bytes) else b""
