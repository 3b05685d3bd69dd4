"""The verbs that say something about a page.

Responsible for flags, status and descriptions. Leaves what is on a page to the memory. Invariant: a
name that no page has changes nothing, and the nearest names are told.
"""

from __future__ import annotations

from typing import Annotated

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option
from recollect.interfaces.cli.pages import Name, line_of
from recollect.model.values import PageInfo

Title = Annotated[str | None, Option(metavar="TEXT", help="Its heading; empty for the default.")]
Description = Annotated[
    str | None, Option(metavar="TEXT", help="One line about it; empty for the default.")
]
Tags = Annotated[
    str | None, Option(metavar="TAGS", help="Tags of the page, with commas; empty for none.")
]


@verb
def flag(call: Call, name: Name, reason: o.Reason = None) -> None:
    """Flag a page that should be condensed."""
    with call.memory() as memory:
        _answer(call, memory.pages.flag(name, reason))


@verb
def unflag(call: Call, name: Name) -> None:
    """Take back a page's flag."""
    with call.memory() as memory:
        _answer(call, memory.pages.unflag(name))


@verb
def archive(call: Call, name: Name) -> None:
    """Set a page's status to archived; `activate` takes it back."""
    with call.memory() as memory:
        _answer(call, memory.pages.archive(name))


@verb
def activate(call: Call, name: Name) -> None:
    """Set a page's status back to active."""
    with call.memory() as memory:
        _answer(call, memory.pages.activate(name))


@verb
def describe(
    call: Call,
    name: Name,
    title: Title = None,
    description: Description = None,
    tags: Tags = None,
) -> None:
    """Set a page's title, description and tags."""
    words = None if tags is None else o.words([tags])
    with call.memory() as memory:
        _answer(call, memory.pages.describe(name, title=title, description=description, tags=words))


def _answer(call: Call, page: PageInfo) -> None:
    call.answer(page, lambda _: plain.say(line_of(page)))
