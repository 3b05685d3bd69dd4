"""The screen of one proposal, drawn with Rich.

Responsible for what a person sees before deciding: what changes, who says so, what was said. Leaves
asking to ``review``. Invariant: everything that an approval is about is on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from recollect.interfaces.cli.plain import day
from recollect.interfaces.cli.screens.draw import console, words
from recollect.model.values import Proposal, Quoted, Record

_BESIDE_MIN_COLUMNS = 100  # two texts side by side
_MAX_COLUMNS = 120
_TRUST = {"person": "green", "agent": "cyan", "unverified": "yellow"}
_QUOTES_SHOWN = 3
_RESTING_SHOWN = 3
_COMPARED_MAX_PAIRS = 20_000  # of words: it takes time with their cube


def screen(value: Proposal, *, title: str, more: bool) -> None:
    """Draws one proposal; with ``more`` also its ids, its digest and all its quotes."""
    out = console()
    width = min(out.width, _MAX_COLUMNS)
    parts: list[RenderableType] = [_change(value, width >= _BESIDE_MIN_COLUMNS), Text()]
    parts += _facts(value, more)
    border = "yellow" if value.stale else "cyan"
    out.print(
        Panel(
            Group(*parts),
            title=words(title, "bold"),
            title_align="left",
            box=ROUNDED,
            border_style=border,
            width=width,
            padding=(1, 2),
        )
    )


def _change(value: Proposal, beside: bool) -> RenderableType:
    """What is there now and what it would become."""
    before = None if value.before is None else value.before.text
    old, new = marked(before or "", value.text or "")
    if value.intent == "delete":
        fate = "would be refuted: struck through" if value.refutes else "would be forgotten"
        return _labelled(fate, words(before or "", "red"))
    if before is None or value.text is None:
        return _labelled("would be new" if before is None else "stays", new if value.text else old)
    if not beside:
        return Group(_labelled("now", old), Text(), _labelled("would be", new))
    table = Table.grid(padding=(0, 3), expand=True)
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    table.add_row(_labelled("now", old), _labelled("would be", new))
    return table


def _blanks(text: str) -> list[str]:
    """The blanks between words that are more than a space."""
    return [one for one in re.findall(r"\s+", text) if one != " "]


def _labelled(label: str, text: Text) -> RenderableType:
    return Group(Text(label, style="dim"), text)


def marked(before: str, after: str) -> tuple[Text, Text]:
    """Both texts, with the words that differ set off."""
    old, new = before.split(), after.split()
    if old == new and before != after:  # nothing but blanks, which are drawn
        return words(_drawn(before), "red"), words(_drawn(after), "bold green")
    left, right = Text(), Text()
    for what, a, b, c, d in _differences(old, new):
        is_same = what == "equal" or not old or not new
        _add(left, old[a:b], "" if is_same else "red")
        _add(right, new[c:d], "" if is_same else "bold green")
    return left, right


def _drawn(text: str) -> str:
    return text.replace(" ", "·").replace("\t", "⇥").replace("\n", "⏎\n")


def _differences(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """What differs; of long texts, all from the first word that does to the last."""
    if len(old) * len(new) <= _COMPARED_MAX_PAIRS:
        return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    least = min(len(old), len(new))
    start = next((n for n in range(least) if old[n] != new[n]), least)
    end = next((n for n in range(least - start) if old[~n] != new[~n]), least - start)
    a, b = len(old) - end, len(new) - end
    return [
        ("equal", 0, start, 0, start),
        ("replace", start, a, start, b),
        ("equal", a, len(old), b, len(new)),
    ]


def _add(text: Text, some: list[str], style: str) -> None:
    if some:
        text.append_text(Text(" ") if text else Text())
        text.append_text(words(" ".join(some), style))


def _facts(value: Proposal, more: bool) -> Iterator[RenderableType]:
    """Who says so, why, what was said, and what else would change."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for label, text in _rows(value, more):
        table.add_row(label, text)
    yield table


def _rows(value: Proposal, more: bool) -> Iterator[tuple[str, Text]]:
    yield "from", _who(value)
    if value.before is not None:
        yield "about", _record(value.before)
    for label, said in (
        ("kind", value.kind),
        ("confidence", value.confidence),
        ("key", value.key),
        ("subject", value.about),
        ("why", value.reason),
    ):
        if said is not None:
            yield label, words(said)
    if (
        value.before is not None
        and value.text
        and _blanks(value.before.text) != _blanks(value.text)
    ):
        yield "blanks", words("line breaks or other blanks would change too")
    for name, new in value.changes.items():
        if name == "replaces":
            yield "how", words("as a new record; the one above stays, struck through")
        elif not value.refutes:
            yield name, words(f"would become {new}")
    if value.rule:
        yield "rule", words(value.rule)
    shown = value.quotes if more else value.quotes[:_QUOTES_SHOWN]
    for quote in shown:
        yield "said", _quote(quote, more)
    if len(value.quotes) > len(shown):
        yield "", Text(f"and {len(value.quotes) - len(shown)} more: press m", style="dim")
    elsewhere = [name for name in value.evidence if name not in {q.episode for q in value.quotes}]
    if elsewhere:
        yield "rests on", words(", ".join(elsewhere))
    if value.resting:
        shown_records = value.resting if more else value.resting[:_RESTING_SHOWN]
        for number, record in enumerate(shown_records):
            yield "" if number else "used by", _user(record)
        rest = len(value.resting) - len(shown_records)
        if rest:
            yield "", Text(f"and {rest} more: press m", style="dim")
    if value.stale:
        yield "stale", Text("its target has changed since: it cannot be approved", style="yellow")
    if more:
        yield "id", words(value.id)
        yield "digest", words(value.digest)


def _who(value: Proposal) -> Text:
    """The trust of what is proposed, and who wrote it when."""
    text = Text(value.trust, style=_TRUST[value.trust])
    name = None if value.author is None else str(value.author)
    for part in (
        name,
        value.scope.agent if value.scope.agent != name else None,
        value.scope.user,
        value.scope.session,
        day(value.at),
    ):
        if part:
            text.append_text(words(f" · {part}"))
    return text


def _record(record: Record) -> Text:
    text = words(record.key or record.id)
    text.append_text(Text(f" · {record.trust}", style=_TRUST[record.trust]))
    text.append_text(words(f" · {day(record.at)}"))
    return text


def _user(record: Record) -> Text:
    text = words(record.text)
    text.append_text(words(f"  {record.key or record.id}", "dim"))
    return text


def _quote(quote: Quoted, more: bool) -> Text:
    text = Text(f"{day(quote.said_at)} {quote.role}: ", style="dim")
    text.append_text(words(f"“{quote.words}”", _TRUST[quote.trust]))
    if more:
        text.append_text(words(f"  {quote.episode}", "dim"))
    return text
