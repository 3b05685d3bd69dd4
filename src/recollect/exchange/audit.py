"""An audit as lines of JSON and as one page to print.

Responsible for the bytes of both. Leaves the entries to ``memory.proof.audit`` and the file to
its callers. Invariants: the lines have the form of a workspace's ``audit.jsonl``; the page has no
script, loads nothing, and no text of a memory is markup in it or acts on the text beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from recollect.exchange.workspace import AUDIT_SCHEMA, line
from recollect.model.counts import counted
from recollect.model.validate import Json
from recollect.model.values import AuditEntry, AuditHead, AuditLine
from recollect.model.visible import shown

_DENIED: Final = ("proposal.rejected",)
_APPROVALS: Final = ("record.reviewed", "proposal.approved")
_FLUSH_BYTES: Final = 1 << 16

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
_STYLE: Final = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 10.5pt/1.45 "Liberation Sans", Arial, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 190mm; margin: 12mm auto; padding: 0 6mm; }
h1 { font-size: 19pt; line-height: 1.2; margin: 0 0 1mm; }
.lead { color: #555; margin: 0 0 5mm; }
dl { display: grid; grid-template-columns: 34mm 1fr; gap: 1mm 4mm; margin: 0 0 4mm; }
dt { color: #555; } dd { margin: 0; overflow-wrap: anywhere; }
code, .hash { font: 8.5pt/1.4 "Liberation Mono", "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
.status { border: 1px solid #1a1a1a; border-left-width: 5px; padding: 3mm 4mm; margin: 0 0 6mm;
  break-inside: avoid; }
.status.good { border-color: #2c6e49; } .status.fair { border-color: #9a6700; }
.status.bad { border-color: #b42318; }
.status b { display: block; font-size: 12pt; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; }
thead { display: table-header-group; }
th { text-align: left; font-size: 8.5pt; color: #555; font-weight: 600;
  border-bottom: 1.5px solid #1a1a1a; padding: 1mm 2mm 1mm 0; }
td { vertical-align: top; border-bottom: 1px solid #ddd; padding: 1.6mm 2mm 1.6mm 0;
  overflow-wrap: anywhere; }
tr { break-inside: avoid; }
.seq { width: 15mm; font-variant-numeric: tabular-nums; }
.when { width: 24mm; font-variant-numeric: tabular-nums; } .who { width: 30mm; }
.sign { width: 21mm; font-variant-numeric: tabular-nums; }
td.seq, td.when, td.sign { font-size: 9pt; }
.what { font-weight: 600; }
.small { font-size: 8.5pt; color: #555; }
.text { margin: .6mm 0 0; white-space: pre-wrap; unicode-bidi: isolate; }
.reason { font-style: italic; }
.items { margin: 1mm 0 0; padding-left: 4mm; font-size: 9.5pt; } .items li { margin: 0 0 .5mm; }
tr.mark td { background: #eef4f0; border-bottom-color: #b9d3c4; }
tr.gone td { background: #f6f1f1; }
tr.yes .what { color: #2c6e49; } tr.no .what { color: #b42318; }
.none, .doubt { color: #9a6700; }
footer { margin-top: 6mm; color: #555; font-size: 8.5pt; }
@page { size: A4; margin: 15mm 13mm 17mm;
  @bottom-right { content: "Page " counter(page) " of " counter(pages); font: 8pt sans-serif; } }
@media print { body { margin: 0; padding: 0; max-width: none; }
  .status, tr.mark td, tr.gone td { print-color-adjust: exact; } }
"""


def lines(entries: Iterable[AuditEntry]) -> Iterator[bytes]:
    """Lines of JSON, as a workspace's audit log has them, with where each stands in the ledger."""
    return (line(_record(entry)) for entry in entries)


def _record(entry: AuditEntry) -> dict[str, Json]:
    told: list[Json] = [_named(each) for each in entry.lines]
    return {
        "schema_version": AUDIT_SCHEMA,
        "at": entry.at,
        "action": entry.kind or "erased",
        "subject": entry.id,
        "outcome": "denied" if _is_refusal(entry) else "applied",
        "detail": entry.text,
        "approved_by": _name(entry) or entry.by if _is_approval(entry) else None,
        "digest": None,
        "seq": entry.seq,
        "what": entry.what,
        "by": entry.by,
        "author": None if entry.author is None else entry.author.to_dict(),
        "trust": entry.trust,
        "user": entry.scope.user,
        "session": entry.scope.session,
        "agent": entry.scope.agent,
        "reason": entry.reason,
        "lines": told,
        "more": entry.more,
        "checkpoint": entry.checkpoint,
    }


def _name(entry: AuditEntry) -> str | None:
    """The name of the person who did it, unless it was erased or never known."""
    return entry.author.name if entry.author is not None and entry.by == "person" else None


def _named(each: AuditLine) -> dict[str, Json]:
    return {"seq": each.seq, "id": each.id, "text": each.text}


def _is_approval(entry: AuditEntry) -> bool:
    return entry.kind in _APPROVALS and entry.what == "approved"


def _is_refusal(entry: AuditEntry) -> bool:
    return entry.kind in _DENIED or (entry.kind == "record.reviewed" and entry.what == "rejected")


def page(head: AuditHead, entries: Iterable[AuditEntry]) -> Iterator[bytes]:
    """One page of HTML, in pieces."""
    held, size, count = [*_top(head)], 0, 0
    for entry in entries:
        row = _row(entry)
        held.append(row)
        size, count = size + len(row), count + 1
        if size > _FLUSH_BYTES:
            yield "".join(held).encode()
            held, size = [], 0
    if not count:
        held.append('<tr><td colspan="5">Nothing is recorded for this range.</td></tr>\n')
    yield "".join([*held, *_bottom(head, count)]).encode()


def _top(head: AuditHead) -> Iterator[str]:
    title = f"Audit of the memory “{_said(head.space)}”"
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        '<p class="lead">Who told it what, who approved it, what it handed out, and what was '
        "erased, in the order of its ledger.</p>\n<dl>\n"
    )
    for name, value in _facts(head):
        yield f"<dt>{name}</dt><dd>{value}</dd>\n"
    look, title, detail = _standing(head)
    yield f'</dl>\n<div class="status {look}"><b>{title}</b>{detail}</div>\n<table>\n<thead><tr>'
    columns = (
        ("seq", "Event"), ("when", "When (UTC)"), ("who", "Who"), ("", "What"),
        ("sign", "Checkpoint"),
    )  # fmt: skip
    for name, heading in columns:
        yield f'<th scope="col" class="{name}">{heading}</th>'
    yield "</tr></thead>\n<tbody>\n"


def _facts(head: AuditHead) -> Iterator[tuple[str, str]]:
    yield "Range", _range(head)
    if head.id is not None:
        yield "Only about", f"<code>{_said(head.id)}</code>"
    if head.user is not None:
        yield "Only of user", _said(head.user)
    yield "Ledger", f"<code>{_said(head.ledger or 'no key is known for it here')}</code>"
    yield "Events in all", f"{head.events:,}"
    yield "Last hash", f'<span class="hash">{_said(head.head)}</span>'
    signed = "none that a known key signed"
    if head.checkpoints:
        signed = f"{head.checkpoints:,}, the last one over {counted(head.covered, 'event')}"
    yield "Checkpoints", signed
    yield "Written", _moment(head.made_at) + " UTC"


def _range(head: AuditHead) -> str:
    if head.since is None and head.before is None:
        return "everything"
    first = "the beginning" if head.since is None else _moment(head.since)
    return f"from {first} " + ("on" if head.before is None else f"to before {_moment(head.before)}")


def _standing(head: AuditHead) -> tuple[str, str, str]:
    """How the box about the verification looks, and what it says."""
    if head.status == "anchored":
        through = head.anchored_through or 0
        rest = head.events - through
        later = f" {counted(rest, 'later event')}: self-consistent only." if rest > 0 else ""
        return (
            "good",
            f"Anchored up to event {through:,}",
            f"The ledger agrees with a signed checkpoint that was kept elsewhere.{later}",
        )
    if head.status == "self-consistent":
        return (
            "fair",
            "Self-consistent",
            "No event contradicts another, but nothing that was kept elsewhere vouches for them.",
        )
    return "bad", _said(head.status.capitalize()), _said(head.problem or "")


def _row(entry: AuditEntry) -> str:
    if entry.unit == "checkpoint":
        return (
            f'<tr class="mark"><td class="seq">{entry.seq:,}</td><td colspan="4">'
            f'<span class="what">Checkpoint</span> of {_said(entry.text or "")}</td></tr>\n'
        )
    return (
        f'<tr{_look(entry)}><td class="seq">{entry.seq:,}</td>'
        f'<td class="when">{_moment(entry.at)}</td>'
        f"<td>{_who(entry)}</td><td>{''.join(_what(entry))}</td>"
        f'<td class="sign">{_signed(entry)}</td></tr>\n'
    )


def _look(entry: AuditEntry) -> str:
    if entry.kind in (None, "events.erased"):
        return ' class="gone"'
    if _is_approval(entry):
        return ' class="yes"'
    return ' class="no"' if _is_refusal(entry) else ""


def _signed(entry: AuditEntry) -> str:
    if entry.checkpoint is None:
        return '<span class="none">not yet</span>'
    return f"of {entry.checkpoint:,}"


def _who(entry: AuditEntry) -> str:
    doubtful = ' class="doubt"' if entry.by == "unverified" else ""
    whose = () if entry.author is None else (str(entry.author),)
    names = whose if whose and entry.by == "person" else (entry.by, *whose)
    parts = [f"<b{doubtful}>{_said(' '.join(names))}</b>"]
    if entry.author is not None and entry.author.name is not None:
        how = entry.author.checked
        parts.append(f'<span class="small">{f"checked by {how}" if how else "claimed"}</span>')
    named = (("by ", entry.scope.agent), ("for ", entry.scope.user), ("in ", entry.scope.session))
    parts += [f'<span class="small">{name}{_said(value)}</span>' for name, value in named if value]
    return "<br>".join(parts)


def _what(entry: AuditEntry) -> Iterator[str]:
    yield f'<span class="what">{_said(entry.what)}</span>'
    if entry.text:
        yield f'<p class="text">{_said(entry.text)}</p>'
    if entry.reason:
        yield f'<p class="text reason">Reason: {_said(entry.reason)}</p>'
    if entry.lines:
        yield '<ul class="items">'
        yield from (_item(entry.role_of_lines, each) for each in entry.lines)
        yield f"<li>and {entry.more:,} more</li></ul>" if entry.more else "</ul>"
    trust = None if entry.trust in (None, entry.by) else f"trust {entry.trust}"
    about = " · ".join(_said(part) for part in (entry.kind, entry.id, trust) if part)
    if about:
        yield f'<div class="small">{about}</div>'


def _item(role: str, each: AuditLine) -> str:
    named = f"{role} event {each.seq:,}".lstrip()
    if each.text is None:
        return f"<li>{named}, erased</li>"
    return f"<li>{named}: <bdi>{_said(each.text)}</bdi></li>"


def _bottom(head: AuditHead, count: int) -> Iterator[str]:
    yield "</tbody>\n</table>\n<footer>"
    yield f"{count:,} {'entry' if count == 1 else 'entries'}. Times are by the clock of the "
    yield "machine that wrote the event. Texts are shortened; one event whole, with its proof: "
    yield "<code>recollect proof prove --event N</code>. Characters that cannot be seen are marks "
    yield "such as [U+202E].</footer>\n</body>\n</html>\n"


def _said(text: str) -> str:
    """A text of a memory: escaped, with a mark for every character that cannot be seen."""
    return escape(shown(text), quote=True)


def _moment(at: str) -> str:
    return _said(at[:19].replace("T", " "))
