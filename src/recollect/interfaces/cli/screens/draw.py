"""Output drawn with Rich: panels, timelines, findings, progress.

Responsible for every use of Rich. Leaves plain lines to ``plain``. Invariants: text from a memory
is never parsed as markup, and reaches the terminal only through ``plain.safe``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Protocol

import msgspec
from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from recollect.interfaces.cli.plain import day, moment, safe, standing, who
from recollect.model.events import NOTED
from recollect.model.values import Episode, Finding, Link, Record, Source, Version, Why
from recollect.store.port import Progress

_TRUST = {"person": "green", "agent": "cyan", "unverified": "yellow", "system": "magenta"}
_STATUS = {"active": "green", "visible": "green", "inbox": "cyan", "waiting": "yellow"}
_MARKS = {  # a sign, its style, and the style of what follows
    "good": ("✓ ", "green", ""),
    "quote": ("  ", "", "italic"),
    "note": ("→ ", "cyan", "dim"),
    "warn": ("! ", "yellow", ""),
    "plain": ("", "", ""),
}
_PANEL_MAX_COLUMNS = 100
_BESIDE_MIN_COLUMNS = 72
_LEVELS = {"ok": ("✓", "green"), "note": ("•", "cyan"), "problem": ("✗", "red")}


def console() -> Console:
    """The terminal or pipe; a character it cannot encode becomes a question mark."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


def _is_narrow() -> bool:
    """True if the terminal has no room for a text beside its columns."""
    return console().width < _BESIDE_MIN_COLUMNS


def words(text: object, style: str = "") -> Text:
    """Text from a memory, made safe for the terminal."""
    return Text(safe(str(text)), style=style)


# One record or episode.


def record_view(record: Record, history: Sequence[Version], why: Why) -> None:
    """A record with its history, evidence and relations."""
    out = console()
    out.print(_panel(record.id, record.text, _record_fields(record, why)))
    _section(out, "History", timeline(history))
    if why.sources or why.other_evidence:
        others = [words(f"see {other}") for other in why.other_evidence]
        _section(out, "Based on", Group(*map(source_line, why.sources), *others))
    if why.replaced:
        _section(out, "Replaces", Group(*map(_short, why.replaced)))
    if why.replaced_by is not None:
        _section(out, "Replaced by", _short(why.replaced_by))
    if why.links:
        _section(out, "Links", Group(*(_link(link, record.id) for link in why.links)))


def episode_view(episode: Episode) -> None:
    """An episode, verbatim."""
    fields = {
        "role": words(episode.role),
        "trust": words(episode.trust, _TRUST[episode.trust]),
        "status": words(episode.status, _STATUS.get(episode.status, "dim")),
        "said": words(moment(episode.said_at)),
        "written": words(f"{moment(episode.at)}, event {episode.seq}"),
        **_scope(episode.scope.to_dict()),
        "metadata": _json(episode.metadata),
    }
    console().print(_panel(episode.id, episode.text, _present(fields)))


def _panel(title: str, text: str, fields: Mapping[str, Text]) -> Panel:
    """The text on top, fields in two columns below."""
    pairs = 1 if _is_narrow() else 2
    grid = Table.grid(padding=(0, 2))
    for _ in range(pairs):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
    cells = [cell for name, value in fields.items() for cell in (Text(name), value)]
    for start in range(0, len(cells), 2 * pairs):
        grid.add_row(*cells[start : start + 2 * pairs])
    return Panel(
        Group(words(text, "bold"), Text(), grid),
        title=words(title, "cyan"),
        title_align="left",
        box=ROUNDED,
        padding=(1, 2),
        width=min(console().width, _PANEL_MAX_COLUMNS),
    )


def _record_fields(record: Record, why: Why) -> dict[str, Text]:
    fields: dict[str, Text | None] = {
        "key": _maybe(record.key),
        "status": words(standing(record), _STATUS.get(record.status, "dim")),
        "kind": words(f"{record.kind}, hypothesis" if record.is_hypothesis else record.kind),
        "trust": words(record.trust, _TRUST[record.trust]),
        "about": _maybe(record.about),
        "by": words(f"{who(why.author, why.by, whole=True)}, {record.how_known}"),
        "tags": _maybe(" ".join(f"#{tag}" for tag in record.tags)),
        "confidence": words(f"{record.confidence:.2f}"),
        "valid": _maybe(_span(record.valid_from, record.valid_to)),
        "expires": _maybe(moment(record.expires) if record.expires else None),
        "restated": words(record.reinforcement_count) if record.reinforcement_count else None,
        "said": _maybe(moment(record.said_at) if record.said_at else None),
        **{name: _maybe(getattr(record, name)) for name in NOTED},
        "written": words(f"{moment(record.at)}, event {record.seq}"),
        **_scope(record.scope.to_dict()),
        "data": _json(record.data),
    }
    return _present(fields)


def _present(fields: Mapping[str, Text | None]) -> dict[str, Text]:
    return {name: value for name, value in fields.items() if value is not None}


def _json(data: Mapping[str, object]) -> Text | None:
    return words(msgspec.json.encode(data).decode()) if data else None


def _maybe(text: str | None) -> Text | None:
    return words(text) if text else None


def _span(start: str | None, end: str | None) -> str | None:
    parts = [f"from {day(start)}" if start else "", f"to {day(end)}" if end else ""]
    return " ".join(part for part in parts if part) or None


def _scope(scope: Mapping[str, object]) -> dict[str, Text]:
    return {name: words(value) for name, value in scope.items() if value}


# Parts.


def timeline(history: Sequence[Version]) -> RenderableType:
    """What happened to a record, oldest first; on a narrow terminal each text has its own lines."""
    grid = Table.grid(padding=(0, 2))
    for style in ("cyan", "dim", "", "dim"):
        grid.add_column(style=style, no_wrap=True)
    grid.add_column(overflow="fold")
    lines: list[RenderableType] = []
    before = None
    for version in history:
        said = version.record.text if version.record.text != before else ""
        before = version.record.text
        note = f"  ({safe(version.note)})" if version.note else ""
        cells = (
            f"● {version.seq}",
            moment(version.at),
            version.what,
            who(version.author, version.by),
        )
        text = words(said).append(note, "dim")
        grid.add_row(*cells, text)
        lines += [Text("  ".join(cells), "dim"), Padding(text, (0, 0, 0, 2), expand=False)]
    return Group(*lines) if _is_narrow() else grid


def source_line(source: Source) -> Text:
    """A quote, who said it, and when."""
    quote = (f"“{safe(source.quote)}”", "italic")
    line = Text.assemble(quote, (f"  {source.role}, {day(source.said_at)}, {source.id}", "dim"))
    return line if source.status == "visible" else line.append(f"  {source.status}", "yellow")


def _short(record: Record) -> Text:
    return Text.assemble((f"{record.id}  ", "dim"), safe(record.text))


def _link(link: Link, here: str) -> Text:
    sign, other = ("→ ", link.target) if link.source == here else ("← ", link.source)
    weight = "" if link.weight == 1 else f"  weight {link.weight:g}"
    return Text.assemble((sign, "cyan"), safe(link.kind), (f"  {other}{weight}", "dim"))


def _section(out: Console, title: str, body: RenderableType) -> None:
    out.print(Text(f"\n {title}", "bold"))
    out.print(Padding(body, (0, 0, 0, 3), expand=False), width=min(out.width, _PANEL_MAX_COLUMNS))


# The demo.


class Scene(Protocol):
    """One step of a story."""

    @property
    def title(self) -> str: ...
    @property
    def caption(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def lines(self) -> tuple[tuple[str, str], ...]: ...


def story_view(where: str, scenes: Sequence[Scene], commands: Sequence[str]) -> None:
    """A story, scene by scene, and the commands to run next."""
    out = console()
    out.print(Text.assemble(("recollect demo", "bold"), (f"  a memory in {safe(where)}", "dim")))
    for number, scene in enumerate(scenes, 1):
        out.print(Text.assemble((f"\n{number}  ", "bold cyan"), (scene.title, "bold")))
        out.print(Text(f"   {scene.caption}", "dim"))
        out.print(Text.assemble(("   $ ", "cyan"), scene.command), soft_wrap=True)
        for mark, text in scene.lines:
            sign, sign_style, text_style = _MARKS[mark]
            line = Text.assemble((sign, sign_style), (safe(text), text_style))
            out.print(Padding(line, (0, 0, 0, 5), expand=False))
    out.print(Text("\nNext", "bold"))
    for command in commands:
        out.print(Text.assemble(("   $ ", "cyan"), safe(command)), soft_wrap=True)


# Upkeep.


def findings(found: Sequence[Finding]) -> None:
    """What ``doctor`` found, each finding with its fix."""
    out = console()
    for finding in found:
        mark, style = _LEVELS[finding.level]
        what = (finding.what.ljust(12), "bold")
        line = Text.assemble((f"{mark} ", style), what, safe(finding.detail))
        out.print(line, soft_wrap=True)
        for number, step in enumerate(safe(finding.fix).split("\n") if finding.fix else ()):
            lead = "  " if number else "→ "
            out.print(Text.assemble((f"{'':<14}{lead}", style), step), soft_wrap=True)


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A progress bar that is removed when the work is done."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(title), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console(), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
