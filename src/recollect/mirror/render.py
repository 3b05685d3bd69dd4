"""A page as text.

Responsible for the layout. Leaves single words to ``mirror.words`` and ``mirror.frontmatter``.
Invariants: the same page gives the same bytes; a change of one entry changes its lines alone, and
those of the frontmatter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from recollect.mirror import frontmatter, words
from recollect.mirror.names import INDEX, PREFIXES
from recollect.mirror.page import STATUSES, Entry, Page

_INDEX: Final = "# Index"
_OTHER: Final = "Other"
_GROUP: Final = re.compile(f"## (?:{'|'.join((*(one.title() for one in PREFIXES), _OTHER))})")
_LISTED: Final = re.compile(
    r"- \[.*\]\(([^()\s]+)\.md\): (?:(.*), )?[0-9]+ entr(?:y|ies), updated [0-9-]{0,10}"
    f"(?:, (?:{'|'.join(STATUSES)}))?"
)


def render(page: Page) -> str:
    """The text of a page."""
    lines = [*frontmatter.lines_of(page), "", f"# {words.one_line(page.title)}", "", _links(page)]
    lines += ["", words.body(page.prose)] if page.prose else []
    for entry in page.entries:
        lines += ["", heading(entry), _body(entry)]
    return "\n".join(lines) + "\n"


def heading(entry: Entry) -> str:
    """The line that begins an entry."""
    name = "session" if entry.is_session else "id"
    parts = [f"## [{entry.at}]"]
    if entry.id is not None:
        parts.append(f"{{{name}: {words.hashtag(entry.id) if entry.is_session else entry.id}}}")
    parts += [f"#{words.hashtag(tag)}" for tag in entry.tags]
    if entry.superseded_by is not None:
        parts.append(f"#superseded-by:{entry.superseded_by}")
    return " ".join(parts)


def _body(entry: Entry) -> str:
    return words.body(entry.text, struck=entry.struck)


def _links(page: Page) -> str:
    related = ", ".join(words.link(title, name) for name, title in page.links)
    return words.link("Index", INDEX) + (f" · Related: {related}" if related else "")


def render_index(pages: Iterable[Page]) -> str:
    """The page that lists the others, by what they are about."""
    return index_of({page.name: listed(page) for page in pages})


def index_of(lines: Mapping[str, str]) -> str:
    """The index, from the line of each page."""
    text = [_INDEX]
    for prefix, names in _grouped(lines):
        text += ["", f"## {prefix.title() or _OTHER}", "", *(lines[name] for name in names)]
    return "\n".join(text) + "\n"


def index_lines(text: str, names: Collection[str]) -> dict[str, str] | None:
    """The line of each page in an index that lists these; None if it does not."""
    lines = [line for line in text.split("\n") if line.startswith("- ")]
    if len(lines) != len(names):
        return None
    in_order = (name for _, group in _grouped(names) for name in group)
    return dict(zip(in_order, lines, strict=True))


def added_to_index(text: str, says: Callable[[str, str], bool] | None = None) -> str | None:
    """What a person wrote into an index; None if the text is not an index.

    With ``says`` also the lines about pages that do not say their description themselves.
    """
    first, *lines = text.replace("\r\n", "\n").split("\n")
    if first != _INDEX:
        return None
    return "\n".join(line for line in lines if not _is_made(line, says)).strip()


def _is_made(line: str, says: Callable[[str, str], bool] | None) -> bool:
    """True for a line that an index is made of."""
    listed = _LISTED.fullmatch(line)
    if listed is None or says is None:
        return bool(listed or _GROUP.fullmatch(line))
    return says(listed[1], listed[2] or "")


def _grouped(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Names in the order of the index, by their prefix."""
    groups: dict[str, list[str]] = {prefix: [] for prefix in (*PREFIXES, "")}
    for name in sorted(names):
        prefix = name.partition("-")[0]
        groups[prefix if prefix in groups else ""].append(name)
    return [(prefix, group) for prefix, group in groups.items() if group]


def listed(page: Page) -> str:
    """The line of a page in the index."""
    count = len(page.entries)
    facts = [
        words.one_line(page.description),
        f"{count} {'entry' if count == 1 else 'entries'}",
        f"updated {page.updated[:10]}",
        "" if page.status == "active" else page.status,
    ]
    return f"- {words.link(page.title, page.name)}: {', '.join(fact for fact in facts if fact)}"
