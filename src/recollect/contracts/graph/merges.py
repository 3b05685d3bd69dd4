"""What merging a path does to a memory.

Responsible for where a path goes and for the acts of its merge. Leaves what a merge is to
``lifecycle.branches.branches`` and the events of paths to ``paths``. Invariants: it happens in one
command; a merge into an open path changes nothing but that path; without a person every change
needs what it would need without the path, and what a person once vouched for stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from msgspec import UNSET, structs

from recollect.contracts.graph.path_documents import PATH, branch_in, path_document
from recollect.contracts.graph.records import edge_acts, shown_version
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import MAIN, MemoryPath, PathDiff
from recollect.errors import Conflict, Forbidden, NotFound
from recollect.index.proposals import ProposalRow, unpack_spans
from recollect.index.reads import Reads
from recollect.index.rows import unpack_names, unpack_object
from recollect.lifecycle.branches.branch_names import changes_on, made_by, open_branch_known
from recollect.lifecycle.branches.branches import other_side
from recollect.lifecycle.commands import Act, SetDocument
from recollect.lifecycle.filed import FIELDS_OF_NEW, SUPERSEDE, is_stale
from recollect.lifecycle.settings.policy import require_at_once
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.handle import Handle, handle_of
from recollect.model.record_fields import RecordFields
from recollect.model.words import FORMER

_A_PERSON: Final = "a person merges it: open the store with trust='person'"
_FIELDS: Final = tuple(name for name in FIELDS_OF_NEW if name != "decay_tier")


class Settled(NamedTuple):
    """How the changes of a path are to be merged, by their ids."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    edits: Mapping[str, str]
    reason: str | None


def target_of(store: GraphStore, path: MemoryPath) -> str:
    """Where a path is merged: the nearest one above that goes on, or into which one was merged."""
    seen = {path.id}
    id = path.parent or MAIN
    while id != MAIN and id not in seen:
        seen.add(id)
        try:
            above = store.load_path(id)
        except NotFound:
            return MAIN
        if above.is_active:
            return id
        id = above.merged_into or above.parent or MAIN
    return MAIN


def own_events(store: GraphStore, path: MemoryPath) -> list[str]:
    """The events of a path that it did not start with."""
    try:
        before = store.load_path(path.parent or MAIN).events
    except NotFound:
        before = ()
    return [event for event in path.events if event not in before]


def merge_acts(
    store: GraphStore,
    path: MemoryPath,
    shown: PathDiff,
    settled: Settled,
) -> list[Act]:
    """The acts of a merge of what was shown; one command submits them."""
    handle, into, reason = handle_of(store.memory), shown.into, settled.reason
    close = handle.acts.close_branch(
        shown.branch.id,
        "merged",
        reason,
        digest=shown.of_nodes,
        ours=settled.ours,
        theirs=settled.theirs,
        edits=dict(settled.edits),
    )
    if into == MAIN and store.memory.scope.trust == "person":
        return [close, *_edge_acts(store, path, shown, settled)]
    ended = structs.replace(close, how="abandoned", reason=reason or f"merged into {into}")
    data = {**path_document(store.memory, path.id).data, "into": into}
    noted = SetDocument(type=PATH, name=path.id, data=data)
    if into != MAIN:
        other = branch_in(path_document(store.memory, into))
        return [structs.replace(ended, into=other), noted]
    made = _unreviewed(handle, shown, settled)
    return [*made, ended, noted, *_edge_acts(store, path, shown, settled)]


def _edge_acts(store: GraphStore, path: MemoryPath, shown: PathDiff, settled: Settled) -> list[Act]:
    """What adds the edges of a path, but for those whose new node is not taken."""
    dropped = {one.record for one in shown.changes if one.id in settled.ours and one.base is None}
    handle = handle_of(store.on(path.id).memory)
    found: list[Act] = []
    with handle.reading() as reads:
        for edge in shown.edges:
            ends = {edge.source, edge.target}
            if not ends & dropped and all(shown_version(handle, reads, end) for end in ends):
                found += edge_acts(handle, reads, edge)
    return found


def _unreviewed(handle: Handle, shown: PathDiff, settled: Settled) -> list[Act]:
    """The changes of a path as this actor could make them without it."""
    with handle.reading() as reads:
        branch = open_branch_known(reads, handle.actor, shown.branch.id)
        rows = [row for row in changes_on(reads, branch) if row.id not in settled.ours]
        for row in rows:
            _require_allowed(handle, reads, row)
        return [_act(handle.acts, row, settled.edits.get(row.id, row.text)) for row in rows]


def _require_allowed(handle: Handle, reads: Reads, row: ProposalRow) -> None:
    """Refuses a change that only a review can make."""
    side = other_side(reads, row)
    if side is not None and not may_alter(reads, handle.actor, side):
        raise Forbidden(f"a person vouched for {side.id!r}", hint=_A_PERSON)
    if is_stale(reads, row):
        raise Conflict(
            f"what {row.id} would change has changed since",
            hint="decide it with `ours`, or " + _A_PERSON,
        )
    if row.origin == "person" or unpack_spans(row.spans):
        raise Forbidden(f"{row.id} rests on what a person said or wrote", hint=_A_PERSON)
    if row.trust == "unverified":
        raise Forbidden(f"{row.id} rests on an unverified source", hint=_A_PERSON)
    adds = made_by(row) is not None
    require_at_once(
        reads,
        handle.actor,
        "delete" if row.intent == "delete" else "add" if adds else "update",
    )


def _act(make: Acts, row: ProposalRow, text: str | None) -> Act:
    """A change of a path, as an act on the memory."""
    target, changes = row.target or "", unpack_object(row.changes)
    if row.intent == "delete":
        return make.forget(
            target, "keep" if changes.get("sources") == "keep" else "hide", row.reason
        )
    evidence = unpack_names(row.evidence)
    expires: Any = changes.get("expires", UNSET)
    id = made_by(row)
    if id is None:
        data: Any = changes.get("data")
        return make.revise(
            target, text, reason=row.reason, evidence=evidence, data=data, expires=expires
        )
    fields: dict[str, Any] = {
        FORMER.get(name, name): changes[name] for name in _FIELDS if name in changes
    }
    fields |= {"id": id, "key": row.key, "kind": row.kind, "about": row.about}
    fields |= {"confidence": row.confidence, "evidence": evidence}
    if SUPERSEDE in changes:
        fields |= {"replaces": target, "tags": fields.get("tags") or None}
    made = make.remember(text or "", cast(RecordFields, fields), fresh=SUPERSEDE not in changes)
    tier = changes.get("decay_tier")
    return made if tier is None else structs.replace(made, decay_tier=tier)
