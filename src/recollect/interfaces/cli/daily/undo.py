"""The command that takes something back.

Responsible for showing what would be taken back and asking. Leaves the work to ``Memory``.
Invariants: nothing is undone unless a person confirms, but for what brings back something that is
gone; what is undone is what was shown; a run that changed nothing says so and exits with 1.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Final, TypeAlias

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.daily import both
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Change, Undone

MaybeId = Annotated[
    str | None,
    Argument(
        metavar="[ID]",
        help="A record or an episode: its id, the beginning of it, or a key.",
    ),
]
To = Annotated[
    str | None,
    Option(
        metavar="SEQ|WHEN",
        help="Of ID: what held then, by a version of `show` or an instant.",
    ),
]
Event = Annotated[
    int | None,
    Option("--event", metavar="SEQ", help="The command that wrote this event.", min=1),
]
What: TypeAlias = str | int | None
Then: TypeAlias = int | datetime | str | None
_GONE: Final = ("forgotten", "archived", "replaced")
_DID: Final = {
    "author.named": "named",
    "record.added": "remembered",
    "record.revised": "revised",
    "record.superseded": "replaced",
    "record.forgotten": "forgot",
    "record.archived": "archived",
    "record.restored": "restored",
    "record.tagged": "tagged",
    "record.vouched": "vouched for",
    "record.reviewed": "reviewed",
    "episode.observed": "observed",
    "episode.forgotten": "forgot",
    "episode.restored": "restored",
    "lineage.retracted": "retracted what was derived from something",
    "link.added": "linked",
    "link.removed": "unlinked",
    "frame.set": "set the preset",
    "frame.dropped": "dropped the preset",
    "document.set": "set the document",
    "document.dropped": "dropped the document",
    "proposal.made": "proposed",
    "proposal.approved": "approved",
    "proposal.rejected": "rejected",
    "proposal.applied": "applied",
    "proposal.withdrawn": "withdrew",
}


@verb
def undo(
    call: Call,
    id: MaybeId = None,
    to: To = None,
    event: Event = None,
    dry_run: o.DryRun = False,
    yes: o.Yes = False,
    idempotency_key: o.IdempotencyKey = None,
    user: o.User = None,
    mount: o.MountOption = None,
) -> None:
    """Take back the last command, or the last change of ID.

    What was forgotten, archived or replaced is brought back. What was said in a session stays,
    unless ID names it. A second undo brings it back.
    """
    _check(id, to, event, idempotency_key)
    what, then = id if event is None else event, o.position(to, "--to")
    at = None if event is None else str(event)
    with call.memories(both.mount_at(call, mount, at)) as found:
        memory = _last_changed([opened.scoped(user=user) for _, opened in found], what, then)
        if dry_run:
            call.answer(memory.undo(what, to=then, dry_run=True), _planned, memory)
            return
        brings_back = to is not None or idempotency_key is not None or _is_gone(memory, id)
        expect = None if brings_back else _agreed(call, memory, what, yes=yes)
        undone = memory.undo(what, to=then, idempotency_key=idempotency_key, expect=expect)
        call.answer(undone, _brought_back if brings_back else _undone, memory)
    if not undone.undone_by:
        raise Exit(answer.NO)


def _check(id: str | None, to: str | None, event: int | None, key: str | None) -> None:
    if id is None and (to is not None or key is not None):
        raise InvalidInput("--to and --idempotency-key are about one ID", hint="name it: undo ID")
    if id is not None and event is not None:
        raise InvalidInput("--event and an ID exclude each other", hint="leave one of them out")


def _is_gone(memory: Memory, id: str | None) -> bool:
    """True if undoing brings something back, which takes nothing away."""
    return id is not None and memory.get(id, include=INCLUDES).status in _GONE


def _agreed(call: Call, memory: Memory, what: What, *, yes: bool) -> int:
    """Shows what would be taken back and asks; returns the position at which that is so."""
    planned = memory.undo(what, dry_run=True)
    if not yes and not call.json:
        plain.say_to_stderr(f"At {plain.moment(planned.at)}:", *map(_line, planned.events))
    call.confirm("Take this back?", yes=yes, what="undoing")
    return planned.position


def _last_changed(memories: list[Memory], what: What, to: Then) -> Memory:
    """The memory, of the project and the person's own, whose last command is the newer one."""
    newest, chosen = "", memories[0]
    for memory in memories if len(memories) > 1 else ():
        with suppress(Conflict, NotFound):
            at = memory.undo(what, to=to, dry_run=True).at
            newest, chosen = max((at, memory), (newest, chosen), key=lambda one: one[0])
    return chosen


def _planned(planned: Undone) -> None:
    plain.say(f"Would take back, from {plain.moment(planned.at)}:", *map(_line, planned.events))


def _undone(undone: Undone) -> None:
    if not undone.undone_by:
        plain.say("Nothing was changed: it is so already.")
        if undone.id is not None:
            plain.next_step(f"recollect show {undone.id}")
        return
    plain.say("Undone:", *map(_line, undone.events))
    plain.say("This was done for it:", *map(_line, undone.undone_by))
    plain.say(plain.dim("`recollect undo` again brings it back."))


def _brought_back(undone: Undone) -> None:
    if undone.record is None or not undone.undone_by:
        _undone(undone)
        return
    plain.record("Brought back", undone.record)
    plain.next_step("recollect undo")


def _line(change: Change) -> str:
    did = _DID.get(change.kind or "", change.kind or "(erased)")
    said = f": {plain.one_line(change.text)}" if change.text else ""
    key = f" ({plain.one_line(change.key)})" if change.key else ""
    return f"  {did} {plain.one_line(change.id or '')}{key}{said}"
