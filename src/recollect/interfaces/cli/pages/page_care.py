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
from recollect.interfaces.cli.pages.pages import Name, line_of
from recollect.model.counts import counted
from recollect.model.values import Condensed, PageInfo, PageLimits

Title = Annotated[str | None, Option(metavar="TEXT", help="Its heading; empty for the default.")]
Description = Annotated[
    str | None, Option(metavar="TEXT", help="One line about it; empty for the default.")
]
Tags = Annotated[
    str | None, Option(metavar="TAGS", help="Tags of the page, with commas; empty for none.")
]
Days = Annotated[
    int | None, Option("--dormant-days", metavar="N", help="Dormant after so many days.", min=1)
]
Soft = Annotated[
    int | None, Option(metavar="TOKENS", help="Above it condensing is suggested.", min=1)
]
Hard = Annotated[int | None, Option(metavar="TOKENS", help="Above it a page is flagged.", min=1)]


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


@verb
def condense(call: Call, name: Name, dry_run: o.DryRun = False) -> None:
    """Merge the entries of a page that say the same; `undo` takes it back."""
    with call.memory() as memory:
        done = memory.pages.condense(name, dry_run=dry_run)
    call.answer(done, lambda _: _condensed(done, dry_run=dry_run))


def _condensed(done: Condensed, *, dry_run: bool) -> None:
    if done.problem is not None:
        plain.say(f"{plain.one_line(done.page)} was not condensed: {plain.one_line(done.problem)}")
        return
    if not done.merged:
        plain.say(f"{plain.one_line(done.page)}: no two entries say the same.")
        return
    would = "Would merge" if dry_run else "Merged"
    tokens = f"about {done.tokens_before:,} tokens, then {done.tokens_after:,}"
    count = len(done.merged)
    merged = f"{count:,} {'entry' if count == 1 else 'entries'}"
    plain.say(f"{would} {merged} of {plain.one_line(done.page)}: {tokens}")


@verb
def care(call: Call) -> None:
    """Flag pages above the hard limit; list what is flagged, long or dormant."""
    with call.memory() as memory:
        found = memory.pages.care()
    lines = list(map(line_of, found)) or ["No page needs care."]
    call.answer({"pages": found}, lambda _: plain.say(*lines))


@verb
def limits(call: Call, dormant_days: Days = None, soft: Soft = None, hard: Hard = None) -> None:
    """Show or set when pages are dormant or too long."""
    with call.memory() as memory:
        if (dormant_days, soft, hard) == (None, None, None):
            found = memory.pages.limits()
        else:
            found = memory.pages.set_limits(
                auto_dormant_days=dormant_days, soft_limit_tokens=soft, hard_limit_tokens=hard
            )
    call.answer(found, _limits)


def _limits(found: PageLimits) -> None:
    plain.say(
        f"dormant after {counted(found.auto_dormant_days, 'day')}",
        f"condensing is suggested above {counted(found.soft_limit_tokens, 'token')}",
        f"flagged above {counted(found.hard_limit_tokens, 'token')}",
    )


def _answer(call: Call, page: PageInfo) -> None:
    call.answer(page, lambda _: plain.say(line_of(page)))
