"""The verbs that take back what was derived from something, settle a guess, or archive.

Responsible for showing what would go and asking. Leaves the work to ``Memory``. Invariants: many
records go only if a person confirms; what is retracted is what was shown.
"""

from __future__ import annotations

from typing import Annotated, Final

from recollect.errors import InvalidInput
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Exit, Option
from recollect.memory import Memory
from recollect.model.counts import counted
from recollect.model.values import Archived, Forgotten, Record

Below = Annotated[
    float, Option(metavar="NUMBER", help="Archive what has less recency than this, 0 to 1.")
]
Holds = Annotated[bool, Option("--holds", help="It turned out to hold.")]
Fails = Annotated[bool, Option("--fails", help="It turned out not to hold: it is archived.")]
_SHOWN_MAX_COUNT: Final = 10
_UNDO: Final = "`recollect undo` brings it back."


@verb
def retract(call: Call, id: o.Id, dry_run: o.DryRun = False, yes: o.Yes = False) -> None:
    """Take back ID and everything that was derived from it.

    What was revised because of it says what it said before, and what was replaced is back.
    """
    with call.memory(having=id) as memory:
        here = memory.events.position
        planned = memory.forget(id, derived=True, dry_run=True)
        lines = _lines(memory, planned)
        if dry_run:
            call.answer(planned, lambda _: _planned(lines), memory)
            return
        if len(planned.taken) + len(planned.back) > 1:
            if not yes and not call.json:
                plain.say_to_stderr(*lines)
            call.confirm("Take this back?", yes=yes, what="retracting")
        done = memory.forget(id, derived=True, expect=here)
        call.answer(done, lambda _: _retracted(done, lines), memory)
    if not done.seq:
        raise Exit(answer.NO)


@verb
def settle(
    call: Call,
    id: o.RecordId,
    holds: Holds = False,
    fails: Fails = False,
    evidence: o.Evidence = None,
    reason: o.Reason = None,
) -> None:
    """Confirm a hypothesis, or refute it."""
    if holds == fails:
        raise InvalidInput("say whether it holds", hint="add --holds or --fails")
    with call.memory(having=id) as memory:
        settle = memory.review.confirm if holds else memory.review.refute
        record = settle(id, evidence=o.words(evidence), reason=reason)
        call.answer(record, _settled, memory)


@verb
def curate(
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


def _lines(memory: Memory, planned: Forgotten) -> list[str]:
    """What would be taken back, for a person: the first of each."""
    found: list[str] = []
    for heading, ids in (("Goes", planned.taken), ("Is back, as it was", planned.back)):
        if ids:
            found.append(f"{heading}: {counted(len(ids), 'record')}")
            found += [f"  {_line(memory, id)}" for id in ids[:_SHOWN_MAX_COUNT]]
        if len(ids) > _SHOWN_MAX_COUNT:
            found.append(f"  and {len(ids) - _SHOWN_MAX_COUNT} more")
    return found or ["Nothing was derived from it that still holds."]


def _line(memory: Memory, id: str) -> str:
    record = memory.history(id)[-1].record
    return f"{plain.one_line(id)}: {plain.one_line(record.text)}"


def _planned(lines: list[str]) -> None:
    plain.say("Would take back:", *lines)


def _retracted(done: Forgotten, lines: list[str]) -> None:
    if not done.seq:
        plain.say("Nothing changed: it was taken back before.")
        return
    plain.say("Taken back:", *lines)
    plain.say(plain.dim(_UNDO))


def _settled(record: Record) -> None:
    if record.pending:
        plain.record("Waits for a review", record)
    else:
        plain.record("Confirmed" if record.status != "archived" else "Refuted", record)


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
