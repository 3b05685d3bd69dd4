"""The command that removes records from recall, alone or with what was derived from them.

Responsible for showing what would go and asking. Leaves the work to ``Memory``. Invariants: of
several ids all are there or none is forgotten; what was derived goes only if a person confirms, and
as it was shown.
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
from recollect.model.values import INCLUDES, Forgotten
from recollect.model.words import Sources

Derived = Annotated[
    bool, Option("--derived", help="Also take back everything that was derived from ID.")
]
DryRun = Annotated[
    bool, Option("--dry-run", help="With --derived: only show what would be taken back.")
]
_SHOWN_MAX_COUNT: Final = 10
_UNDO: Final = "`recollect undo` brings it back."


@verb
def forget(
    call: Call,
    ids: o.Ids,
    derived: Derived = False,
    reason: o.Reason = None,
    keep_sources: o.KeepSources = False,
    expect: o.Expect = None,
    idempotency_key: o.IdempotencyKey = None,
    dry_run: DryRun = False,
    yes: o.Yes = False,
) -> None:
    """Remove records or episodes from recall; undo brings them back.

    With --derived, what was revised because of ID says what it said before, and what was replaced
    is back.
    """
    if derived:
        if len(ids) > 1 or reason or keep_sources or idempotency_key or expect is not None:
            raise InvalidInput(
                "--derived takes one ID, and only --dry-run and --yes beside it",
                hint=f"run `recollect forget {ids[0]} --derived --dry-run` first",
            )
        _with_derived(call, ids[0], dry_run=dry_run, yes=yes)
        return
    if dry_run:
        raise InvalidInput("--dry-run belongs to --derived", hint="add --derived, or leave it out")
    sources: Sources = "keep" if keep_sources else "hide"
    if len(ids) > 1:
        _check_all(call, ids, expect, idempotency_key)
    done: list[Forgotten] = []
    for id in ids:
        with call.memory(having=id) as memory:
            forgotten = memory.forget(
                id,
                sources=sources,
                reason=reason,
                idempotency_key=idempotency_key,
                expect=o.expected(memory, id, expect),
            )
        done.append(forgotten)
        if len(ids) == 1 or not call.json:
            call.answer(forgotten, plain.forgotten, memory)
    if len(ids) > 1:
        call.note("`recollect undo` takes these back one at a time, the last one first.")
        if call.json:
            call.answer({"forgotten": done}, lambda _: None)


def _check_all(call: Call, ids: list[str], expect: int | None, idempotency_key: str | None) -> None:
    """Refuses before the first is forgotten if one of them is not there."""
    if idempotency_key is not None:
        raise InvalidInput(
            "--idempotency-key names one call, and several ids are several calls",
            hint="give one id",
        )
    if expect is not None:
        raise InvalidInput("--expect is of one record, and there are several", hint="give one id")
    for id in ids:
        with call.memory(having=id) as memory:
            memory.get(id, include=INCLUDES)


def _with_derived(call: Call, id: str, *, dry_run: bool, yes: bool) -> None:
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
