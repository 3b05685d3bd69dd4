"""The commands that read a memory.

Responsible for passing a question on and showing the answer. Leaves contexts to ``context``.
Invariants: nothing here changes a memory; an empty answer exits with 1.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Annotated, Final, Literal

from recollect import compose
from recollect.assistants.mounted import Mount
from recollect.errors import InvalidInput
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.daily import both
from recollect.interfaces.cli.daily import recent as lately
from recollect.interfaces.cli.declare import Exit, Option
from recollect.memory import Memory, Store
from recollect.memory.general import in_general
from recollect.model.values import (
    INCLUDES,
    Episode,
    Overview,
    Recall,
    Record,
    SpaceStatus,
)

MaybeUnit = Annotated[
    Literal["record", "episode", "any"] | None,
    Option("--unit", help="What to list.  [default: record; any with --recent]"),
]
MaybeLimit = Annotated[
    int | None,
    Option("--limit", metavar="N", help="The most to return.  [default: 100; 20 with --recent]"),
]
Recent = Annotated[
    bool, Option("--recent", help="What changed or was said last, records and episodes together.")
]
OfSession = Annotated[
    str | None,
    Option("--session", metavar="NAME", help="With --recent: only this conversation."),
]
OfAgent = Annotated[
    str | None, Option("--agent", metavar="NAME", help="With --recent: only this agent.")
]
Since = Annotated[
    str | None,
    Option(
        metavar="WHEN",
        help="With --recent: only from then on: 2026-01-31, yesterday, monday, '3 days ago'.",
    ),
]
Before = Annotated[str | None, Option(metavar="WHEN", help="With --recent: only before then.")]
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
    """Search for a question, or show what is newest and most used.

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
        document = {**found.document, "overviews": lately.documents(views)}
        call.answer(document, lambda _: lately.overviews(views))
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
    from recollect.interfaces.cli.screens import explain as explaining

    explaining.recall(found.recall, found.mount_of, full=full)


def _say_how(call: Call, mount: Mount | None) -> None:
    """Says that search was by words alone, because other words may have found something."""
    for _, settings in call.places(mount):
        way = compose.searching(settings)
        if way.by_words:
            call.note(f"Note: {way}.")
            return


@verb
def list_all(
    call: Call,
    unit: MaybeUnit = None,
    filter: o.Filter = None,
    include: o.Include = None,
    limit: MaybeLimit = None,
    after: o.After = None,
    recent: Recent = False,
    session: OfSession = None,
    agent: OfAgent = None,
    since: Since = None,
    before: Before = None,
    at: o.At = None,
    user: o.User = None,
    mount: o.MountOption = None,
) -> None:
    """List records or episodes, last changed first; --recent lists both.

    Asks the project's memory and your own.
    """
    if recent:
        _refuse("leave it out with --recent", filter=filter, include=include, after=after)
        wanted = lately.Lately(unit or "any", session, agent, since, before)
        if not lately.listed(call, wanted, limit or 20, at, user, mount):
            raise Exit(answer.NO)
        return
    _refuse("add --recent", session=session, agent=agent, since=since, before=before)
    if unit == "any":
        raise InvalidInput("records and episodes are listed apart", hint="add --recent for both")

    def read(opened: Memory, limit: int, after: str | None) -> list[Record] | list[Episode]:
        memory = o.past(opened.scoped(user=user), at)
        listed = memory.sessions.episodes if unit == "episode" else memory.list
        return listed(filter=filter, include=o.included(include), limit=limit, after=after)

    most = 100 if limit is None else limit
    with call.memories(both.mount_at(call, mount, at)) as memories:
        found = both.listed(memories, read, most, after)
    name = "episodes" if unit == "episode" else "records"
    document = {name: found.documents, "next": found.last_if(most)}
    call.answer(document, lambda _: found.draw(most))
    _exit_if_empty(found.documents)


def _refuse(hint: str, **options: object) -> None:
    """Refuses options that only the other form of a list has."""
    for name, value in options.items():
        if value:
            raise InvalidInput(f"--{name} cannot be used here", hint=hint)


@verb
def status(call: Call) -> None:
    """Show where the memory is, what it holds and its position."""
    from recollect.interfaces.cli.admin.embed import (
        search_of,
    )  # this module is loaded by every recall

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
        call.note(
            f"{second} holds another memory, which is not used; see `recollect admin doctor`."
        )


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


@verb
def show(call: Call, id: o.Id, at: o.At = None) -> None:
    """Show a record with its history and evidence, or an episode."""
    with call.memory(having=id) as opened:
        memory = o.past(opened, at)
        found = memory.get(id, include=INCLUDES)
        if isinstance(found, Episode):
            episode = found
            call.answer({"episode": episode}, lambda _: _draw_episode(episode), opened)
            return
        history, why = memory.history(found.id), memory.why(found.id)

    def draw(_: object) -> None:
        from recollect.interfaces.cli.screens.draw import record_view

        record_view(found, history, why)

    call.answer({"record": found, "history": history, "why": why}, draw, opened)


def _draw_episode(episode: Episode) -> None:
    from recollect.interfaces.cli.screens.draw import episode_view

    episode_view(episode)


def _exit_if_empty(found: Sized) -> None:
    if not found:
        raise Exit(answer.NO)
