"""The command that checks a memory's health.

Responsible for ``admin doctor``. Leaves examining to ``Memory.admin``. Invariant: no loss is
accepted unless a person confirms.
"""

from __future__ import annotations

import shlex
from typing import Annotated, Final

from recollect import compose
from recollect.config import Settings
from recollect.errors import Conflict
from recollect.interfaces.cli import answer
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.admin import workspaces
from recollect.interfaces.cli.admin.embed import search_of
from recollect.interfaces.cli.assistants import entries
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit, Option
from recollect.memory import Memory, Store
from recollect.model.values import Finding

_LOSSES: Final = ("ledger", "index", "keys")  # other problems, such as a full disk, are not losses
AcceptLoss = Annotated[
    bool, Option("--accept-loss", help="Continue with what the ledger still holds.")
]


@verb
def doctor(
    call: Call, accept_loss: AcceptLoss = False, reason: o.Reason = None, yes: o.Yes = False
) -> None:
    """Check the files; report problems and how to fix them."""
    commands = entries.examine(call, yes=yes)
    with Store.open(call.store) as store:
        call.note_if_unknown(store.settings)
        memory = store.space(call.space, create=False)
        with call.progress("Examining") as tick:
            found = memory.admin.doctor(tick)
        if accept_loss:
            found = _accept_loss(call, memory, found, reason, yes=yes)
        is_sound = all(finding.level == "ok" for finding in found)  # else a look changes something
        search = (search_of if is_sound else _chosen)(memory, store.settings)
    found += workspaces.findings(store.settings, call.space, found)
    found = [*found, *_second(store.settings), *_search(search), *commands]
    problems = any(finding.level == "problem" for finding in found)
    call.answer({"ok": not problems, "findings": found}, lambda _: _draw(found))
    if problems:
        raise Exit(answer.NO)


def _chosen(_: Memory, settings: Settings) -> compose.Searching:
    return compose.searching(settings)


def _search(way: compose.Searching) -> list[Finding]:
    """A note if search is by words alone, or lacks something that was chosen."""
    if not (way.by_words or way.lacking):
        return []
    detail = "search is by words alone" if way.by_words else f"search by meaning ({way.embedder})"
    fix = way.lacking or f"to search by meaning too, {way.next_step}"
    return [Finding(level="note", what="search", detail=detail, fix=fix)]


def _second(settings: Settings) -> list[Finding]:
    """A memory in the work tree, beside the one in the repository's git folder."""
    if settings.second is None:
        return []
    return [
        Finding(
            level="note",
            what="second memory",
            detail=f"{settings.second} also holds a memory. It is not used, because git can "
            "overwrite it",
            fix=f"run `recollect list --store {shlex.quote(settings.second)}` to see what it "
            "holds, and delete it if you do not need it",
        )
    ]


def _accept_loss(
    call: Call, memory: Memory, found: list[Finding], reason: str | None, *, yes: bool
) -> list[Finding]:
    """Accepts the loss, then checks again."""
    if not any(finding.level == "problem" and finding.what in _LOSSES for finding in found):
        raise Conflict("there is no loss to accept", hint="run it without --accept-loss")
    if not yes and not call.json:
        _draw(found)
    call.confirm("Permanently continue with what is left?", yes=yes, what="accepting a loss")
    memory.admin.accept_loss(reason=reason)
    return memory.admin.doctor()


def _draw(found: list[Finding]) -> None:
    from recollect.interfaces.cli.screens.draw import findings

    findings(found)
