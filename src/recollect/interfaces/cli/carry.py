"""The verbs that copy a memory to another store and back, and that merge two of them.

Responsible for which of two stores is the source. Leaves the copying to ``Memory``. Invariants:
neither verb changes the memory that it reads; nothing is merged that was not shown or decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import Memory, Store
from recollect.model.counts import counted
from recollect.model.values import Carried, LedgerConflict, LedgerMerge, LedgerSide, Settlement

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
Merge = Annotated[
    bool, Option("--merge", help="Bring two ledgers together that both grew after a copy.")
]
Ours = Annotated[
    list[str] | None,
    Option("--ours", metavar="ID", help="Keep what the memory that is written has; repeatable."),
]
Theirs = Annotated[
    list[str] | None,
    Option("--theirs", metavar="ID", help="Take the other side of a conflict; repeatable."),
]
Mine = Annotated[
    bool,
    Option("--mine", help="The other memory is mine: keep its trust, also without a signature."),
]
DryRun = Annotated[bool, Option("--dry-run", help="With --merge: only show what would come.")]


@verb
def push(
    call: Call,
    url: Other,
    there: As = None,
    merge: Merge = False,
    ours: Ours = None,
    theirs: Theirs = None,
    dry_run: DryRun = False,
    yes: o.Yes = False,
) -> None:
    """Copy to another store the events of this memory that it lacks."""
    settle = _settled(merge, ours, theirs, dry_run=dry_run)
    with call.memory() as mine, Store.open(url) as store:
        other = store.space(there or call.space, create=not merge)
        if merge:
            _merge(call, other, mine, settle, is_mine=True, dry_run=dry_run, yes=yes)
            return
        with call.progress("Pushing") as tick:
            done = mine.copy_to(other, tick)
    call.answer(done, _carried)


@verb
def pull(
    call: Call,
    url: Other,
    there: As = None,
    merge: Merge = False,
    ours: Ours = None,
    theirs: Theirs = None,
    mine: Mine = False,
    dry_run: DryRun = False,
    yes: o.Yes = False,
) -> None:
    """Copy from another store the events that this memory lacks."""
    settle = _settled(merge, ours, theirs, dry_run=dry_run, mine=mine)
    with Store.open(url) as store:
        other = store.space(there or call.space, create=False)
        with call.memory(create=not merge) as memory:
            if merge:
                _merge(call, memory, other, settle, is_mine=mine, dry_run=dry_run, yes=yes)
                return
            with call.progress("Pulling") as tick:
                done = other.copy_to(memory, tick)
    call.answer(done, _carried)


def _settled(
    merge: bool,
    ours: list[str] | None,
    theirs: list[str] | None,
    *,
    dry_run: bool,
    mine: bool = False,
) -> dict[str, Settlement]:
    """How each conflict is settled; refuses words that only a merge has."""
    if not merge and (ours or theirs or dry_run or mine):
        raise InvalidInput(
            "--ours, --theirs, --mine and --dry-run are about a merge", hint="add --merge"
        )
    both = {*(ours or ())} & {*(theirs or ())}
    if both:
        raise InvalidInput(f"{min(both)} is settled twice", hint="name it once")
    settle: dict[str, Settlement] = dict.fromkeys(ours or (), "ours")
    return settle | dict.fromkeys(theirs or (), "theirs")


def _merge(
    call: Call,
    memory: Memory,
    other: Memory,
    settle: dict[str, Settlement],
    *,
    is_mine: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Shows what would come, and brings it if every conflict is settled."""
    shown = memory.merge_from(other, is_mine=is_mine, dry_run=True)
    if dry_run:
        call.answer(shown, lambda value: plain.say(*_planned(value)))
        return
    is_decided = all(one.id in settle for one in shown.conflicts)
    if not call.json:
        plain.say(*_planned(shown))
    if is_decided and shown.commands:
        many = counted(shown.commands, "command")
        call.confirm(f"Bring {many}?", yes=yes, what="merging")
    with call.progress("Merging") as tick:
        done = memory.merge_from(
            other, settle=settle, digest=shown.digest, is_mine=is_mine, progress=tick
        )
    call.answer(done, lambda value: plain.say(*_merged(value)))


def _planned(value: LedgerMerge) -> Iterator[str]:
    """What would come, and both sides of each conflict."""
    name = plain.bold(plain.one_line(value.space))
    yield f"Into {name} in {plain.safe(value.where)}, from {plain.safe(value.source)}"
    yield f"  both ledgers have the same {counted(value.fork, 'event')}"
    events = counted(value.events, "event")
    yield f"  to come: {counted(value.commands, 'command')} with {events}"
    if value.known:
        yield f"  here already: {counted(value.known, 'command')}"
    if value.erased:
        yield f"  erased there, to erase here: {counted(value.erased, 'event')}"
    yield from _trust(value)
    yield from (f"  stays out: {plain.one_line(one)}" for one in value.left)
    for conflict in value.conflicts:
        yield ""
        yield from _conflict(conflict)
    if value.conflicts:
        yield ""
        yield "Settle each: --ours ID keeps what this memory has, --theirs ID takes the other's."


def _trust(value: LedgerMerge) -> Iterator[str]:
    if value.is_mine or not value.commands:
        return
    if value.signed:
        yield f"  signed by a key known here: the other ledger up to event {value.signed:,}"
    yield "  what no known key signed has at most an agent's trust here; --mine if it is yours"


def _conflict(conflict: LedgerConflict) -> Iterator[str]:
    key = conflict.ours.key or conflict.theirs.key
    note = f"  key {plain.one_line(key)}" if key else ""
    named = plain.bold(plain.one_line(conflict.id))
    yield f"{named}  conflict: both changed this {conflict.what}{note}"
    yield from _side("ours", conflict.ours)
    yield from _side("theirs", conflict.theirs)


def _side(name: str, side: LedgerSide) -> Iterator[str]:
    who = side.origin if side.agent is None else f"{side.origin}, {plain.one_line(side.agent)}"
    yield from plain.wrapped("; ".join(side.values) or "(nothing)", " " * 10, f"  {name:<8}")
    when = f", {plain.moment(side.at)}" if side.at else ""
    yield plain.dim(f"          said by {who}{when}")


def _merged(value: LedgerMerge) -> Iterator[str]:
    if not value.commands and not value.settled:
        yield "Nothing to merge: everything that is there is here."
        return
    name = plain.bold(plain.one_line(value.space))
    many = f"{counted(value.commands, 'command')}, {counted(value.events, 'event')}"
    yield f"Merged into {name}: {many}; the ledger ends at event {value.seq:,}"
    yield from (f"  stayed out: {plain.one_line(one)}" for one in value.left)


def _carried(done: Carried) -> None:
    name, where = plain.bold(plain.one_line(done.space)), plain.safe(done.where)
    if done.events:
        plain.say(f"Copied {counted(done.events, 'event')} to {name} in {where}")
    else:
        plain.say(f"Nothing to copy: {name} in {where} holds all {counted(done.seq, 'event')}.")
    plain.say(f"  head {done.head}")
    plain.say(f"  state digest {done.digest}")
