"""What is newest, and what a memory holds in general.

Responsible for ``list --recent`` and for showing an overview. Leaves choosing what is in it to the
memory. Invariant: every line says when, and ends with an id that other commands take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from recollect.assistants.mounted import Mount
from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call
from recollect.interfaces.cli.daily import both
from recollect.interfaces.cli.daily.both import Of
from recollect.memory import Memory
from recollect.memory.handle.handle import clock_of
from recollect.model.instants import Moment
from recollect.model.values import Episode, Overview, Record, Value
from recollect.recall.times import ALWAYS, span_of

_LINE_MIN_COLUMNS: Final = 20


class Lately(NamedTuple):
    """What `list --recent` shows, beside how much of it."""

    unit: Literal["any", "record", "episode"]
    session: str | None
    agent: str | None
    since: str | None
    before: str | None


def listed(
    call: Call, wanted: Lately, limit: int, at: str | None, user: str | None, mount: Mount | None
) -> bool:
    """Prints what changed or was said last, newest first; True if there was anything."""

    def read(opened: Memory) -> list[Record | Episode]:
        memory = o.past(opened.scoped(user=user), at)
        return memory.sessions.recent(
            unit=wanted.unit,
            session=wanted.session,
            agent=wanted.agent,
            since=_when(memory, wanted.since, "--since"),
            before=_when(memory, wanted.before, "--before"),
            limit=limit,
        )

    each = call.ask(read, both.mount_at(call, mount, at))
    every = ((name, value) for name, values in each for value in values)
    found = sorted(every, key=lambda one: _instant(one[1]), reverse=True)[:limit]
    call.answer({"recent": documents(found)}, lambda _: _listing(found))
    return bool(found)


def documents(found: Sequence[Of[Value]]) -> list[both.Document]:
    """For programs: each value with its mount."""
    return [{**value.to_dict(), **({"memory": name} if name else {})} for name, value in found]


def overviews(views: Sequence[Of[Overview]]) -> None:
    """The groups of each memory's overview, and how much more there is."""
    if not any(view.records or view.episodes for _, view in views):
        is_dated = any(view.since or view.before for _, view in views)
        plain.say("Nothing is kept of that time." if is_dated else "Nothing is kept here yet.")
    for heading, members in (
        ("Most used", [(name, one) for name, view in views for one in view.used]),
        ("Changed last", [(name, one) for name, view in views for one in view.changed]),
        ("Said last", [(name, one) for name, view in views for one in view.said]),
    ):
        if members:
            plain.say(plain.bold(heading), *(f"  {line}" for line in _lines(members, 2)))
    records = sum(view.more_records for _, view in views)
    episodes = sum(view.more_episodes for _, view in views)
    more = [
        f"{count:,} more {noun}{'' if count == 1 else 's'}"
        for count, noun in ((records, "record"), (episodes, "episode"))
        if count
    ]
    if more:
        plain.say(plain.dim(f"{' and '.join(more)}; ask about something to find them"))


def _listing(found: Sequence[Of[Record | Episode]]) -> None:
    if not found:
        plain.say("Nothing found.")
    plain.say(*_lines(found))


def _lines(found: Sequence[Of[Record | Episode]], indent: int = 0) -> list[str]:
    """A line for each: the date, who said it or its key, the text, the memory and the id."""
    columns = plain.terminal_columns()
    room = columns and columns - indent
    return [_line(name, value, room) for name, value in found]


def _line(mount: Mount | None, value: Record | Episode, columns: int) -> str:
    day = plain.day(_instant(value)[0])
    text = f"{plain.marks(value)}{plain.one_line(value.text)}"
    end = f"  {f'{mount} ' if mount else ''}{value.id}"
    room = max(columns - len(day) - 2 - len(end), _LINE_MIN_COLUMNS)
    if columns and len(text) > room:
        text = text[: room - 1] + "…"
    return f"{plain.dim(day)}  {text}{plain.dim(end)}"


def _instant(value: Record | Episode) -> tuple[str, int]:
    return value.said_at or value.at, value.seq


def _when(memory: Memory, given: str | None, option: str) -> Moment | None:
    """An instant, or the first one of a time in words."""
    if given is None:
        return None
    span, rest = span_of(f"since {given}", *clock_of(memory))
    if span != ALWAYS and span.since is not None and not rest.strip():
        return span.since
    try:
        return o.when(given, option)
    except InvalidInput as error:
        hint = f"{error.hint}; or yesterday, monday, 'last week', '3 days ago'"
        raise InvalidInput(error.message, hint=hint) from error
