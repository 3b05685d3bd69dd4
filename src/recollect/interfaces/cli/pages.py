"""The verbs about pages.

Responsible for listing, showing and rendering them. Leaves what is on a page to the memory.
Invariant: a file that a person changed is named, and is overwritten only with ``--overwrite``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.model.values import PageInfo, PagesStatus, Rendered

Name = Annotated[str, Argument(metavar="NAME", help="The name of a page, such as user-profile.")]
Folder = Annotated[
    str | None,
    Argument(metavar="[FOLDER]", help="The folder of the pages.  [default: pages, in the memory]"),
]
Overwrite = Annotated[bool, Option("--overwrite", help="Also write files that you changed.")]


@verb
def list_all(call: Call, at: o.At = None) -> None:
    """List the pages of this memory."""
    with call.memory() as memory:
        found = o.past(memory, at).pages.list()
    call.answer({"pages": found}, lambda _: plain.say(*map(line_of, found)))


@verb
def show(call: Call, name: Name, at: o.At = None) -> None:
    """Show a page as it would be rendered now."""
    with call.memory() as memory:
        text = o.past(memory, at).pages.read(name)
    call.answer({"name": name, "text": text}, lambda _: plain.say(plain.safe(text.rstrip("\n"))))


@verb
def render(call: Call, folder: Folder = None, overwrite: Overwrite = False) -> None:
    """Write the pages that changed; `recollect sync` also reads your edits."""
    with call.memory() as memory:
        done = memory.pages.render(folder, overwrite=overwrite)
    call.answer(done, _rendered)


@verb
def status(call: Call, folder: Folder = None) -> None:
    """Show which pages are current, and which you changed."""
    with call.memory() as memory:
        found = memory.pages.status(folder)
    call.answer(found, _standing)


def line_of(page: PageInfo) -> str:
    """The name, its description, and how many entries it has."""
    state = "" if page.status == "active" else f", {page.status}"
    entries = "1 entry" if page.entry_count == 1 else f"{page.entry_count:,} entries"
    suggested = ", condensing is suggested" if page.compact_reason else ""
    flagged = ", flagged" if page.needs_compact else suggested
    why = f" ({plain.one_line(page.compact_reason)})" if page.compact_reason else ""
    facts = f"{entries}, updated {page.updated[:10]}{state}{flagged}{why}"
    name = plain.bold(plain.one_line(page.name))
    return f"{name}  {plain.one_line(page.description)}  {plain.dim(facts)}"


def _rendered(done: Rendered) -> None:
    pages = f"{len(done.written)} written, {len(done.removed)} removed, {done.unchanged} unchanged"
    plain.say(f"{plain.one_line(done.folder)}: {pages}")
    _edited(done.edited)


def _standing(found: PagesStatus) -> None:
    pages = f"{found.current} current, {len(found.outdated)} outdated, {len(found.missing)} missing"
    plain.say(f"{plain.one_line(found.folder)}: {pages}")
    _edited(found.edited)


def _edited(names: Sequence[str]) -> None:
    if names:
        plain.say("Changed by hand and left as they are (`recollect sync` takes them over):")
        plain.say(*(f"  {plain.one_line(name)}" for name in names))
