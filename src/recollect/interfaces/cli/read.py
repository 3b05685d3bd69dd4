"""The verbs that read a memory.

Responsible for passing a question on and showing the answer. Leaves ``show`` to its own module,
because it loads Rich. Invariants: nothing here changes a record or an episode, though a context
stores a receipt; an empty answer exits with 1.
"""

from __future__ import annotations

import typer

from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.memory import Store
from recollect.model.values import (
    INCLUDES,
    Context,
    Episode,
    Recall,
    Record,
    SpaceStatus,
    WhyNot,
)


@verb
def recall(
    call: Call,
    query: o.Query,
    k: o.Count = 10,
    unit: o.Unit = "any",
    filter: o.Filter = None,
    include: o.Include = None,
    min_relevance: o.MinRelevance = None,
    explain: o.Explain = False,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Search the memory for a question, best match first."""
    with call.memory() as memory:
        found = o.past(memory.scoped(user=user), at).recall(
            query,
            k=k,
            unit=unit,
            filter=filter,
            include=o.included(include),
            min_relevance=min_relevance,
        )
    call.answer(found, _explained if explain else plain.recall)
    _exit_if_empty(found.hits)


def _explained(found: Recall) -> None:
    from recollect.interfaces.cli import explain

    explain.recall(found)


@verb
def why_not(
    call: Call,
    id: o.Id,
    query: o.Query,
    frame: o.MaybeFrame = None,
    tokens: o.Tokens = None,
    k: o.Count = 10,
    unit: o.Unit = "any",
    filter: o.Filter = None,
    include: o.Include = None,
    min_relevance: o.MinRelevance = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Explain why a record or an episode is not in an answer."""
    with call.memory() as opened:
        memory = o.past(opened.scoped(user=user), at)
        why = memory.why_not(
            id,
            query,
            frame=frame,
            tokens=tokens,
            k=k,
            unit=unit,
            filter=filter,
            include=o.included(include),
            min_relevance=min_relevance,
        )
        text = memory.get(why.id, include=INCLUDES).text
        instead = [memory.get(other, include=INCLUDES) for other in why.by]

    def draw(_: WhyNot) -> None:
        from recollect.interfaces.cli import explain

        explain.why_not(why, text, instead)

    call.answer(why, draw)


@verb
def list_all(
    call: Call,
    unit: o.ListUnit = "record",
    filter: o.Filter = None,
    include: o.Include = None,
    limit: o.Limit = 100,
    after: o.After = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """List records or episodes, last changed first."""
    values: list[Record] | list[Episode]
    with call.memory() as opened:
        memory = o.past(opened.scoped(user=user), at)
        read = memory.episodes if unit == "episode" else memory.list
        values = read(filter=filter, include=o.included(include), limit=limit, after=after)
    name = "episodes" if unit == "episode" else "records"
    call.answer({name: values}, lambda _: plain.listing(values, limit))
    _exit_if_empty(values)


@verb
def context(
    call: Call,
    query: o.Query,
    tokens: o.Tokens = None,
    frame: o.Frame = "task",
    no_receipt: o.NoReceipt = False,
    at: o.At = None,
    user: o.User = None,
    hook: o.AsHook = False,  # a hook's call is answered before it gets here
) -> None:
    """Pack what is known about a question for a prompt."""
    with call.memory() as memory:
        packed = o.past(memory.scoped(user=user), at).context(
            query, tokens=tokens, frame=frame, receipt=not no_receipt
        )
    call.answer(packed, _packed)
    _exit_if_empty(packed.hits)


def _packed(packed: Context) -> None:
    """The text alone on stdout, ready to paste; its cost on stderr."""
    if packed.text:
        plain.say(plain.safe(packed.text))
    left_out = f", {len(packed.omitted)} left out" if packed.omitted else ""
    receipt = f"; receipt {packed.receipt}" if packed.receipt else ""
    spent = f"{packed.tokens} of {packed.budget} tokens"
    plain.say_to_stderr(f"{len(packed.hits)} packed{left_out}; {spent}{receipt}", *packed.notes)


@verb
def status(call: Call) -> None:
    """Show where the memory is, what it holds and its position."""
    with Store.open(call.store) as store:
        found, spaces, second = store.settings.why, store.spaces(), store.settings.second
    with call.memory() as memory:
        now = memory.status()
    call.answer(
        {**now.to_dict(), "found": found, "spaces": spaces, "second": second},
        lambda _: _status(now, found, spaces),
    )
    if second is not None:
        call.note(f"{second} holds another memory, which is not used; see `recollect doctor`.")


def _status(now: SpaceStatus, found: str, spaces: list[str]) -> None:
    place = f"{plain.safe(now.where)} {plain.dim(f'({plain.safe(found)})')}"
    plain.say(f"{plain.bold(plain.one_line(now.space))} in {place}")
    rows = {
        "records": f"{now.records:,}"
        + plain.dim(
            f"   held {now.held:,}, archived {now.archived:,}, forgotten {now.forgotten:,}"
        ),
        "episodes": f"{now.episodes:,}" + plain.dim(f"   of them shadowed {now.shadowed:,}"),
        "links": f"{now.links:,}",
        "position": f"{now.seq:,}" + (plain.dim(f"   {plain.moment(now.at)}") if now.at else ""),
        "head": now.head,
        "active": f"{now.active_hours:.1f} hours",
        "spaces": ", ".join(map(plain.one_line, spaces)),
    }
    plain.say(*(f"  {name:<9} {value}" for name, value in rows.items()))


def _exit_if_empty(found: list[Record] | list[Episode] | tuple[object, ...]) -> None:
    if not found:
        raise typer.Exit(answer.NO)
