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

from recollect.errors import InvalidInput
from recollect.interfaces.cli.declare import Argument, Option
from recollect.memory import Memory
from recollect.model import values
from recollect.model.events import ROLES
from recollect.model.values import INCLUDES
from recollect.store.seam import REAL

_SPAN: Final = re.compile(r"(\d{1,6})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}  # each begins at midnight here
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
Id = Annotated[
    str,
    Argument(metavar="ID", help="A record or an episode: its id, its beginning, or a key."),
]
Ids = Annotated[
    list[str], Argument(metavar="ID...", help="The ids of records or episodes.", show_default=False)
]
RecordId = Annotated[
    str, Argument(metavar="ID", help="A record: its id, the beginning of it, or its key.")
]
Query = Annotated[str, Argument(metavar="QUERY", help="A question, or a few words.")]
MaybeQuery = Annotated[
    str, Argument(metavar="[QUERY]", help="A question, or a few words.", show_default=False)
]
Place = Annotated[
    str | None,
    Argument(metavar="[FOLDER]", help="Where to create it.  [default: the current folder]"),
]

Embedder = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="The embedder: none, static, model:NAME, onnx:FOLDER, https://HOST/v1#MODEL (sends "
        "texts to that host), or several joined by +.",
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
Expect = Annotated[
    int | None,
    Option(
        metavar="SEQ",
        help="Refuse if the record has changed since this event, its `seq` in --json.",
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
Branch = Annotated[
    str | None, Option(metavar="NAME", help="An open branch, where it waits until a merge.")
]
Session = Annotated[str | None, Option(metavar="NAME", help="The conversation it belongs to.")]
Agent = Annotated[str | None, Option(metavar="NAME", help="The agent that writes.")]
TrustOption = Annotated[
    Literal["person", "agent", "unverified"] | None,
    Option(help="Write with less trust than a person."),
]

# What a read shows.
Count = Annotated[int, Option("-k", metavar="N", help="The most hits to return.")]
Unit = Annotated[Literal["any", "record", "episode"], Option(help="What to look for.")]
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
    int | None, Option(metavar="N", help="The token budget.  [default: the preset's]")
]
Preset = Annotated[
    str, Option(metavar="NAME", help="The preset to use: self, attention, task, or one you set.")
]
MaybePreset = Annotated[
    str | None, Option("--preset", metavar="NAME", help="Ask about a context of this preset.")
]
Explain = Annotated[
    bool, Option("--explain", help="Show what each signal adds to the score of each hit.")
]
Full = Annotated[bool, Option("--full", help="Show whole texts, not only their first lines.")]
NoReceipt = Annotated[bool, Option("--no-receipt", help="Do not keep a receipt of this context.")]

# For assistants.
AsHook = Annotated[
    bool, Option("--hook", help="Answer an assistant's hook, read from stdin; always exits 0.")
]

# Which memory.
MountOption = Annotated[
    Literal["project", "personal"] | None,
    Option(
        "--memory",
        metavar="NAME",
        help="project or personal: which of the two memories that an assistant has.",
    ),
]

# Consent.
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only show what would be done.")]
KeepSources = Annotated[bool, Option("--keep-sources", help="Keep the episodes it is based on.")]


def expected(memory: Memory, id: str, seq: int | None) -> tuple[str, int] | None:
    """What --expect says about a record, which may be named by its key."""
    return None if seq is None else (memory.get(id, include=INCLUDES).id, seq)


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
    """All of stdin, which must be UTF-8; line ends become newlines."""
    try:
        data = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"stdin is not UTF-8: byte {error.start + 1:,} cannot be read",
            hint="convert it first, for example with `iconv -f latin1 -t utf-8`",
        ) from error
    return data.replace("\r\n", "\n").replace("\r", "\n")


def when(given: str | None, option: str, or_else: str = "") -> datetime | date | None:
    """An instant or a date; a time without a zone is local time."""
    if given is None:
        return None
    if given.lower() in _DAYS:
        today = datetime.fromisoformat(REAL.now()).astimezone().replace(tzinfo=None)
        midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight + timedelta(days=_DAYS[given.lower()])).astimezone()
    try:
        found = date.fromisoformat(given) if len(given) == 10 else datetime.fromisoformat(given)
    except ValueError as error:
        raise InvalidInput(
            f"{option}: {given!r} is not a date or an instant",
            hint=f"write {or_else}2026-01-31, 2026-01-31T09:30, 2026-01-31T09:30Z, today, "
            "yesterday or tomorrow",
        ) from error
    naive = isinstance(found, datetime) and found.tzinfo is None
    return found.astimezone() if naive and isinstance(found, datetime) else found


def expiry(given: str | None) -> datetime | date | timedelta | None:
    """An instant, or a span from now."""
    span = span_of(given or "")
    return when(given, "--expires", or_else="30d, 12h, ") if span is None else span


def span_of(given: str) -> timedelta | None:
    """A span such as 30d or 12h; None if it is not one."""
    span = _SPAN.fullmatch(given)
    return None if span is None else timedelta(**{_UNITS[span[2]]: int(span[1])})


def days(given: str) -> int:
    """A number of days: 30, or 30d."""
    number = given.removesuffix("d")
    if not _SEQ.fullmatch(number):
        raise InvalidInput(f"{given!r} is not a number of days", hint="write 30, or none")
    return int(number)


def is_position(at: str) -> bool:
    """True if an option names a position, not an instant or a date."""
    return _SEQ.fullmatch(at) is not None


def past(memory: Memory, at: str | None) -> Memory:
    """The memory as of ``at``, or the present memory if no ``at`` is given."""
    place = position(at, "--at")
    return memory if place is None else memory.at(place)


def position(given: str | None, option: str) -> int | datetime | str | None:
    """A position in the ledger: a number, an instant, or a date."""
    if given is not None and is_position(given):
        return int(given)
    moment = when(given, option)
    return moment if moment is None or isinstance(moment, datetime) else given
