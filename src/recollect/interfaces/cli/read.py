"""The verbs that read a memory.

Responsible for passing a question on and showing the answer. Leaves ``show`` to its own module,
because it loads Rich. Invariants: nothing here changes a record or an episode, though a context
stores a receipt; an empty answer exits with 1.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Final

from recollect import compose
from recollect.assistants.mounted import Mount
from recollect.interfaces.cli import answer, both, plain, recent
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit
from recollect.memory import Memory, Store
from recollect.memory.general import in_general
from recollect.model.values import (
    INCLUDES,
    Context,
    Episode,
    Overview,
    Recall,
    Record,
    SpaceStatus,
    WhyNot,
)

_HEAD_CHARS: Final = 12
_NAMES_MAX_COUNT: Final = 8


@verb
def recall(
    call: Call,
    query: o.MaybeQuery = "",
    k: o.Count = 10,
    unit: o.Unit = "any",
    filter: o.Filter = None,
    include: o.Include = None,
    min_relevance: o.MinRelevance = None,
    explain: o.Explain = False,
    full: o.Full = False,
    at: o.At = None,
    user: o.User = None,
    mount: o.MountOption = None,
) -> None:
    """Search for a question; without one, show what is newest and most used.

    Asks the project's memory and your own.
    """
    is_plain = unit == "any" and not (filter or include or min_relevance)

    def ask(opened: Memory) -> tuple[Recall, Overview | None]:
        memory = o.past(opened.scoped(user=user), at)
        found = memory.recall(
            query,
            k=k,
            unit=unit,
            filter=filter,
            include=o.included(include),
            min_relevance=min_relevance,
        )
        general = in_general(memory, query, found=bool(found.hits)) if is_plain else None
        return found, general

    asked = call.ask(ask, both.mount_at(call, mount, at))
    found = both.recalled([(name, hits) for name, (hits, _) in asked], k)
    views = [(name, view) for name, (_, view) in asked if view is not None]
    if len(views) == len(asked):
        document = {**found.document, "overviews": recent.documents(views)}
        call.answer(document, lambda _: recent.overviews(views))
        _exit_if_empty([view for _, view in views if view.records or view.episodes])
        return
    call.answer(found.document, lambda _: _recalled(found, explain=explain, full=full))
    if found.recall.degraded:
        call.note(f"Note: {found.recall.degraded}.")
    elif not found.recall.hits:
        _say_how(call, mount)
    _exit_if_empty(found.recall.hits)


def _recalled(found: both.Recalled, *, explain: bool, full: bool) -> None:
    if not explain:
        plain.recall(found.recall, mount_of=found.mount_of, full=full)
        return
    from recollect.interfaces.cli import explain as explaining

    explaining.recall(found.recall, found.mount_of, full=full)


def _say_how(call: Call, mount: Mount | None) -> None:
    """Says that search was by words alone, because other words may have found something."""
    for _, settings in call.places(mount):
        way = compose.searching(settings)
        if way.by_words:
            call.note(f"Note: {way}.")
            return


@verb
def why_not(
    call: Call,
    id: o.Id,
    query: o.Query,
    preset: o.MaybePreset = None,
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
    with call.memory(having=id) as opened:
        memory = o.past(opened.scoped(user=user), at)
        why = memory.admin.why_not(
            id,
            query,
            preset=preset,
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

    call.answer(why, draw, opened)


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
    mount: o.MountOption = None,
) -> None:
    """List records or episodes, last changed first.

    Asks the project's memory and your own.
    """

    def read(opened: Memory, limit: int, after: str | None) -> list[Record] | list[Episode]:
        memory = o.past(opened.scoped(user=user), at)
        listed = memory.sessions.episodes if unit == "episode" else memory.list
        return listed(filter=filter, include=o.included(include), limit=limit, after=after)

    with call.memories(both.mount_at(call, mount, at)) as memories:
        found = both.listed(memories, read, limit, after)
    name = "episodes" if unit == "episode" else "records"
    document = {name: found.documents, "next": found.last_if(limit)}
    call.answer(document, lambda _: found.draw(limit))
    _exit_if_empty(found.documents)


@verb
def context(
    call: Call,
    query: o.Query,
    tokens: o.Tokens = None,
    preset: o.Preset = "task",
    no_receipt: o.NoReceipt = False,
    at: o.At = None,
    user: o.User = None,
    mount: o.MountOption = None,
    hook: o.AsHook = False,  # a hook's call is answered before it gets here
) -> None:
    """Pack what is known about a question for a prompt.

    Asks the project's memory and your own.
    """

    def pack(memory: Memory, tokens: int | None, receipt: bool) -> Context:
        return o.past(memory.scoped(user=user), at).context(
            query, tokens=tokens, preset=preset, receipt=receipt and not no_receipt
        )

    with call.memories(both.mount_at(call, mount, at)) as memories:
        packed = both.packed(memories, pack, tokens)
    call.answer(packed.document, lambda _: packed.draw())
    _exit_if_empty(packed.document["hits"])


@verb
def status(call: Call) -> None:
    """Show where the memory is, what it holds and its position."""
    from recollect.interfaces.cli.embed import search_of  # this module is loaded by every recall

    with Store.open(call.store) as store:
        found, spaces, second = store.settings.why, store.spaces(), store.settings.second
        settings = store.settings
    with call.memory() as memory:
        now, search = memory.status(), search_of(memory, settings)
    call.answer(
        {**now.to_dict(), "found": found, "spaces": spaces, "second": second, "search": search},
        lambda _: _status(now, found, spaces, search),
        memory,
    )
    if second is not None:
        call.note(f"{second} holds another memory, which is not used; see `recollect doctor`.")


def _status(now: SpaceStatus, found: str, spaces: list[str], search: compose.Searching) -> None:
    place = f"{plain.safe(now.where)} {plain.dim(f'({plain.safe(found)})')}"
    plain.say(f"{plain.bold(plain.one_line(now.space))} in {place}")
    rows = {
        "records": f"{now.records:,}"
        + plain.dim(
            f"   waiting {now.waiting:,}, replaced {now.replaced:,}, forgotten {now.forgotten:,}"
        ),
        "episodes": f"{now.episodes:,}" + plain.dim(f"   of them hidden {now.hidden:,}"),
        "links": f"{now.links:,}",
        "position": f"{now.seq:,}" + (plain.dim(f"   {plain.moment(now.at)}") if now.at else ""),
        "head": now.head[:_HEAD_CHARS] + plain.dim(" … (--json shows all of it)"),
        "spaces": _some(spaces),
        "search": plain.one_line(str(search).removeprefix("search is ")),
    }
    plain.say(*(f"  {name:<9} {value}" for name, value in rows.items()))


def _some(spaces: list[str]) -> str:
    """The first names, and how many more there are."""
    first, more = spaces[:_NAMES_MAX_COUNT], len(spaces) - _NAMES_MAX_COUNT
    names = ", ".join(map(plain.one_line, first))
    return f"{names}, and {more:,} more" if more > 0 else names


def _exit_if_empty(found: Sized) -> None:
    if not found:
        raise Exit(answer.NO)
