"""The commands about links.

Responsible for making links, and for drawing records and links as text. Leaves which ones there are
to the memory. Invariants: every record's line begins with its id, which other commands take; an
arrow points from the source of a link to its target.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from recollect.errors import InvalidInput
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.model.values import Graph, Link, Record

_LINE_MIN_COLUMNS: Final = 20

Source = Annotated[str, Argument(metavar="SOURCE", help="The record the link starts from.")]
Target = Annotated[str, Argument(metavar="TARGET", help="The record it points to.")]
LinkKind = Annotated[str, Option(metavar="WORD", help="contradicts, derived_from, …")]
Weight = Annotated[float, Option(metavar="0..1", help="How strong it is.")]
LinkName = Annotated[str | None, Option(metavar="TEXT", help="What another system calls the link.")]
Start = Annotated[
    str | None, Argument(metavar="[ID]", help="The record in the middle.  [default: show all]")
]
From = Annotated[str, Argument(metavar="A", help="The record the path starts from.")]
To = Annotated[str, Argument(metavar="B", help="The record it leads to.")]
Hops = Annotated[int, Option(metavar="N", help="How many links away, up to 16.")]
Kinds = Annotated[
    list[str] | None,
    Option("--kind", metavar="WORD", help="Only links of this kind; may be repeated."),
]
Way = Annotated[
    Literal["both", "out", "in"], Option("--direction", help="Which links of a record to follow.")
]


@verb
def show(
    call: Call,
    id: Start = None,
    hops: Hops = 1,
    kind: Kinds = None,
    direction: Way = "both",
    include: o.Include = None,
    limit: o.Limit = 120,
    after: o.After = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Show records and how they are linked: all, or those around one."""
    _check(id, hops, direction, after)
    with call.memory(having=id) as opened:
        memory, words = o.past(opened.scoped(user=user), at), o.included(include)
        if id is None:
            found = memory.graph.list(kinds=kind or (), include=words, limit=limit, after=after)
        else:
            found = memory.graph.neighbours(
                id, hops=hops, kinds=kind or (), direction=direction, include=words, limit=limit
            )
    lines = _listed(found, after) if id is None else _drawn(found)
    call.answer(found, lambda _: plain.say(*lines))
    if not found.records and after is None:  # the end of a list is an answer
        raise Exit(answer.NO)


def _check(id: str | None, hops: int, direction: str, after: str | None) -> None:
    """Refuses options that only the other form of the verb has."""
    if id is not None and after is not None:
        raise InvalidInput(
            "--after continues the list of all records, and an id was given",
            hint="leave out the id, or raise --limit",
        )
    if id is None and (hops != 1 or direction != "both"):
        raise InvalidInput(
            "--hops and --direction start from a record, and no id was given",
            hint="name the record: recollect graph show ID --hops 2",
        )


@verb
def path(
    call: Call,
    a: From,
    b: To,
    kind: Kinds = None,
    direction: Way = "both",
    include: o.Include = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Show the shortest path of links between two records."""
    with call.memory(having=a) as opened:
        memory = o.past(opened.scoped(user=user), at)
        found = memory.graph.path(
            a, b, kinds=kind or (), direction=direction, include=o.included(include)
        )
    call.answer(found, lambda _: plain.say(*_steps(found, a, b)))
    if not found.records:
        raise Exit(answer.NO)


@verb
def link(
    call: Call,
    source: Source,
    target: Target,
    kind: LinkKind = "relates_to",
    weight: Weight = 1.0,
    name: LinkName = None,
) -> None:
    """Link two records; a link has a kind and a direction."""
    with call.memory(having=source) as memory:
        made = memory.graph.link(source, target, kind, weight=weight, name=name)
        call.answer(made, plain.link, memory)


@verb
def unlink(call: Call, source: Source, target: Target, kind: LinkKind = "relates_to") -> None:
    """Remove the link of a kind between two records."""
    with call.memory(having=source) as memory:
        memory.graph.unlink(source, target, kind)
    removed = {"source": source, "target": target, "kind": kind, "removed": True}
    call.answer(removed, lambda _: plain.say(f"Unlinked {source} and {target}"), memory)


def _steps(found: Graph, a: str, b: str) -> Iterator[str]:
    """A record on each line, and between two of them the link."""
    if not found.records:
        why = "; the search ended early, because there are too many" if found.more else ""
        yield f"No path leads from {plain.one_line(a)} to {plain.one_line(b)}{why}."
    for number, record in enumerate(found.records):
        if number:
            link = found.links[number - 1]
            arrow = "↓" if link.target == record.id else "↑"
            yield f"  {arrow} {plain.one_line(link.kind)}{_weight(link)}"
        yield _line(record)
    if found.records and found.more:
        yield plain.dim("there may be a shorter path: not every link was followed")


def _listed(found: Graph, after: str | None) -> Iterator[str]:
    """Each record with the links that start from it."""
    if not found.records:
        end = f"Nothing comes after {plain.one_line(after or '')}."
        yield "Nothing is kept here yet." if after is None else end
    by_source: dict[str, list[Link]] = {}
    for link in found.links:
        by_source.setdefault(link.source, []).append(link)
    for record in found.records:
        yield _line(record)
        links = by_source.get(record.id, [])
        for number, link in enumerate(links, 1):
            branch = "└─" if number == len(links) else "├─"
            yield f"{branch} {plain.one_line(link.kind)}{_weight(link)} → {plain.bold(link.target)}"
    if found.more:
        yield plain.dim(f"there is more: --after {found.records[-1].id}")


def _drawn(found: Graph) -> Iterator[str]:
    """A tree: each record below the one over which it was reached first."""
    start, *_ = records = {record.id: record for record in found.records}
    below: dict[str, list[tuple[Link, str, bool]]] = {}
    reached, places = {start}, {id: place for place, id in enumerate(records)}
    for link in found.links:
        near, far = sorted((link.source, link.target), key=places.__getitem__)
        below.setdefault(near, []).append((link, far, far not in reached))
        reached.add(far)
    yield _line(records[start])
    yield from _branches(start, records, below, "")
    if found.more:
        yield plain.dim("there is more: raise --limit, or ask for one --kind")


def _branches(
    id: str, records: dict[str, Record], below: dict[str, list[tuple[Link, str, bool]]], lead: str
) -> Iterator[str]:
    """What hangs below one record; as deep as there are hops."""
    mine = below.get(id, [])
    for number, (link, far, is_first) in enumerate(mine, 1):
        branch, rest = ("└─ ", "   ") if number == len(mine) else ("├─ ", "│  ")
        arrow = "→" if link.target == far else "←"
        kind = f"{plain.one_line(link.kind)}{_weight(link)} {arrow} "
        shown = lead + branch + kind
        if is_first:
            yield _line(records[far], shown)
            yield from _branches(far, records, below, lead + rest)
        else:
            yield f"{shown}{plain.bold(far)} {plain.dim('(see there)')}"


def _line(record: Record, lead: str = "") -> str:
    """The id and the text, cut to the terminal's width."""
    columns, text = plain.terminal_columns(), plain.one_line(record.text)
    room = max(columns - len(lead) - len(record.id) - 2, _LINE_MIN_COLUMNS)
    if columns and len(text) > room:
        text = text[: room - 1] + "…"
    return f"{lead}{plain.bold(record.id)}  {text}"


def _weight(link: Link) -> str:
    return "" if link.weight == 1 else f" {link.weight:g}"
