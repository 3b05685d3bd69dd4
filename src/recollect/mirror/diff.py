"""What a person changed on a page.

Responsible for comparing a page as it was rendered with the page that was read. Leaves what becomes
of a change to others. Invariants: a page that was only rendered has no changes; an entry that is
missing is not a wish to remove it; of an id that is there twice only the first entry counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from recollect.mirror import words
from recollect.mirror.page import Entry, Page

What = Literal["text", "tags", "struck", "unstruck", "added", "missing", "unknown", "page"]


class Edit(NamedTuple):
    """One change by hand: what it is about and the new value."""

    what: What
    id: str | None = None  # of the entry; the name of the field if the page itself was changed
    text: str = ""
    tags: tuple[str, ...] = ()


def diff(rendered: Page, read: Page) -> list[Edit]:
    """The changes from one to the other, in the order of the page that was read."""
    before = {entry.id: entry for entry in rendered.entries if not entry.is_session}
    found, edits = set[str | None](), list(_of_page(rendered, read))
    for entry in read.entries:
        if entry.is_session:  # derived from records: there is nothing to change in it
            continue
        if entry.id is None:
            edits += [Edit("added", None, entry.text, entry.tags)] if entry.text else []
        elif entry.id not in before:
            edits.append(Edit("unknown", entry.id, entry.text, entry.tags))
        elif entry.id not in found:
            edits += _of_entry(before[entry.id], entry)
        found.add(entry.id)
    return edits + [Edit("missing", id) for id in before if id not in found]


def _of_entry(old: Entry, new: Entry) -> Iterator[Edit]:
    if not new.text:  # emptied: as if it were missing
        yield Edit("missing", old.id)
        return
    if new.text != words.normal(old.text):
        yield Edit("text", old.id, new.text)
    if new.struck != old.struck:
        yield Edit("struck" if new.struck else "unstruck", old.id)
    if set(new.tags) != set(old.tags):
        yield Edit("tags", old.id, tags=new.tags)


def _of_page(old: Page, new: Page) -> Iterator[Edit]:
    """What the frontmatter and the title say differently; what is only derived is not compared."""
    if new.description != old.description:
        yield Edit("page", "description", new.description)
    if set(new.tags) != set(old.tags):
        yield Edit("page", "tags", tags=new.tags)
    if new.status != old.status:
        yield Edit("page", "status", new.status)
    if new.needs_compact != old.needs_compact:
        yield Edit("page", "needs_compact", str(new.needs_compact).lower())
    if new.title and new.title != words.one_line(old.title):
        yield Edit("page", "title", new.title)
