"""The verb ``recollect proof audit``: a report for someone who checks a memory.

Responsible for its options, for its text and JSON, and for where the report goes. Leaves the
entries to ``memory.proof.audit``, and the page and the lines to ``exchange.audit``. Invariants:
the report is written as it is read, so its length needs no memory; no text of it acts on a
terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, get_args

import msgspec

from recollect.errors import InvalidInput
from recollect.exchange import audit as reports
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit, Option
from recollect.interfaces.cli.proof.proofs import new_file, write_new
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle, handle_of
from recollect.memory.proof.audit import Auditing
from recollect.model.instants import Moment
from recollect.model.values import AuditEntry, AuditHead, AuditLine
from recollect.model.visible import escaped
from recollect.recall.times import ALWAYS, span_of

Format = Literal["text", "json", "jsonl", "html"]

Since = Annotated[
    str | None,
    Option("--since", metavar="WHEN", help="Only from then on: 2026-01-31, monday, '3 days ago'."),
]
Until = Annotated[
    str | None, Option("--until", metavar="WHEN", help="Only up to then; a day is included.")
]
About = Annotated[
    str | None, Option("--id", metavar="ID", help="Only about this record, episode or receipt.")
]
FormatOption = Annotated[
    str,
    Option("--format", metavar="FORMAT", help="text, json, jsonl, or html: a page to print."),
]
Out = Annotated[
    str | None, Option("--out", metavar="FILE", help="Write the report to this new file.")
]


@verb
def audit(
    call: Call,
    since: Since = None,
    until: Until = None,
    id: About = None,
    format: FormatOption = "text",
    out: Out = None,
    at: o.At = None,
    user: o.User = None,
) -> None:
    """Report who said what, who approved it, and what was handed out."""
    chosen = _format(call, format)
    target = None if out is None else new_file(out)
    with call.memory() as opened:
        memory = o.past(opened.scoped(user=user), at)
        with call.progress("Verifying") as tick:
            check = memory.admin.verify(tick)
        found = _auditing(memory, since, until, id)
        pieces = _report(chosen, found.head(check), found.entries())
        if target is None:
            _print(pieces)
        else:
            write_new(target, pieces)
    if target is not None:
        call.note(f"Wrote the audit to {target}")
    if not check.ok:
        raise Exit(answer.NO)


def _format(call: Call, format: str) -> Format:
    for known in get_args(Format):
        if format == known:
            return "json" if call.json and known == "text" else known
    raise InvalidInput(
        f"{format!r} is not a format of an audit", hint=f"use one of: {', '.join(get_args(Format))}"
    )


def _auditing(memory: Memory, since: str | None, until: str | None, id: str | None) -> Auditing:
    handle = handle_of(memory)
    return Auditing(handle, _when(handle, since, "since"), _when(handle, until, "until"), id)


def _when(handle: Handle, given: str | None, word: str) -> Moment | None:
    """An instant; of a time in words the first one, or the last."""
    if given is None:
        return None
    span, rest = span_of(f"{word} {given}", handle.now(), handle.actor.tz_minutes)
    if span == ALWAYS or rest.strip() or _is_exact(given):
        return o.when(given, f"--{word}")
    return span.since if word == "since" else span.before


def _is_exact(given: str) -> bool:
    return given[:4].isdigit()


def _report(format: Format, head: AuditHead, entries: Iterable[AuditEntry]) -> Iterator[bytes]:
    if format == "html":
        return reports.page(head, entries)
    if format == "jsonl":
        return (escaped(each.decode()).encode() for each in reports.lines(entries))
    return _document(head, entries) if format == "json" else _text(head, entries)


def _print(pieces: Iterable[bytes]) -> None:
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _document(head: AuditHead, entries: Iterable[AuditEntry]) -> Iterator[bytes]:
    """One JSON document, an entry on each line."""
    yield b'{"audit":' + _json(head) + b',\n"entries":['
    comma = b"\n"
    for entry in entries:
        yield comma + _json(entry)
        comma = b",\n"
    yield b"\n]}\n"


def _json(value: AuditHead | AuditEntry) -> bytes:
    return escaped(msgspec.json.encode(value).decode()).encode()


def _text(head: AuditHead, entries: Iterable[AuditEntry]) -> Iterator[bytes]:
    through = "" if head.anchored_through is None else f" up to event {head.anchored_through:,}"
    yield _line(f"{plain.bold('Audit')} of {plain.one_line(head.space)}: {head.status}{through}")
    if head.problem:
        yield _line(f"  {plain.one_line(head.problem)}")
    yield _line(plain.dim(f"  {head.events:,} events, the last is {head.head}"), "")
    is_empty = True
    for entry in entries:
        is_empty = False
        yield _line(*_entry(entry))
    if is_empty:
        yield _line("Nothing is recorded for this range.")


def _entry(entry: AuditEntry) -> Iterator[str]:
    who = " ".join(
        part
        for part in (
            plain.who(entry.author, entry.by, whole=True),
            entry.scope.agent and f"({plain.one_line(entry.scope.agent)})",
            entry.scope.user and f"for {plain.one_line(entry.scope.user)}",
        )
        if part
    )
    signed = "" if entry.checkpoint is not None else plain.dim("  not signed")
    about = plain.one_line(entry.id or "")
    when = plain.dim(plain.moment(entry.at))
    yield f"{entry.seq:>6,}  {when}  {who}: {plain.bold(entry.what)} {about}{signed}"
    if entry.text:
        yield f"{'':8}{plain.one_line(entry.text)}"
    if entry.reason:
        yield f"{'':8}{plain.dim('reason: ' + plain.one_line(entry.reason))}"
    yield from (f"{'':8}{plain.dim(_item(entry.role_of_lines, each))}" for each in entry.lines)
    if entry.more:
        yield f"{'':8}{plain.dim(f'and {entry.more:,} more')}"


def _item(role: str, each: AuditLine) -> str:
    said = "erased" if each.text is None else plain.one_line(each.text)
    return f"{role} event {each.seq:,}: {said}".lstrip()


def _line(*lines: str) -> bytes:
    return "".join(f"{each.rstrip()}\n" for each in lines).encode()
