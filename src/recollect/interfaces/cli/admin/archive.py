"""The command that archives what has faded.

Responsible for showing what would go and asking. Leaves the work to ``Memory.admin``. Invariant:
nothing is archived unless a person confirms.
"""

from __future__ import annotations

from typing import Annotated, Final

from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Option
from recollect.model.counts import counted
from recollect.model.values import Archived

Below = Annotated[
    float, Option(metavar="NUMBER", help="Archive what has less recency than this, 0 to 1.")
]
_SHOWN_MAX_COUNT: Final = 10


@verb
def archive(
    call: Call,
    below: Below = 0.05,
    limit: o.Limit = 1_000,
    dry_run: o.DryRun = False,
    yes: o.Yes = False,
    mount: o.MountOption = None,
) -> None:
    """Archive the records that were not used for long; each can be restored."""
    with call.memory(mount=mount) as memory:
        shown = memory.admin.archive(below=below, limit=limit, dry_run=True)
        if dry_run or not shown.records:
            call.answer(shown, lambda _: _faded(shown, "Would archive"), memory)
            return
        if not yes and not call.json:
            plain.say_to_stderr(*_texts(shown))
        call.confirm("Archive these?", yes=yes, what="archiving")
        done = memory.admin.archive(below=below, limit=limit)
        call.answer(done, lambda _: _faded(done, "Archived"), memory)


def _faded(found: Archived, did: str) -> None:
    if not found.records:
        plain.say("Nothing has faded.")
    else:
        plain.say(f"{did} {counted(len(found.records), 'record')}:", *_texts(found))
    if found.more:
        plain.say(plain.dim("There are more: run it again."))
    if found.kept:
        plain.say(plain.dim(f"{counted(found.kept, 'record')} with more trust stay."))


def _texts(found: Archived) -> list[str]:
    shown = [
        f"  {plain.one_line(record.id)}: {plain.one_line(record.text)}"
        for record in found.records[:_SHOWN_MAX_COUNT]
    ]
    more = len(found.records) - len(shown)
    return [*shown, f"  and {more} more"] if more else shown
