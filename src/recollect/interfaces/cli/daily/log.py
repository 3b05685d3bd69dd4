"""The list of events, printed once or followed.

Responsible for one line for each event and for waiting between two reads. Leaves finding the events
to the memory. Invariants: an event is printed once; following ends only with Ctrl-C.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option
from recollect.memory import Memory
from recollect.model.events import KINDS
from recollect.model.values import Change, EventView
from recollect.model.visible import escaped

_POLL_S: Final = 0.5
_PAGE: Final = 1_000


def _kinds(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


Kind = Annotated[
    list[str] | None,
    Option(
        "--kind",
        metavar="KIND",
        help="Only events of this kind, such as record.added; may be repeated.",
        autocompletion=_kinds,
    ),
]
About = Annotated[
    str | None,
    Option(
        "--id",
        metavar="ID",
        help="Only events about this record, episode, receipt, preset or document (type/name).",
    ),
]
After = Annotated[
    int | None,
    Option(
        "--after",
        metavar="SEQ",
        help="Only events after this one, the first of them instead of the last.",
    ),
]
One = Annotated[
    int | None,
    Option("--event", metavar="SEQ", help="Show this event alone, with all that the ledger has."),
]
Follow = Annotated[
    bool, Option("--follow", "-f", help="Also print new events as they are written, until Ctrl-C.")
]


@verb
def log(
    call: Call,
    kind: Kind = None,
    id: About = None,
    limit: o.Limit = 100,
    after: After = None,
    event: One = None,
    follow: Follow = False,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """List the last events, oldest first; --follow also prints new ones."""
    if follow and at is not None:
        raise InvalidInput("--follow and --at exclude each other", hint="give at most one of them")
    with call.memory() as opened:
        memory = o.past(opened.scoped(user=user), at)
        if event is not None:
            call.answer(memory.events.get(event), _whole)
            return
        here = memory.events.position
        before = here + 1 if after is None else None  # the last ones, or the first ones after it
        found = memory.events.list(
            kinds=kind or (), id=id, after=after or 0, before=before, limit=limit
        )
        if not follow:
            call.answer({"events": found}, _listed)
            return
        _print(call, found)
        try:
            last = found[-1].seq if found else here
            is_page = after is not None and len(found) == limit  # more may follow it
            seen = last if is_page else max(here, last)
            _follow(call, memory, kind or [], id, seen)
        except KeyboardInterrupt:
            return


def _follow(call: Call, memory: Memory, kinds: Sequence[str], id: str | None, seen: int) -> None:
    """Polls the position, which is cheap, and reads events only when it has changed."""
    pause = threading.Event()
    while True:
        while (here := memory.events.position) > seen:
            page = memory.events.list(kinds=kinds, id=id, after=seen, limit=_PAGE)
            _print(call, page)
            last = page[-1].seq if page else seen
            seen = last if len(page) == _PAGE else max(here, last)
        pause.wait(_POLL_S)


def _print(call: Call, page: Sequence[Change]) -> None:
    """Prints each event as a line of JSON or of text."""
    if not call.json:
        plain.say(*map(_line, page))
        return
    for change in page:
        sys.stdout.buffer.write(escaped(msgspec.json.encode(change).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()


def _whole(event: EventView) -> None:
    """Prints the header, then each field of the body."""
    who = plain.who(event.author, event.by, whole=True)
    plain.say(f"Event {event.seq:,}: {event.kind} by {who}, {plain.moment(event.at)}")
    plain.say(f"  hash {event.hash}")
    if event.erased_by is not None:
        plain.say(f"  Its body was erased by event {event.erased_by:,}.")
    for name, value in (event.body or {}).items():
        said = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        plain.say(f"  {name}: {plain.one_line(said)}")


def _listed(found: dict[str, list[Change]]) -> None:
    plain.say(*map(_line, found["events"]))
    if not found["events"]:
        plain.say("No events to list.")


def _line(change: Change) -> str:
    kind = change.kind or "(erased)"
    text = f"  {plain.one_line(change.text)}" if change.text else ""
    about = f"{plain.one_line(change.id or '')}{text}"
    named = plain.who(change.author, change.by)
    colon = ":" if change.author is not None and about else ""
    who = "" if named == "person" else f"{named}{colon} "
    when = plain.dim(plain.moment(change.at))
    return f"{change.seq:>6,}  {when}  {plain.bold(kind):<18} {who}{about}".rstrip()
