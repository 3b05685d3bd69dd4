"""The verbs about sessions.

Responsible for opening, closing and showing them. Leaves who may, and which one a name means, to
the memory. Invariant: every line begins with an id that the other verbs take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.model.values import Session

NewSession = Annotated[
    str | None, Argument(metavar="[ID]", help="Its name.  [default: one is made]")
]
SessionId = Annotated[str, Argument(metavar="ID", help="The name of a session.")]
TaskType = Annotated[
    str | None, Option(metavar="NAME", help="What kind of work it is, such as review.")
]
EraseIt = Annotated[bool, Option("--erase", help="Delete every byte of when it ran, permanently.")]


@verb
def open_session(
    call: Call,
    id: NewSession = None,
    task_type: TaskType = None,
    user: o.User = None,
    idempotency_key: o.IdempotencyKey = None,
) -> None:
    """Open a session, such as a conversation or a run of work."""
    with call.memory(create=True) as memory:
        made = memory.scoped(user=user).sessions.open(
            id, task_type=task_type, idempotency_key=idempotency_key
        )
    call.answer(made, lambda session: plain.say(f"Opened {_line(session)}"))


@verb
def close(
    call: Call, id: SessionId, user: o.User = None, erase: EraseIt = False, yes: o.Yes = False
) -> None:
    """Close a session; what was written in it stays."""
    with call.memory() as memory:
        if erase:
            call.confirm(f"Erase when {id} ran, permanently?", yes=yes, what="erasing")
        left = memory.scoped(user=user).sessions.close(id, erase=erase)
    if left is None:
        call.answer({"erased": id}, lambda _: plain.say(f"Erased {plain.one_line(id)}"))
    else:
        call.answer(left, lambda session: plain.say(f"Closed {_line(session)}"))


@verb
def list_all(call: Call, limit: o.Limit = 20, at: o.At = None, user: o.User = None) -> None:
    """List sessions, the last first."""
    with call.memory() as memory:
        found = o.past(memory.scoped(user=user), at).sessions.list(limit=limit)
    call.answer({"sessions": found}, lambda _: _listed(found))
    if not found:
        raise Exit(answer.NO)


def _listed(found: Sequence[Session]) -> None:
    if not found:
        plain.say("No session is known here.")
    plain.say(*map(_line, found))


def _line(session: Session) -> str:
    """The id, what it is for, whose it is, and when it ran."""
    parts = (session.task_type, f"of {session.user}" if session.user else None)
    about = "".join(f"  {plain.one_line(part)}" for part in parts if part)
    ended = f" to {plain.moment(session.ended_at)}" if session.ended_at else ""
    ran = f"{session.status}, from {plain.moment(session.started_at)}{ended}"
    return f"{plain.bold(plain.one_line(session.id))}{about}  {plain.dim(ran)}"
