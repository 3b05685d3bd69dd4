"""What the text of a page says.

Responsible for finding the frontmatter, the title and the entries. Leaves what changed to
``mirror.diff``. Invariants: it never fails; what it cannot read stays where it stands and is
reported; only a line that begins with ``## [`` begins an entry.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from recollect.mirror import words
from recollect.mirror.frontmatter import FENCE, Fields, unfolded
from recollect.mirror.page import Entry, Page, Problem, Reading

_STARTS: Final = "## ["
_HEADING: Final = re.compile(
    r"## \[([^\[\]]*)\][ \t]*(?:\{(id|session):[ \t]*([^\s{}]+)[ \t]*\})?((?:[ \t]+#\S+)*)[ \t]*$"
)
# The last line of an entry, as OpenChronicle says what it took the place of.
_SUPERSEDES: Final = re.compile(
    r"(?:\A|\n)<!--[ \t]*supersedes:[ \t]*([^\s;<>]+)[ \t]*(?:;[ \t]*reason:([^\n<>]*))?-->\Z"
)
_STRUCK_THEN: Final = re.compile(r"(~~.+~~)\s+#superseded-by:(\S+)\Z", re.DOTALL)
_LINK: Final = re.compile(r"\[((?:[^\\\[\]]|\\.)*)\]\(([^()\s]+)\.md\)")
_RELATED: Final = " · Related: "
_SUPERSEDED: Final = "superseded-by:"
_SUCH_AS: Final = "## [today] #tag"
_BOM: Final = "\ufeff"


def parse(name: str, text: str) -> Reading:
    """Reads a page; ``name`` is that of its file, without the suffix."""
    lines = text.split("\n")
    plain = [line.rstrip("\r") for line in lines]  # converted twice, a line ends with two
    plain[0] = plain[0].removeprefix(_BOM)
    starts = [at for at, line in enumerate(plain) if line.startswith(_STARTS)]
    read = {at: entry for at in starts if (entry := _entry(plain[at])) is not None}
    page, problems, said = _head(name, plain[: min(read, default=len(plain))])
    problems += [
        Problem(at + 1, f"a heading that is not an entry, such as {_SUCH_AS}")
        for at in starts
        if at not in read
    ]
    ends = [*list(read)[1:], len(lines)]
    entries = [
        _with_body(entry, "\n".join(plain[at + 1 : end]))
        for (at, entry), end in zip(read.items(), ends, strict=bool(read))
    ]
    problems += _repeated(read)
    head, parts = _raw(lines, list(read))
    page = page._replace(entries=tuple(entries))
    return Reading(page, tuple(sorted(problems)), head, parts, said)


def _raw(lines: list[str], starts: list[int]) -> tuple[str, tuple[str, ...]]:
    """The text before the first entry and that of each entry, byte for byte."""
    cuts = [0, *starts, len(lines)]
    pieces = ["".join(f"{line}\n" for line in lines[start:end]) for start, end in pairwise(cuts)]
    pieces[-1] = pieces[-1][:-1]  # the last line has no end of its own
    return pieces[0], tuple(pieces[1:])


def _entry(line: str) -> Entry | None:
    """The entry that a line begins."""
    found = _HEADING.match(line)
    if found is None:
        return None
    at, kind, id, rest = found.groups()
    tags = [word[1:] for word in rest.split()]
    named = [tag.removeprefix(_SUPERSEDED) for tag in tags if tag.startswith(_SUPERSEDED)]
    return Entry(
        id=words.tag_of(id) if kind == "session" else id,
        at=at.strip(),
        text="",
        tags=tuple(words.tag_of(tag) for tag in tags if not tag.startswith(_SUPERSEDED)),
        superseded_by=named[-1] if named else None,
        is_session=kind == "session",
    )


def _with_body(entry: Entry, body: str) -> Entry:
    """An entry with its text; ``#superseded-by`` may also stand after the body."""
    body, entry = _without_comment(words.normal(body), entry)
    if words.is_emptied(body):
        return entry
    apart = None if body.endswith(words.STRIKE) else _STRUCK_THEN.match(body)
    if apart is not None:
        body, entry = apart[1], entry._replace(superseded_by=entry.superseded_by or apart[2])
    plain = words.unstruck(body)
    if plain is None:
        return entry._replace(text=words.text_of(body))
    return entry._replace(text=words.text_of(plain, struck=True), struck=True)


def _without_comment(body: str, entry: Entry) -> tuple[str, Entry]:
    """A body without the comment that names what the entry took the place of."""
    found = _SUPERSEDES.search(body)
    if found is None:
        return body, entry
    why = (found[2] or "").strip() or None
    return words.normal(body[: found.start()]), entry._replace(supersedes=found[1], why=why)


def of_record(entry: Entry, part: str, text: str, *, was_struck: bool) -> Entry:
    """An entry read with the text that its record had; ``part`` is the entry as it stands.

    A text with marks of its own can be read in two ways, and the record tells which one is meant.
    """
    body = words.normal(part.partition("\n")[2])
    if not entry.text or entry.text == text:
        return entry
    apart = None if body.endswith(words.STRIKE) else _STRUCK_THEN.match(body)
    if words.strikes(apart[1] if apart else body, text):
        return entry._replace(text=text, struck=True)
    if was_struck and not entry.struck and words.text_of(body, struck=True) == text:
        # The marks around it were removed, and those that escape its own are left.
        return entry._replace(text=text)
    return entry


def _head(name: str, lines: list[str]) -> tuple[Page, list[Problem], frozenset[str]]:
    """The frontmatter, the title and what stands before the first entry."""
    fields, rest = Fields(Page(name)), 0
    if lines and lines[0].rstrip() == FENCE:
        closing = [at for at, line in enumerate(lines) if at and line.rstrip() == FENCE]
        if not closing:
            fields.problems.append(Problem(1, "the frontmatter is not closed"))
        else:
            rest = closing[0] + 1
            for at, line in unfolded(lines[1 : rest - 1]):
                fields.read(at + 2, line)
    page, links, prose = fields.page, list[tuple[str, str]](), list[str]()
    has_links = False
    for line in lines[rest:]:
        if not page.title and line.startswith("# "):
            page = page._replace(title=line[2:].strip())
        elif line.startswith("[Index](") and not has_links:
            found, has_links = _LINK.findall(line)[1:], True
            links = [(file, re.sub(r"\\(.)", r"\1", title)) for title, file in found]
            # What a person wrote behind them.
            more = _LINK.sub("", line).removeprefix(_RELATED).strip(", \t")
            prose += [more] if more else []
        else:
            prose.append(line)
    page = page._replace(links=tuple(links), prose=words.text_of("\n".join(prose)))
    return page, fields.problems, frozenset(fields.said)


def _repeated(read: dict[int, Entry]) -> list[Problem]:
    """Ids that a page has twice: only the first is the record's entry."""
    seen, problems = set[tuple[bool, str]](), list[Problem]()
    for at, entry in read.items():
        if entry.id is None:
            continue
        if (entry.is_session, entry.id) in seen:
            problems.append(Problem(at + 1, f"{entry.id} is on this page twice"))
        seen.add((entry.is_session, entry.id))
    return problems
