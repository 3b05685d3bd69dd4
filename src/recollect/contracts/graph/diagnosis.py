"""What of a graph store should be repaired.

Responsible for edges without a node, events about nothing, unknown schema versions and files that
differ. Leaves lines that could not be read to the event log, and the memory to its ``check``.
Invariants: nothing is changed; each finding says what to do.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.contracts.graph.replay import REMOVES, updates
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import MAIN
from recollect.exchange.envelope import PROFILE_SCHEMA
from recollect.model.values import Finding


def findings(store: GraphStore) -> list[Finding]:
    """Everything that is found; an empty list if there is nothing."""
    found = list(store.memory.admin.check())
    if any(one.what == "schema" for one in found):  # such a memory cannot be read
        return found
    found += _edges(store)
    found += store.events.diagnostics()
    found += _orphans(store)
    found += _profiles(store)
    return [*found, *store.audit.diagnostics(), *store.differing()]


def _edges(store: GraphStore) -> Iterator[Finding]:
    """Edges that were saved, and whose node is not there now."""
    nodes = {node.id for node in store.list_nodes()}
    for edge in store.edges_kept():
        missing = [end for end in (edge.source, edge.target) if end not in nodes]
        if missing:
            yield Finding(
                level="note",
                what="edges",
                detail=f"the edge {edge.id!r} lacks the node {missing[0]!r}",
                fix="save or restore the node, and the edge shows again",
            )


def _orphans(store: GraphStore) -> Iterator[Finding]:
    """Events that name a node, an edge or a path that is not there and was not removed later."""
    there = {
        "node": {node.id for node in store.list_nodes()},
        "edge": {edge.id for edge in store.list_edges()},
    }
    paths = {path.id for path in store.list_paths()} | {MAIN}
    events = store.events.list()
    for what, known in there.items():
        for event in events:
            for update in updates(event, what):
                if update.get("operation") in REMOVES:
                    known.add(str(update.get(f"{what}_id")))
    for event in events:
        missing = [
            f"{what} {update.get(f'{what}_id')!r}"
            for what, known in there.items()
            for update in updates(event, what)
            if update.get(f"{what}_id") not in known
        ]
        if "path" in event and event["path"] not in paths:
            missing.append(f"path {event['path']!r}")
        if missing:
            yield Finding(
                level="note",
                what="events",
                detail=f"the event {event['id']!r} is about the {missing[0]}, which is not there",
                fix="nothing has to be done. If it belongs here, save it, or replay the log",
            )


def _profiles(store: GraphStore) -> Iterator[Finding]:
    for profile in store.list_profiles():
        schema = profile.extra.get("schema_version", PROFILE_SCHEMA)
        if schema != PROFILE_SCHEMA:
            yield Finding(
                level="problem",
                what="schema",
                detail=f"the profile {profile.id!r} says {schema!r}, and this release knows "
                f"{PROFILE_SCHEMA!r}",
                fix="export it as that version, or update Recollect",
            )
