"""Answers as lines of text: bold and dim on a terminal, unstyled in a pipe.

Responsible for what most verbs print. Leaves panels, timelines and progress to ``draw``, because
loading Rich takes longer than a recall. Invariant: text from a memory cannot control the terminal:
control, bidirectional and invisible characters are printed as visible marks.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TextIO

from recollect.model.reasons import sentence
from recollect.model.values import Episode, Erasure, Forgotten, Hit, Link, Recall, Record, Source
from recollect.model.visible import shown

_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_LINE_ENDS: Final = dict.fromkeys((0x85, 0x2028, 0x2029), "\n")
_SAFE: Final = dict.fromkeys(range(0x7F, 0xA0), "\ufffd") | _PICTURES | _LINE_ENDS
_STYLE: Final = re.compile(r"(\x1b\[[012]m)")
_TEXT_MAX_COLUMNS: Final = 100


def safe(text: str) -> str:
    """A text that cannot control the terminal; invisible characters become visible marks."""
    return shown(text.translate(_SAFE))


def one_line(text: str) -> str:
    """The same on one line."""
    return " ".join(safe(text).split())


def say(*lines: str) -> None:
    """Prints lines to stdout."""
    _write(sys.stdout, lines)


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
    """The date of a stored instant."""
    return instant[:10]


def moment(instant: str) -> str:
    """A stored instant to the second, in a form that `--at` accepts."""
    return f"{instant[:10]} {instant[11:19]}Z"


def wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    """A text wrapped to the terminal's width; in a pipe, only at its own line breaks."""
    lines = safe(text).split("\n")
    if sys.stdout.isatty():
        width = min(shutil.get_terminal_size().columns, _TEXT_MAX_COLUMNS) - len(indent)
        lines = [part for line in lines for part in textwrap.wrap(line, max(width, 20)) or [""]]
    lead = indent if first is None else first
    return [f"{indent if number else lead}{line}" for number, line in enumerate(lines)]


def details(*parts: str | None) -> str:
    """Details about a record or token, in one dim line."""
    return dim(" · ".join(one_line(part) for part in parts if part))


# Answers.


def record(what: str, value: Record) -> None:
    """A record after something was done to it."""
    say(f"{what} {bold(value.id)}")
    say(*wrapped(value.text, "  "))
    say("  " + record_details(value))


def standing(value: Record) -> str:
    """How a record stands, in words."""
    if value.reason is None:
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
        f"replaces {value.supersedes}" if value.supersedes else None,
        status,
    )


def episodes(values: Sequence[Episode]) -> None:
    """Episodes that were just stored."""
    for value in values:
        say(f"Observed {bold(value.id)}")
        say(*wrapped(value.text, "  "))
        say("  " + details(value.role, value.scope.session, value.trust))


def recall(found: Recall, below: Callable[[Hit], None] | None = None) -> None:
    """Hits, best first; unverified ones apart; ``below`` adds lines under each hit."""
    if not found.hits:
        say(f"Nothing found for “{one_line(found.query)}”.")
        say(dim("use --include all to also search superseded, forgotten and shadowed ones"))
    for number, hit in enumerate(found.hits, 1):
        _hit(hit, f"{number:>2}  ", below)
    if found.unverified:
        say("", dim("Unverified: quoted only, not used in answers or contexts"))
        for hit in found.unverified:
            _hit(hit, " ?  ", below)
    hidden = found.held - len(found.unverified)
    if hidden > 0:
        say(dim(f"{hidden} more held for review; --include held shows them"))


def _hit(hit: Hit, lead: str, below: Callable[[Hit], None] | None) -> None:
    lines = wrapped(hit.text, " " * len(lead), lead)
    say(*(bold(line) for line in lines))
    said = hit.episode.role + " said" if hit.episode else None
    key = hit.record.key if hit.record else None
    share = f"relevance {hit.relevance:.2f}"
    say("    " + details(hit.id, said, key, share, hit.trust, day(hit.at)))
    for source in hit.sources:
        say(*wrapped(quote(source), "    "))
    if below is not None:
        below(hit)


def quote(source: Source) -> str:
    """An episode as evidence."""
    return f"“{one_line(source.quote)}” {source.role}, {day(source.said_at)}"


def listing(values: Sequence[Record | Episode], limit: int) -> None:
    """One line each, newest first."""
    if not values:
        say("Nothing to list.")
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    width = max((len(value.id) for value in values), default=0)
    for value in values:
        text = f"{_marks(value)}{one_line(value.text)}"
        room = columns - width - 2
        if 0 < room < len(text):
            text = text[: room - 1] + "…"
        say(f"{dim(value.id.ljust(width))}  {text}")
    if values and len(values) == limit:
        say(dim(f"{limit} shown; use --after {values[-1].id} to continue"))


def _marks(value: Record | Episode) -> str:
    """The marks before the text in a listing."""
    if isinstance(value, Episode):
        return f"{value.role}: "
    status = "" if value.status == "active" else f"[{standing(value)}] "
    return f"{status}{one_line(value.key)}: " if value.key else status


def forgotten(value: Forgotten) -> None:
    """What was removed from recall, and what is still shown."""
    say(f"Forgot {bold(value.id)}: recall and context no longer show it.")
    for id in value.shadowed:
        say(f"  shadowed with it  {id}")
    for id in value.showing:
        say(f"  still shown       {id}")
    next_step(f"recollect restore {value.id}")


def erasure(value: Erasure) -> None:
    """What was erased, and from where."""
    say(f"Erased {bold(value.id)} permanently ({len(value.events)} events).")
    for id in value.episodes:
        say(f"  erased too    {id}")
    for id in value.kept:
        say(f"  kept          {id}, which other records need")
    for place in value.places:
        say(f"  cleaned       {place}")


def link(value: Link) -> None:
    """A link."""
    say(f"Linked {bold(value.source)} {one_line(value.kind)} {bold(value.target)}")
