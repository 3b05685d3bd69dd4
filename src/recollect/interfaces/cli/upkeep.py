"""The verbs that begin a memory and look after its health.

Responsible for ``init`` and ``doctor``. Leaves the files' less common verbs to ``admin``.
Invariants: no loss is accepted, and no memory of elsewhere adopted, without a person's yes.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import structs

from recollect import compose
from recollect.config import (
    AUTO,
    FOLDER,
    IN_GIT,
    Settings,
    known_file,
    load,
    project,
    shown,
)
from recollect.errors import ConfigError, Conflict
from recollect.interfaces.cli import answer, entries, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.memory import Memory, Store
from recollect.model import limits
from recollect.model.values import Finding
from recollect.places import known
from recollect.places.moving import settled
from recollect.store.files.backend import make_workspace

_LOSSES: Final = ("ledger", "index")  # a full disk is a problem, too, and no loss
# Whose words records are, by the trust that the ledger says they have.
_WHOSE: Final = {
    "person": "in a person's words",
    "agent": "in an agent's",
    "unverified": "unverified",
}
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Go on with what the ledger still holds.")
]


@verb
def init(
    call: Call, folder: o.Place = None, embedder: o.Embedder = None, yes: o.Yes = False
) -> None:
    """Make a memory in this folder, or adopt the one that is there."""
    settings = settled(_place(call, folder, embedder or AUTO))
    make_workspace(Path(settings.where))
    with Store.open(settings=settings) as store:
        made = call.space not in store.spaces()
        is_adopted = not known.is_known(settings, call.space)
        memory = store.space(call.space)
        if is_adopted:
            _ask_about(call, memory, yes=yes)
        position = memory.position
    try:
        known.adopt(settings, call.space)
        settings = settled(settings, adopted=True)
    except ConfigError as error:  # the memory is there, and useful to a person
        call.note(f"No assistant will see this memory: {error}")
    chosen = compose.record_embedder(settings, anew=embedder is not None)
    done = {
        "where": settings.where,
        "space": call.space,
        "made": made,
        "adopted": is_adopted,
        "position": position,
        "embedder": chosen,
    }
    call.answer(done, lambda _: _tell(settings.where, call.space, made, is_adopted))


def _ask_about(call: Call, memory: Memory, *, yes: bool) -> None:
    """Whose words an assistant would be shown as memory, and a person's yes to that."""
    call.note("There is a memory here that was not made here, or not by this release.")
    counts = [f"{_count(memory, trust)} {whose}" for trust, whose in _WHOSE.items()]
    call.note(f"Its records: {', '.join(counts)}; `recollect list` shows them.")
    call.confirm(
        "Adopt it, so that assistants are shown what it says?",
        yes=yes,
        what="adopting a memory that was not made here",
    )


def _count(memory: Memory, trust: str) -> str:
    """How many records are there with a trust, as far as one listing goes."""
    most = limits.LIST_MAX_RECORDS
    count = len(memory.list(where=f"trust = '{trust}'", include=["held"], limit=most))
    return f"{count:,}" if count < most else f"{most:,} or more"


def _place(call: Call, folder: str | None, embedder: str) -> Settings:
    """A named store as it is; else the memory of the project that the folder belongs to."""
    if call.store is not None and folder is not None:
        raise ConfigError("init takes a FOLDER or --store", hint="give one of the two")
    if call.store is not None:
        settings = _asking(load(call.store, embedder=embedder))
        if settings.folder is None:
            raise ConfigError(f"{shown(settings.where)} is no folder", hint="init makes a folder")
        return settings
    base = Path(folder or ".").expanduser().absolute()
    if base.name == FOLDER:
        return _asking(load(base, embedder=embedder))
    return project(base, embedder=embedder)


def _asking(settings: Settings) -> Settings:
    """A place that was named to ``init`` is looked up in the list like one that was found."""
    is_own = os.path.realpath(settings.where) == os.path.realpath(known_file().parent)
    return settings if is_own else structs.replace(settings, known_in=str(known_file()))


def _tell(where: str, space: str, made: bool, is_adopted: bool) -> None:
    there = "Adopted a memory" if is_adopted else "There is a memory already"
    what = "Made a memory" if made else there
    plain.say(f"{what}: the space {plain.bold(plain.one_line(space))} in {plain.safe(where)}")
    if made and Path(where).name == IN_GIT:
        plain.say("  git does not carry or change it there; deleting .git deletes the memory")
    elif made:
        plain.say("  its .gitignore keeps it out of git; deleting the folder deletes the memory")
    plain.next_step('recollect remember "The staging database moved to port 5433."')


@verb
def doctor(
    call: Call, accept_loss: AcceptLoss = False, reason: o.Reason = None, yes: o.Yes = False
) -> None:
    """Examine the files; say what is wrong and what to do."""
    commands = entries.examine(call, yes=yes)
    with Store.open(call.store) as store:
        call.note_strange(store.settings)
        memory = store.space(call.space, create=False)
        with call.progress("Examining") as tick:
            found = memory.doctor(tick)
        if accept_loss:
            found = _accept_loss(call, memory, found, reason, yes=yes)
    found = [*found, *_second(store.settings), *commands]
    problems = any(finding.level == "problem" for finding in found)
    call.answer({"ok": not problems, "findings": found}, lambda _: _draw(found))
    if problems:
        raise typer.Exit(answer.NO)


def _second(settings: Settings) -> list[Finding]:
    """A memory in the work tree, beside the one in the repository's git folder."""
    if settings.second is None:
        return []
    return [
        Finding(
            level="note",
            what="second memory",
            detail=f"{settings.second} holds a memory, too. It is not used: this one is, because "
            "git cannot overwrite it",
            fix="look at it with `recollect list --store "
            f"{shlex.quote(settings.second)}`, and delete it if you do not need it",
        )
    ]


def _accept_loss(
    call: Call, memory: Memory, found: list[Finding], reason: str | None, *, yes: bool
) -> list[Finding]:
    """Goes on from what is left, then looks again."""
    if not any(finding.level == "problem" and finding.what in _LOSSES for finding in found):
        raise Conflict("there is no loss to accept", hint="leave --accept-loss out")
    if not yes and not call.json:
        _draw(found)
    call.confirm("Go on with what is left, for good?", yes=yes, what="accepting a loss")
    memory.accept_loss(reason=reason)
    return memory.doctor()


def _draw(found: list[Finding]) -> None:
    from recollect.interfaces.cli.draw import findings

    findings(found)
