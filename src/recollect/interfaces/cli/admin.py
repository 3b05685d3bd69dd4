"""The verbs under ``recollect admin``: checking, copying and rebuilding files.

Responsible for their answers. Leaves the work to ``Memory``. Invariant: no file is read or written
here.
"""

from __future__ import annotations

from typing import Annotated

import typer

from recollect import compose
from recollect.config import load
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli.call import Call, verb
from recollect.memory import Memory
from recollect.model.values import Backup, Migrated, Rebuilt, Sealed, Vacuumed, Verification

Target = Annotated[
    str | None,
    typer.Argument(metavar="[FOLDER]", help="A new folder; the workspace's backup/ if left out."),
]
Deep = Annotated[
    bool,
    typer.Option("--deep", help="Also fold the whole ledger again and compare the index with it."),
]
Source = Annotated[str, typer.Argument(metavar="BACKUP", help="The folder of a backup.")]


@verb
def verify(call: Call, deep: Deep = False) -> None:
    """Check every line of the ledger against its hashes."""
    with call.memory() as memory, call.progress("Verifying") as tick:
        check = memory.verify(tick, deep=deep)
    call.answer(check, _verified)
    if not check.ok:
        raise typer.Exit(answer.NO)


def _verified(check: Verification) -> None:
    if check.ok:
        erased = f", {check.erased:,} of them erased" if check.erased else ""
        plain.say(f"{plain.bold('Self-consistent')}: {check.events:,} events{erased}")
        plain.say(f"  head {check.head}")
        if check.problem:
            plain.say(f"  {plain.safe(check.problem)}")
        plain.say(
            plain.dim("  A ledger cannot vouch for itself: keep the head elsewhere and compare.")
        )
        return
    plain.say(
        f"{plain.bold('Broken')} at event {check.broken_at}: {plain.safe(check.problem or '')}"
    )
    plain.next_step("recollect doctor", "recollect admin restore-backup BACKUP --store NEW")


@verb
def seal(call: Call) -> None:
    """Close the ledger's active file into a segment; nothing is lost."""
    with call.memory() as memory, call.progress("Sealing"):
        done = memory.seal()
    call.answer(done, _sealed)


def _sealed(done: Sealed) -> None:
    if done.segment is None:
        plain.say(f"Nothing to close: the active file holds event {done.seq:,} alone.")
        return
    plain.say(f"Sealed {done.events:,} events into {plain.bold(done.segment)}")
    plain.say(f"  head {done.head}")
    plain.say(f"  state digest {done.digest}")
    plain.next_step("recollect admin verify", "recollect admin backup")


@verb
def backup(call: Call, folder: Target = None) -> None:
    """Copy the ledger to a new folder."""
    with call.memory() as memory, call.progress("Copying") as tick:
        made = memory.backup(folder, tick)
    call.answer(made, _backed_up)


def _backed_up(made: Backup) -> None:
    plain.say(f"Copied {made.seq:,} events to {plain.bold(plain.safe(made.path))}")
    plain.next_step(f"recollect admin restore-backup {plain.safe(made.path)} --store NEW")


@verb
def restore_backup(call: Call, backup: Source) -> None:
    """Make a memory out of a backup, where there is none yet."""
    with Memory.restore_backup(backup, load(call.store).where) as memory:
        now = memory.status()
    call.answer(
        now,
        lambda _: plain.say(f"Restored {now.seq:,} events: {now.space} in {plain.safe(now.where)}"),
    )


@verb
def rebuild(call: Call) -> None:
    """Throw the index away and fold the whole ledger again."""
    with call.memory() as memory, call.progress("Folding") as tick:
        rebuilt = memory.rebuild(tick)
    call.answer(rebuilt, _rebuilt)


def _rebuilt(rebuilt: Rebuilt) -> None:
    plain.say(f"Rebuilt the index from {rebuilt.events:,} events.")
    plain.say(f"  state digest {rebuilt.digest}")


@verb
def migrate(call: Call) -> None:
    """Bring a database on a server to this release."""
    call.answer(compose.migrate(load(call.store)), _migrated)


def _migrated(done: Migrated) -> None:
    if done.before == done.after:
        plain.say(f"The database is at revision {plain.bold(done.after)} already.")
    else:
        start = "nothing" if done.before is None else f"revision {done.before}"
        plain.say(f"Migrated from {start} to revision {plain.bold(done.after)}.")
    if done.index and done.before is not None:
        plain.say("  The index was made anew: each space folds its ledger at its next use.")


@verb
def vacuum(call: Call) -> None:
    """Write a server's tables again, so that no page keeps what was erased."""
    settings = load(call.store)
    with call.progress("Writing tables again") as tick:
        done = compose.vacuum(settings, tick)
    call.answer(done, _vacuumed)


def _vacuumed(done: Vacuumed) -> None:
    plain.say(f"Wrote {done.tables} tables and their indexes again.")
    for place in done.places[1:]:
        plain.say(f"  {plain.safe(place)}")
