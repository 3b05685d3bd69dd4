"""A page as text.

Responsible for the layout. Leaves single words to ``mirror.words`` and ``mirror.frontmatter``.
Invariants: the same page gives the same bytes; a change of one entry changes its lines alone, and
those of the frontmatter.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.mirror import frontmatter, words
from recollect.mirror.naming import INDEX, PREFIXES
from recollect.mirror.page import Entry, Page


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
    lines = ["# Index"]
    groups: dict[str, list[Page]] = {prefix: [] for prefix in (*PREFIXES, "")}
    for page in pages:
        prefix = page.name.partition("-")[0]
        groups[prefix if prefix in groups else ""].append(page)
    for prefix, group in groups.items():
        if group:
            lines += ["", f"## {prefix.title() or 'Other'}", ""]
            lines += [_listed(page) for page in sorted(group, key=lambda page: page.name)]
    return "\n".join(lines) + "\n"


def _listed(page: Page) -> str:
    count = len(page.entries)
    facts = [
        words.one_line(page.description),
        f"{count} {'entry' if count == 1 else 'entries'}",
        f"updated {page.updated[:10]}",
        "" if page.status == "active" else page.status,
    ]
    return f"- {words.link(page.title, page.name)}: {', '.join(fact for fact in facts if fact)}"
