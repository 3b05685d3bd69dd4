"""The verbs that begin a memory and look after its health.

Responsible for ``init`` and ``doctor``. Leaves the files' less common verbs to ``admin``.
Invariant: no loss is accepted without a person's yes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from recollect.config import FOLDER, MEMORY, Settings, load, shown
from recollect.errors import ConfigError, Conflict
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.memory import Memory, Store
from recollect.model.values import Finding
from recollect.store.workspace import make_workspace

_LOSSES: Final = ("ledger", "index")  # a full disk is a problem, too, and no loss
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Go on with what the ledger still holds.")
]


@verb
def init(call: Call, folder: o.Place = None) -> None:
    """Make a memory in this folder, out of git's sight."""
    settings = _place(call, folder)
    make_workspace(Path(settings.where))
    with Store.open(settings=settings) as store:
        made = call.space not in store.spaces()
        position = store.space(call.space).position
    done = {"where": settings.where, "space": call.space, "made": made, "position": position}
    call.answer(done, lambda _: _tell(settings.where, call.space, made=made))


def _place(call: Call, folder: str | None) -> Settings:
    """A named store as it is; else ``.recollect`` in the folder."""
    if call.store is not None and folder is not None:
        raise ConfigError("init takes a FOLDER or --store", hint="give one of the two")
    if call.store is not None:
        settings = load(call.store)
        if settings.where == MEMORY or "://" in settings.where:
            raise ConfigError(f"{shown(settings.where)} is no folder", hint="init makes a folder")
        return settings
    base = Path(folder or ".").expanduser()
    return load(base if base.name == FOLDER else base / FOLDER)


def _tell(where: str, space: str, *, made: bool) -> None:
    what = "Made a memory" if made else "There is a memory already"
    plain.say(f"{what}: the space {plain.bold(plain.one_line(space))} in {plain.safe(where)}")
    if made:
        plain.say("  its .gitignore keeps it out of git; deleting the folder deletes the memory")
    plain.next_step('recollect remember "The staging database moved to port 5433."')


@verb
def doctor(
    call: Call, accept_loss: AcceptLoss = False, reason: o.Reason = None, yes: o.Yes = False
) -> None:
    """Examine the files; say what is wrong and what to do."""
    with Store.open(call.store) as store:
        memory = store.space(call.space, create=False)
        found = memory.doctor()
        if accept_loss:
            found = _accept_loss(call, memory, found, reason, yes=yes)
    problems = any(finding.level == "problem" for finding in found)
    call.answer({"ok": not problems, "findings": found}, lambda _: _draw(found))
    if problems:
        raise typer.Exit(answer.NO)


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
