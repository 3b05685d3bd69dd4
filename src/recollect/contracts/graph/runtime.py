"""``PhaseMemoryRuntime``: export, diagnose, and apply what was approved.

Responsible for finding what should be repaired, for applying actions and for their audit records.
Leaves what needs an approval to ``gate``, lines that could not be read to the event log, and the
changes to the store and its paths. Invariants: an action that needs a review is
not applied without an approval of exactly these actions; every action leaves an audit record of its
outcome; nothing is applied before a record says durably that it was started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from recollect.contracts.graph import endings
from recollect.contracts.graph.gate import digest_of, gate_in, needs_approval, why_not
from recollect.contracts.graph.replay import REMOVES, updates
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.stored_graph import keep_nodes
from recollect.contracts.graph.values import MAIN, Action, Applied, Approval, action_of
from recollect.errors import InvalidInput, RecollectError
from recollect.exchange.envelope import PROFILE_SCHEMA
from recollect.lifecycle.commands import Restore
from recollect.memory.handle.handle import handle_of
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import Finding


class PhaseMemoryRuntime:
    """What a program does with a store: look, export, and apply lifecycle actions."""

    def __init__(self, store: GraphStore) -> None:
        """Over a store, with its event log and its audit sink."""
        self.store = store

    def export_graph(self) -> dict[str, Json]:
        """The state of the store as a graph envelope."""
        return self.store.export_graph()

    def diagnostics(self) -> list[Finding]:
        """What should be repaired, each with what to do; nothing is changed."""
        return findings(self.store)

    def needs_review(self, action: Action) -> bool:
        """True if an action is applied only with an approval.

        All do if a profile in the store says ``durable_writes: review-gated``.
        """
        return needs_approval(action, self._gate())

    def _gate(self) -> str | None:
        return gate_in(self.store.list_profiles())

    def apply(
        self,
        actions: Iterable[Action | Mapping[str, Json]],
        *,
        approval: Approval | None = None,
    ) -> list[Applied]:
        """Apply lifecycle actions, in order.

        Those that need a review are denied, unless ``approval`` is of exactly these actions:
        ``Approval(by=…, digest=digest_of(actions))``. One that fails does not stop the others. The
        audit log has the outcome of each, and ``started`` before each that is not denied.

        Raises:
            Unavailable: The audit log cannot be written. Then the action is not begun; if its last
                record says ``started``, the memory tells whether it was applied.
        """
        every = [action_of(action) for action in actions]
        digest = digest_of(every)
        lacking = why_not(approval, every)
        gate = self._gate()
        return [self._applied(action, digest, approval, lacking, gate) for action in every]

    def _applied(
        self,
        action: Action,
        digest: str,
        approval: Approval | None,
        lacking: str | None,
        gate: str | None,
    ) -> Applied:
        by = approval.by if approval is not None and lacking is None else None
        if lacking is not None and needs_approval(action, gate):
            done = Applied(action=action, outcome="denied", detail=lacking)
        else:
            self._record(action, "started", None, by, digest)
            done = self._tried(action)
        self._record(action, done.outcome, done.detail, by, digest)
        return done

    def _record(
        self, action: Action, outcome: str, detail: str | None, by: str | None, digest: str
    ) -> None:
        """Writes an audit record; it is durable on return, or nothing more is applied."""
        self.store.audit.write(
            {
                "at": handle_of(self.store.memory).seam.now(),
                "action": action.kind,
                "subject": action.subject,
                "outcome": outcome,
                "detail": detail,
                "approved_by": by,
                "digest": digest,
            }
        )

    def _tried(self, action: Action) -> Applied:
        try:
            detail = self._do(action)
        except RecollectError as error:
            return Applied(action=action, outcome="failed", detail=str(error))
        return Applied(action=action, outcome="applied", detail=detail)

    def _do(self, action: Action) -> str:
        store, id = self.store, action.subject
        if action.kind == "merge":
            endings.merged(store, id, _needed(action, "digest"), reason=action.reason)
        elif action.kind == "abandon":
            endings.abandoned(store, id, action.reason or "")
        elif action.kind == "compact":
            endings.compacted(store, id, _needed(action, "text"), action.reason)
        elif left := self._do_node(action):
            how = "NOT removed" if action.kind == "erase" else "left as it was"
            return f"{action.kind} {id}; {how}: {', '.join(left)}"
        return f"{action.kind} {id}"

    def _do_node(self, action: Action) -> list[str]:
        """Changes a node; returns the files that still show something else."""
        memory, id = self.store.memory, validate.identifier(action.subject)
        if action.kind != "restore":
            id = self.store.load_node(id).id
        if action.kind == "revise":
            node = self.store.load_node(id)
            changed = msgspec.structs.replace(node, text=_needed(action, "text"))
            keep_nodes(self.store, [changed])
        elif action.kind == "forget":
            done = memory.forget(id, reason=action.reason)
            if done.pending is not None:
                raise InvalidInput(
                    f"forgetting {id!r} waits for a person", hint="`recollect review` shows it"
                )
        elif action.kind == "restore":
            memory.events.submit(Restore(id=id))
        else:
            memory.erase(id, reason=action.reason)
        return self.store.wrote("node", [id], erased=action.kind == "erase")


def _needed(action: Action, field: str) -> str:
    value = getattr(action, field)
    if not isinstance(value, str):
        raise InvalidInput(f"{action.kind} needs {field!r}, a text")
    return value


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
