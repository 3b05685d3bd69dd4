"""The verbs about pages.

Responsible for listing, showing and rendering them. Leaves what is on a page to the memory.
Invariant: a file that says more than the memory is named, and gives way only with ``--overwrite``,
which keeps it aside.
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
Overwrite = Annotated[
    bool, Option("--overwrite", help="Also write files that you changed; what they said is kept.")
]
_HOW = " (`recollect pages sync` shows why)"


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
    """Write the pages that changed; `recollect pages sync` also reads your edits."""
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
    say_what_was_left(done.edited, _HOW)
    say_what_is_aside(done.aside)
    say_what_was_deleted(done.restored)


def _standing(found: PagesStatus) -> None:
    pages = f"{found.current} current, {len(found.outdated)} outdated, {len(found.missing)} missing"
    plain.say(f"{plain.one_line(found.folder)}: {pages}")
    say_what_was_left(found.edited, _HOW)


def say_what_was_left(names: Sequence[str], hint: str = "") -> None:
    """Names the files that a rendering did not touch."""
    if names:
        plain.say(f"Left as they are, because the memory does not say all that they say{hint}:")
        plain.say(*(f"  {plain.one_line(name)}" for name in names))


def say_what_was_deleted(names: Sequence[str]) -> None:
    """Names the files that a person had deleted."""
    if names:
        plain.say("Written again, because the memory still says it; `recollect forget` ends that:")
        plain.say(*(f"  {plain.one_line(name)}" for name in names))


def say_what_is_aside(names: Sequence[str]) -> None:
    """Names the files that made room for pages."""
    if names:
        plain.say("Kept aside, because pages took their place:")
        plain.say(*(f"  {plain.one_line(name)}" for name in names))
