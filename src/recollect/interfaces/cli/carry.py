"""The verbs that copy a memory to another store and back.

Responsible for which of two stores is the source. Leaves the copying to ``Memory``. Invariant:
neither verb changes the memory that it reads.
"""

from __future__ import annotations

from typing import Annotated

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import Store
from recollect.model.counts import counted
from recollect.model.values import Carried

Other = Annotated[
    str,
    Argument(metavar="URL", help="The other store: postgresql://… or a folder."),
]
As = Annotated[
    str | None,
    Option(
        "--as", metavar="NAME", help="The space's name in the other store.  [default: the same]"
    ),
]


@verb
def push(call: Call, url: Other, there: As = None) -> None:
    """Copy to another store the events of this memory that it lacks."""
    with call.memory() as mine, Store.open(url) as store, call.progress("Pushing") as tick:
        done = mine.copy_to(store.space(there or call.space), tick)
    call.answer(done, _carried)


@verb
def pull(call: Call, url: Other, there: As = None) -> None:
    """Copy from another store the events that this memory lacks."""
    with Store.open(url) as store:
        other = store.space(there or call.space, create=False)
        with call.memory(create=True) as mine, call.progress("Pulling") as tick:
            done = other.copy_to(mine, tick)
    call.answer(done, _carried)


def _carried(done: Carried) -> None:
    name, where = plain.bold(plain.one_line(done.space)), plain.safe(done.where)
    if done.events:
        plain.say(f"Copied {counted(done.events, 'event')} to {name} in {where}")
    else:
        plain.say(f"Nothing to copy: {name} in {where} holds all {counted(done.seq, 'event')}.")
    plain.say(f"  head {done.head}")
    plain.say(f"  state digest {done.digest}")
