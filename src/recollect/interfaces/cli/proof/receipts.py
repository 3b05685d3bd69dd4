"""The commands about what was handed out and what was erased.

Responsible for their answers. Leaves the work to ``Memory.proof``. Invariant: nothing is changed.
"""

from __future__ import annotations

from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit
from recollect.model.counts import counted
from recollect.model.values import OrderedErasure, Receipt


@verb
def receipts(call: Call, limit: o.Limit = 100, after: o.After = None, user: o.User = None) -> None:
    """List the receipts of contexts, newest first; `context --replay` shows them."""
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
