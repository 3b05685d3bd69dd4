"""The verb ``recollect proof prove``: evidence that others can check.

Responsible for its options and where the document goes. Leaves the work to ``Memory``. Invariant:
the document is printed or written exactly as it was made, because no byte of it may change.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from recollect.errors import Conflict, InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.model.counts import counted
from recollect.model.values import Checkpoint, Proof
from recollect.store.disk.disk import create_file
from recollect.store.seam import REAL

Id = Annotated[
    str | None,
    Argument(metavar="[ID]", help="A record or an episode; may be left out with --event."),
]
Event = Annotated[
    int | None,
    Option("--event", metavar="SEQ", help="This event, as `recollect log` numbers it.", min=1),
]
Out = Annotated[
    str | None,
    Option("--out", metavar="FILE", help="Write it to this new file, and say what it proves."),
]


@verb
def prove(
    call: Call,
    id: Id = None,
    event: Event = None,
    out: Out = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Print one event with its proof, for someone who has the public key."""
    target = None if out is None else new_file(out)
    with call.memory() as opened, call.progress("Proving"):
        made = o.past(opened.scoped(user=user), at).proof.prove(id, event=event)
    if target is None:
        sys.stdout.write(made.document)
        return
    write_new(target, [made.document.encode()])
    call.answer({"file": str(target), "proof": made}, lambda _: _written(str(target), made))


def _written(target: str, made: Proof) -> None:
    plain.say(f"Wrote the proof of event {made.seq:,} to {plain.one_line(target)}")
    erased = f", erased by event {made.erased_by:,}" if made.erased_by else ""
    who = plain.who(made.author, made.by, whole=True)
    plain.say(plain.dim(f"  {made.kind} by {who}, {plain.moment(made.at)}{erased}"))
    plain.say(plain.dim(f"  under the checkpoint of {made.size:,} of {plain.safe(made.ledger)}"))
    plain.next_step(f"python verify_proof.py {plain.one_line(target)} KEY")


def new_file(name: str, option: str = "--out") -> Path:
    """The path of a file to write; nothing is overwritten."""
    target = Path(name).expanduser()
    if not name or target.exists() or target.is_symlink():
        raise _exists(name or "the file", option)
    if not target.parent.is_dir():
        raise InvalidInput(f"there is no folder {target.parent}", hint="make the folder first")
    return target


def _exists(name: str, option: str) -> Conflict:
    return Conflict(f"{name} exists already", hint=f"name another file with {option}")


def write_new(target: Path, pieces: Iterable[bytes], option: str = "--out") -> None:
    """Writes a file that is complete or not there."""
    try:
        create_file(REAL, target, pieces)
    except FileExistsError as error:
        raise _exists(str(target), option) from error
    except OSError as error:
        raise InvalidInput(
            f"{target} could not be written: {error.strerror}",
            hint=f"name a file with {option} in a folder that you may write",
        ) from error


@verb
def checkpoint(call: Call) -> None:
    """Sign how many events the ledger has and which root."""
    with call.memory() as memory, call.progress("Signing"):
        made = memory.proof.checkpoint()
    call.answer(made, _made)


def _made(made: Checkpoint) -> None:
    plain.say(f"Signed {counted(made.size, 'event')} of {plain.safe(made.ledger)}", "")
    plain.say(made.note)
    for each in made.witnesses:
        if each.problem is None:
            plain.say(f"Cosigned by {plain.safe(each.name)} at {each.at}")
        else:
            told = f"{each.name} in {each.place}: {each.problem}"
            plain.say(f"{plain.bold('Not cosigned')} by {plain.safe(told)}")
    if any(each.problem for each in made.witnesses):
        plain.say(plain.dim("The checkpoint is kept. To ask again: recollect proof checkpoint"))
    plain.say(plain.dim("Keep it elsewhere, or give it to others, for verify --anchor FILE."))
