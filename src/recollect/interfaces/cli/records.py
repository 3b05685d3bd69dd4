"""The verbs about what was handed out, what was erased, and what is kept no longer.

Responsible for their answers. Leaves the work to ``Memory``. Invariant: nothing is erased unless a
person confirms.
"""

from __future__ import annotations

from typing import Annotated

from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit, Option
from recollect.interfaces.cli.erase import lines_of
from recollect.memory import Memory
from recollect.model.counts import counted
from recollect.model.values import Erasure, OrderedErasure, Receipt

Keep = Annotated[
    str | None,
    Option(
        "--keep",
        metavar="DAYS|none",
        help="Set how long expired records are kept before `retain` erases them.",
    ),
]


@verb
def receipts(call: Call, limit: o.Limit = 100, after: o.After = None, user: o.User = None) -> None:
    """List the receipts of contexts, newest first; replay shows their text."""
    with call.memory() as memory:
        found = memory.scoped(user=user).proof.receipts.list(limit=limit, after=after)
        call.answer({"receipts": found}, lambda _: _receipts(found), memory)
    if not found:
        raise Exit(answer.NO)


def _receipts(found: list[Receipt]) -> None:
    if not found:
        plain.say("No receipts to list.")
    for receipt in found:
        user = f"  for {plain.one_line(receipt.scope.user)}" if receipt.scope.user else ""
        items = counted(len(receipt.items), "item")
        preset = plain.one_line(receipt.preset)
        when = plain.dim(plain.moment(receipt.at))
        plain.say(f"{plain.bold(receipt.id)}  {when}  {preset}  {items}{user}")


@verb
def erasures(call: Call) -> None:
    """List what was erased: which events, when and why."""
    with call.memory() as memory, call.progress("Reading") as tick:
        found = memory.proof.erasures(tick)
    call.answer({"erasures": found}, lambda _: _erasures(found), memory)


def _erasures(found: list[OrderedErasure]) -> None:
    if not found:
        plain.say("Nothing was erased.")
    for one in found:
        reason = f"  {plain.one_line(one.reason)}" if one.reason else ""
        events = ", ".join(f"{seq:,}" for seq in one.events[:10])
        more = f" and {len(one.events) - 10:,} more" if len(one.events) > 10 else ""
        what = "event" if len(one.events) == 1 else "events"
        when = plain.dim(plain.moment(one.at))
        plain.say(f"{one.seq:>6,}  {when}  erased {what} {events}{more}{reason}")


@verb
def retain(call: Call, keep: Keep = None, dry_run: o.DryRun = False, yes: o.Yes = False) -> None:
    """Erase records that expired longer ago than they are to be kept."""
    with call.memory() as memory:
        if keep is not None:
            _set(call, memory, keep)
            return
        planned = memory.erase(expired=True, dry_run=True)
        if dry_run or not planned.events:
            call.answer(planned, lambda _: _retained(memory, planned, done=False), memory)
            return
        if not yes and not call.json:
            plain.say_to_stderr(*lines_of(memory, planned))
        question = f"Erase {plain.amounts(planned)} that expired permanently?"
        call.confirm(question, yes=yes, what="erasing")
        with call.progress("Erasing") as tick:
            done = memory.erase(expired=True, progress=tick)
        call.answer(done, lambda _: _retained(memory, done, done=True), memory)


def _set(call: Call, memory: Memory, keep: str) -> None:
    days = None if keep == "none" else o.days(keep)
    memory.settings.set_retention(days)
    said = "Expired records are kept." if days is None else f"Kept for {counted(days, 'day')}."
    call.answer({"days": days}, lambda _: plain.say(said), memory)


def _retained(memory: Memory, value: Erasure, *, done: bool) -> None:
    days = memory.settings.retention()
    if days is None:
        plain.say("Expired records are kept: no retention is set.")
        plain.next_step("recollect retain --keep 30")
    elif not value.events:
        plain.say(f"Nothing expired more than {counted(days, 'day')} ago.")
    elif done:
        plain.erasure(value)
    else:
        plain.say(f"Would erase {plain.amounts(value)}:", *lines_of(memory, value))
