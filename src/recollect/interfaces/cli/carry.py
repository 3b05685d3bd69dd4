"""The verbs that carry a whole memory to another place and back.

Responsible for which of two stores is the source. Leaves the carrying to ``Memory``. Invariant:
neither verb changes the memory that it reads.
"""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.memory import Store
from recollect.model.values import Carried

Other = Annotated[
    str,
    typer.Argument(metavar="URL", help="The other store: postgresql://… or a folder."),
]
As = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="The space's name there.  [default: the name it has here]"
    ),
]


@verb
def push(call: Call, url: Other, there: As = None) -> None:
    """Bring this memory to another store, or what that one lacks of it."""
    with call.memory() as mine, Store.open(url) as store, call.progress("Pushing") as tick:
        done = mine.copy_to(store.space(there or call.space), tick)
    call.answer(done, _carried)


@verb
def pull(call: Call, url: Other, there: As = None) -> None:
    """Bring a memory of another store here, or what this one lacks of it."""
    with Store.open(url) as store:
        other = store.space(there or call.space, create=False)
        with call.memory(create=True) as mine, call.progress("Pulling") as tick:
            done = other.copy_to(mine, tick)
    call.answer(done, _carried)


def _carried(done: Carried) -> None:
    name, where = plain.bold(plain.one_line(done.space)), plain.safe(done.where)
    if done.events:
        plain.say(f"Carried {done.events:,} events to {name} in {where}")
    else:
        plain.say(f"Nothing to carry: {name} in {where} holds all {done.seq:,} events.")
    plain.say(f"  head {done.head}")
    plain.say(f"  state digest {done.digest}")
