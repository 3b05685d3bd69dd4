"""The verb ``recollect checkpoint``: a signed statement about the ledger.

Responsible for its answer. Leaves the work to ``Memory``. Invariant: what it prints can be handed
on as it is.
"""

from __future__ import annotations

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.model.counts import counted
from recollect.model.values import Checkpoint


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
        plain.say(plain.dim("The checkpoint is kept. To ask again: recollect checkpoint"))
    plain.say(plain.dim("Keep it elsewhere, or give it to others, for verify --anchor FILE."))
