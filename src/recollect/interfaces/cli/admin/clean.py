"""The verb that empties a memory and keeps its settings.

Responsible for what a person sees before and after. Leaves choosing and erasing to
``memory.erasure.clean``. Invariants: nothing is erased unless a person types the name of the
space, or says ``--yes`` and names the store; what is erased is what was shown.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from recollect.errors import Changed, InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument
from recollect.memory import Memory
from recollect.memory.erasure.clean import clean as clean_memory
from recollect.memory.handle.handle import handle_of
from recollect.model.counts import counted
from recollect.model.values import Cleaned
from recollect.store.port import Progress

What = Annotated[
    Literal["memory", "all"],
    Argument(
        metavar="memory|all",
        help="Records and pages; with `all` also episodes, sessions and receipts.",
    ),
]

_NAMED_MAX_COUNT: Final = 5


@verb
def clean(
    call: Call,
    what: What,
    reason: o.Reason = None,
    dry_run: o.DryRun = False,
    yes: o.Yes = False,
) -> None:
    """Erase what a memory holds and keep its settings. It cannot be undone."""
    if yes and call.store is None:
        raise InvalidInput(
            "with --yes the store must be named: which one is the nearest depends on the folder",
            hint="add --store PLACE before `admin clean`",
        )
    with call.memory() as memory:
        position = memory.events.position  # read first: what is written after it is noticed
        planned = clean_memory(handle_of(memory), what, dry_run=True)
        if dry_run:
            call.answer(planned, lambda _: plain.say(*_would(memory, planned)))
            return
        if not yes and not call.json:
            plain.say_to_stderr(*_would(memory, planned))
        call.confirm_name(memory.scope.space, yes=yes, what="cleaning a memory")
        with call.progress("Erasing") as tick:
            done = _as_shown(memory, what, reason, None if yes else position, tick)
    call.answer(done, lambda _: plain.say(*_done(memory, done)))


def _as_shown(
    memory: Memory,
    what: Literal["memory", "all"],
    reason: str | None,
    position: int | None,
    tick: Progress | None,
) -> Cleaned:
    """Erases unless something was written since it was shown."""
    try:
        return clean_memory(handle_of(memory), what, reason=reason, expect=position, progress=tick)
    except Changed as error:
        raise Changed(
            "the memory has changed since this was shown, so nothing was erased",
            hint="run the command again: it shows what is there now",
        ) from error


def _would(memory: Memory, planned: Cleaned) -> list[str]:
    place = f"{plain.bold(plain.one_line(memory.scope.space))} in {plain.safe(memory.where)}"
    kept = "Settings, policies, rules and presets stay."
    if planned.what == "memory":
        kept = "Episodes, sessions, settings, policies, rules and presets stay."
    lines = [f"Would erase from the space {place}:", f"  {_amounts(planned)}", f"  {kept}"]
    files = ", ".join(plain.safe(name) for name in planned.files_kept[:_NAMED_MAX_COUNT])
    more = len(planned.files_kept) - _NAMED_MAX_COUNT
    files += f" and {more} more" if more > 0 else ""
    told = f"  Files among the pages that this memory did not write stay: {files}"
    return [*lines, told] if files else lines


def _done(memory: Memory, done: Cleaned) -> list[str]:
    name = plain.bold(plain.one_line(memory.scope.space))
    places = (f"  {plain.safe(place)}" for place in done.places)
    return [f"Erased from the space {name}:", f"  {_amounts(done)}", *places]


def _amounts(done: Cleaned) -> str:
    found = [
        (done.records, "record"),
        (done.episodes, "episode"),
        (done.sessions, "session"),
        (done.receipts, "receipt"),
        (done.proposals, "proposal"),
        (len(done.documents), "document"),
    ]
    amounts = [counted(count, unit) for count, unit in found if count]
    return ", ".join(amounts) or "nothing: there is nothing to erase"
