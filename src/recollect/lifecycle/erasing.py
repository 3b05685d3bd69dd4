"""Erasing: which events go.

Responsible for naming every event about a subject and about the sources that only it has. Leaves
removing their bytes to the engines. Invariant: only a person erases.
"""

from __future__ import annotations

from recollect.errors import Forbidden, NotFound
from recollect.index.rows import EpisodeRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import (
    View,
    known_record,
    no_frame,
    require_everybody,
    stamped,
    visible,
)
from recollect.model import events as e
from recollect.model.rules import may_erase


def erase(view: View, actor: c.Actor, act: c.Erase) -> list[e.AnyBody]:
    if not may_erase(actor.trust):
        raise Forbidden(
            "erasing cannot be undone, so it needs a person",
            hint="forget takes it out of reads and can be undone",
        )
    targets = _events_to_erase(view, actor, act)
    if act.sources and act.what == "memory":
        for source in own_sources(view, act.id):
            targets.update(view.events_about(source))
    body = e.EventsErased(targets=tuple(sorted(targets)), reason=act.reason)
    return [stamped(actor, body)]


def _events_to_erase(view: View, actor: c.Actor, act: c.Erase) -> set[int]:
    """Every event about one subject."""
    if act.what == "receipt":
        receipt = view.receipt(act.id)
        if receipt is None or not visible(actor, receipt):
            raise NotFound(f"no receipt {act.id!r}", hint="`receipts.list()` shows what there is")
        return {receipt.seq}
    if act.what == "frame":
        require_everybody(actor)
        seqs = view.events_about_frame(act.id)
        if not seqs:
            raise no_frame(act.id)
        return set(seqs)
    episode = view.episode(act.id)
    if episode is None or not visible(actor, episode):
        known_record(view, actor, act.id)
    return set(view.events_about(act.id))


def own_sources(view: View, id: str) -> list[str]:
    """The episodes that are evidence for this record and for no other."""
    sources = sources_of(view, id)
    return [one.id for one in sources if all(row.id == id for row in view.evidence_for(one))]


def sources_of(view: View, id: str) -> list[EpisodeRow]:
    """The episodes that any version of this record rests on."""
    named = (view.episode(name) for name in view.evidence_of(id))
    return [one for one in named if one and view.has_rested(id, one)]
