"""The verbs that copy a memory to another store and back, and that merge two of them.

Responsible for which of two stores is the source. Leaves the copying to ``Memory``. Invariants:
neither verb changes the memory that it reads; nothing is merged that was not shown or decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Final, NamedTuple

from msgspec import structs

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import Memory, Store
from recollect.model.counts import counted
from recollect.model.values import Choice, Copied, LedgerConflict, LedgerMerge, LedgerSide

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
    Option("--ours", metavar="ID", help="Keep what this memory has, not URL; repeatable."),
]
Theirs = Annotated[
    list[str] | None,
    Option("--theirs", metavar="ID", help="Take what the memory at URL has; repeatable."),
]
Mine = Annotated[
    bool,
    Option("--mine", help="The other memory is mine: keep its trust, also without a signature."),
]
DryRun = Annotated[bool, Option("--dry-run", help="With --merge: only show what would come.")]


_SWAPPED: Final[dict[Choice, Choice]] = {"ours": "theirs", "theirs": "ours"}


class View(NamedTuple):
    """How a person asked for a merge: ``ours`` is always the memory at which they sit."""

    is_push: bool = False
    is_mine: bool = False
    dry_run: bool = False
    yes: bool = False

    def of(self, value: LedgerMerge) -> LedgerMerge:
        """What a merge would do, with the sides as this person sees them."""
        if not self.is_push:
            return value
        turned = (structs.replace(one, ours=one.theirs, theirs=one.ours) for one in value.conflicts)
        return structs.replace(value, conflicts=tuple(turned))

    def places(self, value: LedgerMerge) -> tuple[str, str]:
        """Where ours is, and where theirs is."""
        return (value.source, value.where) if self.is_push else (value.where, value.source)


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
    choose = _settled(merge, ours, theirs, dry_run=dry_run)
    if merge:
        choose = {id: _SWAPPED[word] for id, word in choose.items()}
        with call.memory(create=False) as mine, _merged_with(url, there or call.space) as other:
            view = View(is_push=True, is_mine=True, dry_run=dry_run, yes=yes)
            _merge(call, other, mine, choose, view)
        return
    with call.memory() as mine, Store.open(url) as store:
        other = store.space(there or call.space)
        with call.progress("Pushing") as tick:
            done = mine.admin.copy_to(other, tick)
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
    choose = _settled(merge, ours, theirs, dry_run=dry_run, mine=mine)
    if merge:
        with _merged_with(url, there or call.space) as other, call.memory(create=False) as memory:
            _merge(call, memory, other, choose, View(is_mine=mine, dry_run=dry_run, yes=yes))
        return
    with Store.open(url) as store:
        other = store.space(there or call.space, create=False)
        with call.memory(create=True) as memory, call.progress("Pulling") as tick:
            done = other.admin.copy_to(memory, tick)
    call.answer(done, _carried)


@contextmanager
def _merged_with(url: str, space: str) -> Iterator[Memory]:
    """The memory at the other place, which a merge does not create."""
    with ExitStack() as opened:
        try:
            store = opened.enter_context(Store.open(url))
            other = store.space(space, create=False)
            other.events.position  # noqa: B018  # a memory is opened by its first use
        except NotFound as error:
            raise NotFound(
                f"{plain.safe(url)}: {error.message}",
                hint="check the path; a merge needs a copy of this memory there, and `--as NAME` "
                "if it has another name",
            ) from error
        yield other


def _settled(
    merge: bool,
    ours: list[str] | None,
    theirs: list[str] | None,
    *,
    dry_run: bool,
    mine: bool = False,
) -> dict[str, Choice]:
    """How each conflict is settled; refuses words that only a merge has."""
    if not merge and (ours or theirs or dry_run or mine):
        raise InvalidInput(
            "--ours, --theirs, --mine and --dry-run are about a merge", hint="add --merge"
        )
    option = next((one for one in (*(ours or ()), *(theirs or ())) if one.startswith("-")), None)
    if option is not None:
        raise InvalidInput(
            f"--ours and --theirs need an id, and {option} is an option",
            hint=f"write the id of the conflict first, then {option}",
        )
    both = {*(ours or ())} & {*(theirs or ())}
    if both:
        raise InvalidInput(f"{min(both)} is decided twice", hint="name it once")
    choose: dict[str, Choice] = dict.fromkeys(ours or (), "ours")
    return choose | dict.fromkeys(theirs or (), "theirs")


def _merge(
    call: Call, memory: Memory, other: Memory, choose: dict[str, Choice], view: View
) -> None:
    """Shows what would come, and brings it if every conflict is settled."""
    shown = memory.admin.merge_from(other, is_mine=view.is_mine, dry_run=True)
    seen = view.of(shown)
    if view.dry_run:
        call.answer(seen, lambda value: plain.say(*_planned(value, view)))
        return
    if not call.json:
        plain.say(*_planned(seen, view))
    names = ({one.id, one.ours.key, one.theirs.key} for one in shown.conflicts)
    is_decided = all(choose.keys() & some for some in names)
    if is_decided and shown.commands:
        many = counted(shown.commands, "command")
        call.confirm(f"Bring {many}?", yes=view.yes, what="merging")
    with call.progress("Merging") as tick:
        done = memory.admin.merge_from(
            other, choose=choose, digest=shown.digest, is_mine=view.is_mine, progress=tick
        )
    call.answer(view.of(done), lambda value: plain.say(*_merged(value)))


def _planned(value: LedgerMerge, view: View) -> Iterator[str]:
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
        here, there = view.places(value)
        yield f"Decide each: --ours ID for what {plain.safe(here)} has (this memory),"
        yield f"--theirs ID for what {plain.safe(there)} has."


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
    who = side.by if side.agent is None else f"{side.by}, {plain.one_line(side.agent)}"
    yield from plain.wrapped("; ".join(side.values) or "(nothing)", " " * 10, f"  {name:<8}")
    when = f", {plain.moment(side.at)}" if side.at else ""
    yield plain.dim(f"          said by {who}{when}")


def _merged(value: LedgerMerge) -> Iterator[str]:
    if not value.commands and not value.decided:
        if not value.left:
            yield "Nothing to merge: everything that is there is here."
        else:
            yield f"Nothing was merged: {counted(len(value.left), 'command')} stayed out."
            yield from (f"  stayed out: {plain.one_line(one)}" for one in value.left)
        return
    name = plain.bold(plain.one_line(value.space))
    many = f"{counted(value.commands, 'command')}, {counted(value.events, 'event')}"
    yield f"Merged into {name}: {many}; the ledger ends at event {value.seq:,}"
    yield from (f"  stayed out: {plain.one_line(one)}" for one in value.left)


def _carried(done: Copied) -> None:
    name, where = plain.bold(plain.one_line(done.space)), plain.safe(done.where)
    if done.events:
        plain.say(f"Copied {counted(done.events, 'event')} to {name} in {where}")
    else:
        plain.say(f"Nothing to copy: {name} in {where} holds all {counted(done.seq, 'event')}.")
    plain.say(f"  head {done.head}")
    plain.say(f"  state digest {done.digest}")
