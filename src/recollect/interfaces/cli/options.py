"""The options of the verbs, and how their words become values.

Responsible for names, help and the parsing of instants, spans and lists of words. Leaves the
validation of values to ``model.validate``. Invariant: an option means the same in every verb.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Annotated, Final, Literal, cast

from typer import Argument, Option

from recollect.errors import InvalidInput
from recollect.memory import Memory
from recollect.model import values
from recollect.model.events import ROLES
from recollect.model.values import INCLUDES

_SPAN: Final = re.compile(r"(\d{1,6})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SEQ: Final = re.compile(r"\d{1,15}", re.ASCII)


def _includes(incomplete: str) -> list[str]:
    return [word for word in (*INCLUDES, "all") if word.startswith(incomplete)]


def _roles(incomplete: str) -> list[str]:
    return [word for word in ROLES if word.startswith(incomplete)]


# Arguments.
Text = Annotated[str, Argument(metavar="TEXT", help="The text; - reads it from stdin.")]
MaybeText = Annotated[
    str | None, Argument(metavar="[TEXT]", help="The text; - reads it from stdin.")
]
Id = Annotated[str, Argument(metavar="ID", help="The id of a record or an episode.")]
RecordId = Annotated[str, Argument(metavar="ID", help="The id of a record.")]
Query = Annotated[str, Argument(metavar="QUERY", help="A question, or a few words.")]
Place = Annotated[
    str | None,
    Argument(metavar="[FOLDER]", help="Where to create it.  [default: the current folder]"),
]

Embedder = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The embedder: none, static, onnx:FOLDER, https://HOST/v1#MODEL (sends texts to that "
        "host), or several joined by +.",
    ),
]

# What a record or an episode has.
Evidence = Annotated[
    list[str] | None,
    Option(metavar="ID", help="The id of an episode it is based on; may be repeated."),
]
Expires = Annotated[
    str | None, Option(metavar="WHEN", help="An instant, or a span such as 30d, 12h, 2w.")
]
Metadata = Annotated[str | None, Option(metavar="JSON", help="Any JSON object, stored as given.")]
NewId = Annotated[
    str | None, Option("--id", metavar="ID", help="An id to use instead of a generated one.")
]
IdempotencyKey = Annotated[
    str | None,
    Option(
        metavar="KEY",
        help="Names this call: repeating it with the same key returns the first outcome.",
    ),
]
Reason = Annotated[str | None, Option(metavar="TEXT", help="Why, for the history.")]
Role = Annotated[
    str, Option(metavar="ROLE", help="user, assistant, tool or system.", autocompletion=_roles)
]
SaidAt = Annotated[str | None, Option(metavar="WHEN", help="When it was said.  [default: now]")]
Messages = Annotated[
    str | None,
    Option(
        metavar="FILE", help="Messages as JSON, with role and content; - reads them from stdin."
    ),
]

# For whom, and how far to trust it.
User = Annotated[str | None, Option(metavar="NAME", help="The user, in a space shared by several.")]
Session = Annotated[str | None, Option(metavar="NAME", help="The conversation it belongs to.")]
Agent = Annotated[str | None, Option(metavar="NAME", help="The agent that writes.")]
Origin = Annotated[
    Literal["person", "agent", "unverified"] | None,
    Option(help="Write with less trust than a person."),
]

# What a read shows.
Count = Annotated[int, Option("-k", metavar="N", help="The most hits to return.")]
Unit = Annotated[Literal["any", "record", "episode"], Option(help="What to look for.")]
ListUnit = Annotated[Literal["record", "episode"], Option("--unit", help="What to list.")]
Include = Annotated[
    list[str] | None,
    Option(
        metavar="WORD",
        help=f"Also show what is {', '.join(INCLUDES)}, or all; may be repeated.",
        autocompletion=_includes,
    ),
]
Filter = Annotated[
    str | None,
    Option(metavar="FILTER", help="Only what matches, such as \"kind = 'fact' and data.n > 3\"."),
]
MinRelevance = Annotated[
    float | None, Option(metavar="0..1", help="Leave out hits less relevant than this.")
]
At = Annotated[str | None, Option(metavar="SEQ|WHEN", help="Read the memory as it was then.")]
Limit = Annotated[int, Option(metavar="N", help="The most to return.")]
After = Annotated[str | None, Option(metavar="ID", help="Continue after this id.")]
Tokens = Annotated[
    int | None, Option(metavar="N", help="The token budget.  [default: the frame's]")
]
Frame = Annotated[
    str, Option(metavar="NAME", help="The frame to use: self, attention, task, or one you set.")
]
MaybeFrame = Annotated[
    str | None, Option("--frame", metavar="NAME", help="Ask about a context of this frame.")
]
Explain = Annotated[
    bool, Option("--explain", help="Show what each signal adds to the score of each hit.")
]
NoReceipt = Annotated[bool, Option("--no-receipt", help="Do not keep a receipt of this context.")]

# For assistants.
AsHook = Annotated[
    bool, Option("--hook", help="Answer an assistant's hook, read from stdin; always exits 0.")
]

# Consent.
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
KeepSources = Annotated[bool, Option("--keep-sources", help="Keep the episodes it is based on.")]


def words(given: Iterable[str] | None) -> list[str]:
    """Splits the values of a repeated option, which may also be joined with commas."""
    return [word.strip() for part in given or () for word in part.split(",") if word.strip()]


def included(given: Iterable[str] | None) -> list[values.Include]:
    """The words of ``--include``."""
    found = words(given)
    return list(INCLUDES) if "all" in found else cast("list[values.Include]", found)


def text_of(given: str) -> str:
    """The argument itself, or stdin for ``-``, without the final newline."""
    return read_stdin().removesuffix("\n") if given == "-" else given


def read_stdin() -> str:
    """All of stdin."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"stdin is not UTF-8: {error}") from error


def when(given: str | None, option: str, or_else: str = "") -> datetime | date | None:
    """An instant or a date."""
    if given is None:
        return None
    try:
        found = date.fromisoformat(given) if len(given) == 10 else datetime.fromisoformat(given)
    except ValueError:
        found = None
    if found is None or (isinstance(found, datetime) and found.tzinfo is None):
        problem = "not a date or an instant" if found is None else "without a time zone"
        raise InvalidInput(
            f"{option}: {given!r} is {problem}",
            hint=f"write {or_else}2026-01-31, 2026-01-31T09:30Z or 2026-01-31T09:30+01:00",
        )
    return found


def expiry(given: str | None) -> datetime | date | timedelta | None:
    """An instant, or a span from now."""
    span = _SPAN.fullmatch(given or "")
    if span is None:
        return when(given, "--expires", or_else="30d, 12h, ")
    return timedelta(**{_UNITS[span[2]]: int(span[1])})


def past(memory: Memory, at: str | None) -> Memory:
    """The memory as of ``at``, or the present memory if no ``at`` is given."""
    if at is None:
        return memory
    if _SEQ.fullmatch(at):
        return memory.at(int(at))
    moment = when(at, "--at")
    if not isinstance(moment, datetime):
        return memory.at(at)
    return memory.at(moment)
