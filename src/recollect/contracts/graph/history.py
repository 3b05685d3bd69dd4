"""What the ledger of a memory says of nodes and edges, as events of a log.

Responsible for telling each version of a node, and each edge that holds, at the position where it
began. Leaves what events lead to to ``replay``. Invariants: replaying them gives the nodes and
edges that a store lists; what was erased is not in them; nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from recollect.contracts.graph.records import edge_from, is_shown, node_from
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.values import record_of
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle, handle_of
from recollect.model.validate import Json
from recollect.model.values import Link

_PAGE: Final = 1_000
_STATUSES: Final = ("active", "inbox", "held", "archived", "forgotten")


def history(memory: Memory, links: Iterable[Link]) -> Iterator[dict[str, Json]]:
    """The events of every node and of these links, in the order of the ledger."""
    handle, known = handle_of(memory), list(links)
    with handle.reading() as reads:
        told = [one for id in _nodes(handle, reads) for one in _versions(handle, reads, id)]
        told += [_edge(reads, link) for link in known]
    for seq, what, update in sorted(told, key=lambda one: one[0]):
        yield {"id": f"ledger:{seq}", "kind": "recorded", f"{what}_updates": [update]}


def _nodes(handle: Handle, reads: Reads) -> Iterator[str]:
    before = NOW
    while rows := reads.listing(_STATUSES, handle.actor.user, before, _PAGE):
        yield from (row.id for row in rows if handle.may_see(row))
        before = rows[-1].seq


def _versions(handle: Handle, reads: Reads, id: str) -> Iterator[tuple[int, str, Json]]:
    """A node as it was from one event to the next; the last one as it is now."""
    rows = reads.versions(id)
    for number, row in enumerate(rows, start=1):
        is_last = number == len(rows)
        update: dict[str, Json] = {"node_id": id, "operation": "forget"}
        if is_shown(handle, row) if is_last else row.status == "active":
            operation = "create" if number == 1 else "update"
            update |= {"operation": operation, "node": node_from(record_of(row)).to_dict()}
        yield row.seq, "node", update


def _edge(reads: Reads, link: Link) -> tuple[int, str, Json]:
    edge = edge_from(reads, link)
    update: dict[str, Json] = {"edge_id": edge.id, "operation": "create", "edge": edge.to_dict()}
    return link.seq, "edge", update
