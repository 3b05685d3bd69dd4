"""The command that takes something back.

Responsible for showing what would be taken back and asking. Leaves the work to ``Memory``.
Invariants: nothing is undone unless a person confirms, but for what brings back something that is
gone; what is undone is what was shown; a run that changed nothing says so and exits with 1.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Final

from recollect.assistants.mounted import Mount
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Change, Episode, Record, Undone

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
_GONE: Final = ("forgotten", "archived", "superseded")
_DID: Final = {
    "author.named": "named",
    "record.added": "remembered",
    "record.revised": "revised",
    "record.superseded": "superseded",
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
    "frame.set": "set the frame",
    "frame.dropped": "dropped the frame",
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
    if id is None and (to is not None or idempotency_key is not None):
        raise InvalidInput("--to and --idempotency-key are about one ID", hint="name it: undo ID")
    if id is not None and not dry_run and _bring_back(call, id, to, idempotency_key, user, mount):
        return
    with call.memories(mount) as found:
        memory = _last_changed([opened.scoped(user=user) for _, opened in found], id)
        planned = memory.undo(id, dry_run=True)
        if dry_run:
            call.answer(planned, _planned, memory)
            return
        if not yes and not call.json:
            plain.say_to_stderr(f"At {plain.moment(planned.at)}:", *map(_line, planned.events))
        call.confirm("Take this back?", yes=yes, what="undoing")
        undone = memory.undo(id, expect=planned.position)
        call.answer(undone, _undone, memory)


def _bring_back(
    call: Call,
    id: str,
    to: str | None,
    idempotency_key: str | None,
    user: str | None,
    mount: Mount | None,
) -> bool:
    """Brings back an earlier version, or what is gone; False if ID has none of both."""
    with call.memory(having=id, mount=mount) as opened:
        memory = opened.scoped(user=user)
        before = memory.get(id, include=INCLUDES)
        if to is not None:
            _revert(call, memory, before, to)
            return True
        if before.status not in _GONE and idempotency_key is None:
            return False
        value = memory.restore(before.id, idempotency_key=idempotency_key)
        call.answer(value, _restored, memory)
        return True


def _revert(call: Call, memory: Memory, before: Record | Episode, to: str) -> None:
    """Brings back an earlier version of a record, or of the value of a key."""
    record = memory.revert(before.id, to=o.position(to, "--to"))
    call.answer(record, lambda _: _reverted(before, record), memory)
    if record == before:
        raise Exit(answer.NO)


def _last_changed(memories: list[Memory], id: str | None) -> Memory:
    """The memory, of the project and the person's own, whose last command is the newer one."""
    newest, chosen = "", memories[0]
    for memory in memories if len(memories) > 1 else ():
        with suppress(Conflict, NotFound):
            at = memory.undo(id, dry_run=True).at
            newest, chosen = max((at, memory), (newest, chosen), key=lambda one: one[0])
    return chosen


def _planned(planned: Undone) -> None:
    plain.say(f"Would take back, from {plain.moment(planned.at)}:", *map(_line, planned.events))


def _undone(undone: Undone) -> None:
    plain.say("Undone:", *map(_line, undone.events))
    plain.say("This was done for it:", *map(_line, undone.undone_by))
    plain.say(plain.dim("`recollect undo` again brings it back."))


def _line(change: Change) -> str:
    did = _DID.get(change.kind or "", change.kind or "(erased)")
    said = f": {plain.one_line(change.text)}" if change.text else ""
    key = f" ({plain.one_line(change.key)})" if change.key else ""
    return f"  {did} {plain.one_line(change.id or '')}{key}{said}"


def _reverted(before: Record | Episode, record: Record) -> None:
    if record == before:
        _unchanged(record)
        return
    plain.record("Reverted to" if record.id == before.id else "Brought back", record)
    if record.id != before.id:
        plain.say(f"  it replaces {before.id} now")


def _unchanged(value: Record | Episode) -> None:
    status = plain.standing(value) if isinstance(value, Record) else value.status
    plain.say(f"Nothing was changed: {plain.bold(value.id)} is {status}.")
    plain.next_step(f"recollect undo {value.id}", f"recollect show {value.id}")


def _restored(value: Record | Episode) -> None:
    if isinstance(value, Record):
        plain.record("Restored", value)
    else:
        plain.say(f"Restored {plain.bold(value.id)}", *plain.wrapped(value.text, "  "))
