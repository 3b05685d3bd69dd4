"""What an import changes so that a memory has what another program's graph has.

Responsible for comparing nodes, edges and documents of a graph with what is here. Leaves storing to
``memory.exchange.imports`` and what an edge is to ``exchange.envelope``. Invariants: what was
changed or removed here since the last import stays; no edge takes the place of another.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from recollect.errors import Conflict
from recollect.exchange.envelope import EDGE, unnamed
from recollect.exchange.items import Item, LinkItem, RecordItem, SettingItem
from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, unpack_object
from recollect.lifecycle import commands as c
from recollect.memory.handle import acts
from recollect.model import validate
from recollect.model.validate import Json

_CHANGE: Final = re.compile(r"@\d+$")


def is_of_graph(item: Item) -> bool:
    """True if an item is compared with what is here before it becomes a command."""
    return (item.edge if isinstance(item, LinkItem) else getattr(item, "command", None)) is not None


def is_change(item: Item, command: c.Command) -> bool:
    """True if a command changes an edge or a document that an earlier import brought."""
    is_compared = is_of_graph(item) and not isinstance(item, RecordItem)
    return is_compared and _CHANGE.search(command.id) is not None


def as_here(reads: Reads, item: Item) -> Item:
    """A part of a graph under the ids, and with the name of a command, that it has here.

    An earlier release put the name of the graph before the ids of its nodes: what it imported keeps
    them.
    """
    if isinstance(item, RecordItem) and item.command and reads.has_version(item.command):
        return msgspec.structs.replace(item, id=item.command)
    if isinstance(item, SettingItem) and item.command is not None:
        row = reads.document(*item.id.split("/", 1))
        if row is not None and _is_by(reads, row.seq, item.command):
            return msgspec.structs.replace(item, command=f"{item.command}@{row.seq}")
        return item
    if not isinstance(item, LinkItem) or item.earlier is None:
        return item
    ends = zip((item.source, item.target), item.earlier, strict=True)
    source, target = (old if reads.has_version(old) else new for new, old in ends)
    is_plain = item.edge == unnamed(item.source, item.kind, item.target)
    edge = unnamed(source, item.kind, target) if is_plain else item.edge
    return msgspec.structs.replace(item, source=source, target=target, edge=edge)


def edge_command(reads: Reads, item: LinkItem, first: c.Command) -> c.Command | None:
    """The command after which the memory has an edge as it is there; None if nothing is to do.

    ``first`` has the id that all commands of this edge begin with.
    """
    is_plain = item.edge == unnamed(item.source, item.kind, item.target) and not item.data
    name = None if is_plain else validate.document(EDGE, str(item.edge))[1]
    link = reads.link(item.source, item.target, item.kind)
    row = None if name is None else reads.document(EDGE, name)
    wanted: dict[str, Json] = {"source": item.source, "target": item.target, "kind": item.kind}
    is_known = reads.command(first.id) is not None
    if link is None and is_known and (row is None or _ends(row) == tuple(wanted.values())):
        return None  # it was removed here
    made: list[c.Act] = []
    if link is None or (link.weight, link.name) != (item.weight, name):
        if link is not None and link.name not in (None, name):
            raise Conflict(f"its ends have another edge of this kind, {link.name!r}")
        if link is not None:
            _require_imported(reads, link.seq, item, first)
        new = acts.link(item.source, item.target, item.kind, item.weight, name)
        made.append(new if link is not None else msgspec.structs.replace(new, fresh=True))
    ends = tuple(wanted.values())
    wanted |= {"extra": item.data} if item.data else {}
    if name is not None and (row is None or unpack_object(row.data) != wanted):
        if row is not None:
            _require_imported(reads, row.seq, item, first)
            made = [*_moved(reads, row, ends), *made]
        made.append(c.SetDocument(type=EDGE, name=name, data=validate.data(wanted)))
    seq = max(0 if one is None else one.seq for one in (link, row))
    id = f"{first.id}@{seq}" if is_known else first.id
    return msgspec.structs.replace(first, id=id, acts=tuple(made)) if made else None


def _require_imported(reads: Reads, seq: int, item: LinkItem, first: c.Command) -> None:
    """Refuses to change what something else than an import of edges has written."""
    if not _is_by(reads, seq, first.id.rpartition("-")[0]):
        raise Conflict(f"the edge {item.edge!r} was changed here")


def _is_by(reads: Reads, seq: int, command: str) -> bool:
    """True if a command whose id begins like this wrote an event."""
    writer = reads.command_of(seq)
    return writer is not None and writer.id.startswith(command)


def _ends(row: DocumentRow) -> tuple[Json, ...]:
    """Between what a document says that its edge is."""
    said = unpack_object(row.data)
    return tuple(said.get(part) for part in ("source", "target", "kind"))


def _moved(reads: Reads, row: DocumentRow, ends: tuple[Json, ...]) -> list[c.Act]:
    """Takes an edge off the nodes that it was between, if it is between others now."""
    source, target, kind = map(str, _ends(row))
    if (source, target, kind) == ends or not all(map(validate.is_name, (source, target, kind))):
        return []
    link = reads.link(source, target, kind)
    return [acts.unlink(source, target, kind)] if link and link.name == row.name else []
