"""Which commands an undo refuses to take back, and the next step for each.

Responsible for refusing what no act takes back and what was changed again since. Leaves which
command that is to ``undoing``. Invariant: a refusal never names a step that leads back to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from recollect.errors import Conflict
from recollect.index.reads import Reads
from recollect.index.rows import CommandRow, EventRow
from recollect.lifecycle.filed import LIVE
from recollect.model import events as e

_ERASED: Final = "events.erased"
_CHANGED_ALONE: Final = ("record", "episode", "frame", "document")  # whose events name them
KINDS: Final = tuple(
    kind
    for kind in e.KINDS
    if kind not in ("context.handed", "record.reinforced", "space.opened")
    and not kind.startswith(("ledger.", "rule.", "session.", "branch."))
)


def without_acts(seq: int, event: EventRow, changed: Sequence[EventRow]) -> Conflict:
    """Why there is nothing in the command of an event that an undo could take back."""
    if event.kind is None:
        return Conflict(
            f"event {seq} was erased, so it cannot be undone",
            hint="`recollect log` shows what is there",
        )
    if any(row.kind == "proposal.made" for row in changed):
        return Conflict(
            f"the proposal of event {seq} was decided, so it cannot be withdrawn",
            hint="name the record that it was about to undo its last change",
        )
    return Conflict(
        f"event {seq} is of a kind that cannot be undone",
        hint="`recollect log` shows what each event did",
    )


def require_undoable(events: Iterable[EventRow], what: str) -> None:
    """Refuses what no act takes back: an erasure, and a decision about a proposal."""
    for event in events:
        if event.kind == _ERASED:
            raise Conflict(
                f"{what} erased something, which cannot be undone",
                hint="name a record to undo its last change",
            )
        if event.unit == "proposal" and event.what != "made":
            raise Conflict(
                f"{what} decided a proposal, which cannot be undone",
                hint="name a record to undo its last change",
            )


def require_newest(
    reads: Reads, command: CommandRow, events: Iterable[EventRow], here: int
) -> None:
    """Refuses to undo a command if something that it changed was changed again since."""
    changed = ((str(event.kind).partition(".")[0], event.id) for event in events)
    for about, id in dict.fromkeys(changed):
        kinds = tuple(kind for kind in KINDS if kind.startswith(f"{about}."))
        if id is None or about not in _CHANGED_ALONE:
            continue
        later = reads.events(kinds=kinds, id=id, user=None, after=command.seq, before=None, limit=1)
        if later and later[0].seq <= here:
            raise Conflict(
                f"{id} was changed again by event {later[0].seq}",
                hint=_instead(reads, command, about, id),
            )
    linked = {row[:3] for row in reads.links_changed(command.first, command.seq)}
    since = (row for row in reads.links_changed(command.seq + 1, here) if row[:3] in linked)
    if row := next(since, None):
        raise Conflict(
            f"the link from {row.source} to {row.target} was changed again",
            hint="set or end that link as it should be",
        )


def _instead(reads: Reads, command: CommandRow, about: str, id: str) -> str:
    """The next step where a command cannot be undone; undoing the later one would lead back."""
    if about == "episode":
        return f"`undo` of {id} takes back its last change"
    if about != "record":
        return "set it again as it should be"
    then = Reads(reads.db, at=command.first - 1).version(id)
    if then is None or then.status not in LIVE:
        return f"`undo` of {id} with to= chooses a version, which `history` lists"
    return f"`undo` of {id} with to={then.seq} brings back what it was before that command"


def require_key(reads: Reads, command: CommandRow, ids: Sequence[str]) -> None:
    """Refuses to bring back a record whose key something else has got since."""
    before = Reads(reads.db, at=command.first - 1)
    for id in ids:
        now, then = reads.version(id), before.version(id)
        if not now or not then or not now.key or now.status in LIVE or then.status != "active":
            continue
        holder = reads.holder(now.key, now.user)
        if holder is not None and holder.seq > command.seq and holder.id not in ids:
            raise Conflict(
                f"the key {now.key!r} of {id} is held by {holder.id} now",
                hint=f"`undo` of {id} with to={then.seq} brings it back and replaces {holder.id}",
            )
