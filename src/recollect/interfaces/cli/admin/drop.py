"""The verbs that drop a space whole and list what was dropped.

Responsible for what a person sees before and after. Leaves dropping to ``Store``. Invariants:
nothing is dropped unless the space is named and a person types its name again, or says ``--yes``;
the space ``main`` is dropped only in a store that is named too.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final

from recollect.config import load
from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument
from recollect.memory import Store
from recollect.model.counts import counted, size
from recollect.model.values import Drop, Dropped

_NAMES_MAX_COUNT: Final = 10  # of spaces, in an error

Name = Annotated[str, Argument(metavar="NAME", help="The name of the space.")]


@verb
def drop_space(
    call: Call,
    name: Name,
    reason: o.Reason = None,
    dry_run: o.DryRun = False,
    yes: o.Yes = False,
) -> None:
    """Remove a space whole, with its ledger and its backups here. It cannot be undone."""
    if call.named not in (None, name):
        raise InvalidInput(f"{name!r} and --space {call.named!r} are two spaces", hint="name one")
    with _opened(call, name) as store:
        planned = store.drop(name, dry_run=True)
        if dry_run:
            call.answer(planned, lambda _: plain.say(*_would(store, planned)))
            return
        if not yes and not call.json:
            plain.say_to_stderr(*_would(store, planned))
        call.confirm_name(name, yes=yes, what="dropping a space")
        with call.progress("Dropping"):
            done = store.drop(name, reason=reason)
        call.answer(done, lambda _: plain.say(*_done(done)))


@contextmanager
def _opened(call: Call, name: str) -> Iterator[Store]:
    """The store, if it has the space. Which store has ``main`` would depend on the folder."""
    settings = load(call.store)
    if name == "main" and call.store is None:
        where = shlex.quote(settings.where) if settings.folder else "ADDRESS"
        raise InvalidInput(
            "the main space of a store is dropped only if the store is named as well",
            hint=f"to drop the whole memory in {where}, run "
            f"`recollect admin drop-space main --store {where}`",
        )
    with Store.open(settings=settings) as store:
        try:
            yield store
        except NotFound as error:
            others = store.spaces()
            if name in others:
                raise
            some = ", ".join(others[:_NAMES_MAX_COUNT]) + (
                ", …" if others[_NAMES_MAX_COUNT:] else ""
            )
            raise NotFound(
                f"the space {name!r} does not exist in {store.where}",
                hint=f"name one of: {some}" if others else "name another store with --store",
            ) from error


def _would(store: Store, planned: Drop) -> list[str]:
    name, where = plain.one_line(planned.space), plain.safe(store.where)
    return [f"Would drop the space {plain.bold(name)} in {where}:", *_lines(planned)]


def _done(done: Drop) -> list[str]:
    return [f"Dropped the space {plain.bold(plain.one_line(done.space))}.", *_lines(done)]


def _lines(drop: Drop) -> list[str]:
    """How much it is, and what becomes of its copies."""
    held = [
        counted(count, unit)
        for count, unit in (
            (drop.records, "record"),
            (drop.episodes, "episode"),
            (drop.events, "event"),
        )
        if count is not None
    ]
    amounts = ", ".join(held) or "its contents cannot be read"
    return [f"  {amounts}, {size(drop.size_bytes)}", *(f"  {plain.safe(p)}" for p in drop.places)]


@verb
def dropped(call: Call) -> None:
    """List the spaces that were dropped: when, by whom and their last event."""
    with Store.open(call.store) as store:
        found = store.dropped()
    call.answer({"dropped": found}, lambda _: _listed(found))


def _listed(found: Sequence[Dropped]) -> None:
    if not found:
        plain.say("No space was dropped.")
    for one in found:
        last = "unreadable" if one.head is None else f"last event {one.seq}:{one.head[:16]}"
        reason = f"  {plain.one_line(one.reason)}" if one.reason else ""
        name, when = plain.bold(plain.one_line(one.space)), plain.dim(plain.moment(one.at))
        plain.say(f"{name}  {when}  by {plain.one_line(one.by)}  {last}{reason}")
