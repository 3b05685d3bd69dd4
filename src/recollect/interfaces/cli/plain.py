"""Answers as lines of text: bold and dim on a terminal, unstyled in a pipe.

Responsible for what most verbs print. Leaves panels, timelines and progress to ``draw``, because
loading Rich takes longer than a recall. Invariant: text from a memory cannot control the terminal:
control, bidirectional and invisible characters are printed as visible marks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

from recollect.errors import Unavailable
from recollect.model import instants
from recollect.model.counts import counted
from recollect.model.reasons import sentence
from recollect.model.values import (
    Author,
    Episode,
    Erasure,
    Forgotten,
    Hit,
    Link,
    Recall,
    Record,
    Source,
)
from recollect.model.visible import shown

_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_LINE_ENDS: Final = dict.fromkeys((0x85, 0x2028, 0x2029), "\n")
_SAFE: Final = dict.fromkeys(range(0x7F, 0xA0), "\ufffd") | _PICTURES | _LINE_ENDS
_STYLE: Final = re.compile(r"(\x1b\[[012]m)")
_MIDNIGHT: Final = "T00:00:00.000000Z"
_TEXT_MAX_COLUMNS: Final = 100
_TEXT_MAX_LINES: Final = 3  # of a hit


def safe(text: str) -> str:
    """A text that cannot control the terminal; invisible characters become visible marks."""
    return shown(text.translate(_SAFE))


def one_line(text: str) -> str:
    """The same on one line."""
    return " ".join(safe(text).split())


def who(author: Author | None, origin: str, *, whole: bool = False) -> str:
    """Who acted: a name if there is one; ``whole`` also says whether it was checked."""
    if author is None:
        return origin
    name = one_line(str(author)) if origin == "person" else f"{origin} {one_line(str(author))}"
    if not whole or author.name is None:
        return name
    return f"{name} ({f'checked: {author.checked}' if author.checked else 'claimed'})"


def say(*lines: str) -> None:
    """Prints lines to stdout."""
    with writing_an_answer():
        _write(sys.stdout, lines)


@contextmanager
def writing_an_answer() -> Iterator[None]:
    """Turns a failed write of an answer into an error with a next step; a closed pipe stays one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = f"the answer could not be written: {error.strerror}"
        raise Unavailable(why, hint="write it to a place with room for it") from error


def say_to_stderr(*lines: str) -> None:
    """Prints lines to stderr."""
    _write(sys.stderr, lines)


def _write(stream: TextIO, lines: Iterable[str]) -> None:
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{_guarded(line)}\n" for line in lines)
    stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()


def _guarded(line: str) -> str:
    """Guards a finished line a second time, so that only our own styles reach the terminal."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(
        part if number % 2 else safe(part) for number, part in enumerate(_STYLE.split(line))
    )


def bold(text: str) -> str:
    """Strong on a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def dim(text: str) -> str:
    """Faint on a terminal."""
    return f"\x1b[2m{text}\x1b[0m" if sys.stdout.isatty() else text


def refuse(message: str, hint: str | None) -> None:
    """Prints what is wrong on one line, and what to do on the next."""
    say_to_stderr(f"recollect: {safe(message)}", *([f"     next: {safe(hint)}"] if hint else []))


def next_step(*commands: str) -> None:
    """Prints the commands a person may want to run next."""
    say(dim("Next: ") + dim("  or  ").join(commands))


def day(instant: str) -> str:
    """The date of a stored instant, in local time."""
    return moment(instant)[:10]


def moment(instant: str) -> str:
    """A stored instant to the second, in local time, in a form that `--at` accepts.

    One at midnight UTC was most likely given as a date, so it is shown as that date. What is no
    instant is shown as it is: a service can answer anything.
    """
    if not instant.endswith(_MIDNIGHT):
        try:
            local = instants.local(instant, None)
        except ValueError:
            return safe(instant)
        if local.utcoffset():
            return f"{local:%Y-%m-%d %H:%M:%S}"
    return f"{instant[:10]} {instant[11:19]}Z"


def terminal_columns() -> int:
    """The width of the terminal; 0 in a pipe."""
    if not sys.stdout.isatty():
        return 0
    import shutil  # slow to load

    return shutil.get_terminal_size().columns


def wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    """A text wrapped to the terminal's width; in a pipe, only at its own line breaks."""
    lines = safe(text).split("\n")
    if sys.stdout.isatty():
        import textwrap  # slow to load

        width = min(terminal_columns(), _TEXT_MAX_COLUMNS) - len(indent)
        lines = [part for line in lines for part in textwrap.wrap(line, max(width, 20)) or [""]]
    lead = indent if first is None else first
    return [f"{indent if number else lead}{line}" for number, line in enumerate(lines)]


def details(*parts: str | None) -> str:
    """Details about a record or token, in one dim line."""
    return dim(" · ".join(one_line(part) for part in parts if part))


# Answers.


MountOf = Callable[[Hit], str | None]  # the mount that a hit comes from


def unnamed(_: Hit) -> None:
    """For hits of a store that was named."""


def record(what: str, value: Record) -> None:
    """A record after something was done to it, or before something that waits."""
    if value.pending is not None:
        say(f"Not changed yet: {bold(value.id)}. The change waits as {value.pending}.")
        next_step("recollect review")
        return
    say(f"{what} {bold(value.id)}")
    say(*wrapped(value.text, "  "))
    say("  " + record_details(value))
    if value.status == "waiting":
        next_step("recollect review")


def standing(value: Record) -> str:
    """How a record stands, in words."""
    if value.reason is None or value.status == "replaced":
        return value.status
    why = sentence(value.reason)
    return why if value.status == "archived" else f"{value.status}, {why}"


def record_details(value: Record) -> str:
    """Kind, key, tags, trust and anything unusual."""
    status = None if value.status == "active" else standing(value)
    return details(
        value.kind,
        value.key,
        f"about {value.about}" if value.about else None,
        " ".join(f"#{tag}" for tag in value.tags),
        value.trust,
        f"until {moment(value.expires)}" if value.expires else None,
        f"replaces {value.replaces}" if value.replaces else None,
        status,
    )


def episodes(values: Sequence[Episode]) -> None:
    """Episodes that were just stored."""
    for value in values:
        say(f"Observed {bold(value.id)}")
        say(*wrapped(value.text, "  "))
        say("  " + details(value.role, value.scope.session, value.trust))


def recall(
    found: Recall,
    below: Callable[[Hit], None] | None = None,
    mount_of: MountOf = unnamed,
    *,
    full: bool = False,
) -> None:
    """Hits, best first; unverified ones apart; ``below`` adds lines under each hit.

    A text takes at most three lines, unless all of it is asked for.
    """
    if not found.hits:
        say(f"Nothing found for “{one_line(found.query)}”.")
        say(dim("use --include all to also search replaced, forgotten and hidden ones"))
    for number, hit in enumerate(found.hits, 1):
        _hit(hit, f"{number:>2}  ", below, mount_of(hit), full=full)
    if found.unverified:
        say("", dim("Unverified: quoted only, not used in answers or contexts"))
        for hit in found.unverified:
            _hit(hit, " ?  ", below, mount_of(hit), full=full)
    hidden = found.waiting - len(found.unverified)
    if hidden > 0:
        say(dim(f"{hidden} more waiting for review; --include waiting shows them"))


def _hit(
    hit: Hit,
    lead: str,
    below: Callable[[Hit], None] | None,
    mount: str | None,
    *,
    full: bool,
) -> None:
    lines = _shortened(hit.text, _TEXT_MAX_LINES, full, " " * len(lead), lead)
    is_cut = lines != wrapped(hit.text, " " * len(lead), lead)
    more = f"{len(hit.text):,} characters, --full shows them" if is_cut else None
    say(*(bold(line) for line in lines))
    said = hit.episode.role + " said" if hit.episode else None
    key = hit.record.key if hit.record else None
    doubt = hit.record.doubt if hit.record else None
    share = f"{hit.strength}, relevance {min(hit.relevance, 0.99):.2f}"
    say("    " + details(hit.id, mount, said, key, doubt, share, hit.trust, day(hit.at), more))
    for line in _heard(hit):
        say(dim(f"    {line}"))
    for source in hit.sources:
        say(*_shortened(quote(source), 1, full, "    "))
        for each in source.changed:
            say(dim(f"      since changed: {_in_short(each)}"))
    if below is not None:
        below(hit)


def _shortened(
    text: str, most: int, full: bool, indent: str, first: str | None = None
) -> list[str]:
    """The first lines of a text. In a pipe lines have no width, so characters are counted too."""
    if full:
        return wrapped(text, indent, first)
    lines = wrapped(text[: most * _TEXT_MAX_COLUMNS], indent, first)
    if len(lines) > most or len(text) > most * _TEXT_MAX_COLUMNS:
        *before, last = lines[:most]
        lines = [*before, f"{last.rstrip()} …"]
    return lines


def _heard(hit: Hit) -> list[str]:
    """What the conversation says about a hit: repeats, and what it corrects."""
    return [
        *([f"said {hit.said} times, last {day(hit.last_said)}"] if hit.last_said else []),
        *([f"newer than {', '.join(hit.corrects)}, which it contradicts"] if hit.corrects else []),
        *([f"a newer one contradicts it: {hit.corrected_by}"] if hit.corrected_by else []),
        *([_ended(hit.until, hit.current)] if hit.until and hit.current else []),
        *(f"since changed: {_in_short(each)}" for each in hit.changed),
    ]


def _ended(until: str, current: Record) -> str:
    """Until when an earlier value held, and what holds now."""
    return f"until {day(until)}, now: {_in_short(current)}"


def _in_short(record: Record) -> str:
    """The beginning of a record, and its id."""
    text = one_line(record.text)
    if len(text) > _TEXT_MAX_COLUMNS:
        text = text[:_TEXT_MAX_COLUMNS] + " …"
    return f"{text} ({record.id})"


def quote(source: Source) -> str:
    """An episode as evidence."""
    return f"“{one_line(source.quote)}” {source.role}, {day(source.said_at)}"


def listing(values: Sequence[Record | Episode], limit: int) -> None:
    """One line each, newest first."""
    if not values:
        say("Nothing to list.")
    columns = terminal_columns()
    width = max((len(value.id) for value in values), default=0)
    for value in values:
        text = f"{marks(value)}{one_line(value.text)}"
        room = columns - width - 2
        if 0 < room < len(text):
            text = text[: room - 1] + "…"
        say(f"{dim(value.id.ljust(width))}  {text}")
    if values and len(values) == limit:
        say(dim(f"{limit} shown; use --after {values[-1].id} to continue"))


def marks(value: Record | Episode) -> str:
    """The marks before the text in a listing."""
    if isinstance(value, Episode):
        return f"{value.role}: "
    doubt = f"[{value.doubt}] " if value.doubt else ""
    status = doubt if value.status == "active" else f"[{standing(value)}] {doubt}"
    return f"{status}{one_line(value.key)}: " if value.key else status


def forgotten(value: Forgotten) -> None:
    """What was removed from recall, and what is still shown."""
    if value.pending is not None:
        say(f"Not forgotten yet: {bold(value.id)}. That waits as {value.pending}.")
        next_step("recollect review")
        return
    say(f"Forgot {bold(value.id)}: recall and context no longer show it.")
    for id in value.hidden:
        say(f"  hidden with it  {id}")
    for id in value.showing:
        say(f"  still shown       {id}")
    next_step(f"recollect undo {value.id}")


def erasure(value: Erasure) -> None:
    """What was erased, and from where."""
    events = counted(len(value.events), "event")
    say(f"Erased {bold(value.id or amounts(value))} permanently ({events}).")
    for id in value.episodes if value.id else ():
        say(f"  erased too    {id}")
    for place in value.places:
        say(f"  {place}" if place.startswith("NOT ") else f"  cleaned       {place}")


def amounts(value: Erasure) -> str:
    """How many records, episodes and receipts an erasure is about."""
    each = {
        "record": value.records,
        "episode": value.episodes,
        "receipt": value.receipts,
        "name": value.authors,
    }
    found = [counted(len(ids), unit) for unit, ids in each.items() if ids]
    return " and ".join([", ".join(found[:-1]), found[-1]]) if found[1:] else "".join(found)


def link(value: Link) -> None:
    """A link."""
    say(f"Linked {bold(value.source)} {one_line(value.kind)} {bold(value.target)}")
