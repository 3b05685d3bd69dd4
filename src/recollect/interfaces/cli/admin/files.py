"""The verbs under ``recollect admin``: checking, copying and rebuilding files.

Responsible for their answers. Leaves the work to ``Memory``. Invariant: this module itself reads
and writes no file.
"""

from __future__ import annotations

from typing import Annotated

from recollect import compose
from recollect.config import load
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.memory import Store
from recollect.model.counts import counted
from recollect.model.values import (
    Backup,
    Certified,
    Migrated,
    Rebuilt,
    Sealed,
    SpaceStatus,
    Vacuumed,
    Verification,
)

Target = Annotated[
    str | None,
    Argument(metavar="[FOLDER]", help="A new folder.  [default: the workspace's backup/]"),
]
Deep = Annotated[
    bool,
    Option("--deep", help="Also replay the whole ledger and compare the index with the result."),
]
Anchor = Annotated[
    str | None,
    Option(
        metavar="SEQ:HASH|FILE",
        help="What was kept elsewhere: the anchor of an earlier run, or a signed checkpoint.",
    ),
]
Anchored = Annotated[
    bool,
    Option("--anchored", help="Fail unless it agrees with something that was kept elsewhere."),
]
Source = Annotated[str, Argument(metavar="BACKUP", help="The folder of a backup.")]


CertificateFile = Annotated[
    str | None, Option(metavar="FILE", help="A certificate of erasure to check instead.")
]


@verb
def verify(
    call: Call,
    deep: Deep = False,
    anchor: Anchor = None,
    anchored: Anchored = False,
    certificate: CertificateFile = None,
) -> None:
    """Check every line of the ledger against its hashes, or a certificate against the ledger."""
    if certificate is not None:
        _check_certificate(call, certificate)
        return
    with call.memory() as memory, call.progress("Verifying") as tick:
        check = memory.admin.verify(tick, deep=deep, anchor=anchor)
    call.answer({**check.to_dict(), "anchor": check.anchor}, lambda _: _verified(check))
    if not check.ok or (anchored and check.status != "anchored"):
        raise Exit(answer.NO)


def _check_certificate(call: Call, file: str) -> None:
    with call.memory() as memory:
        found = memory.proof.check_certificate(file)
    call.answer(found, _certified)
    if not found.ok:
        raise Exit(answer.NO)


def _certified(found: Certified) -> None:
    if not found.ok:
        plain.say(f"{plain.bold('Not so')}: {plain.safe(found.problem or '')}")
        return
    plain.say(f"{plain.bold('Erased')} at {found.at}: {counted(found.events, 'event')}")
    whose = ", ".join(found.subjects) or "a user of whom nothing was encrypted"
    plain.say(f"  ordered by event {found.event:,}, for {whose}")
    plain.say(*(f"  {plain.safe(place)}" for place in (*found.cleaned, *found.not_reached)))


def _verified(check: Verification) -> None:
    if check.status == "not anchored":
        plain.say(f"{plain.bold('Not anchored')}: {plain.safe(check.problem or '')}")
        plain.next_step(
            "recollect admin doctor", "recollect admin restore-backup BACKUP --store NEW"
        )
        return
    if check.ok:
        erased = f", {check.erased:,} of them erased" if check.erased else ""
        status = check.status.capitalize()
        plain.say(f"{plain.bold(status)}: {counted(check.events, 'event')}{erased}")
        if check.anchored_through is not None:
            plain.say(f"  as it was kept elsewhere up to event {check.anchored_through:,}")
        plain.say(f"  anchor {check.anchor}")
        if check.problem:
            plain.say(f"  {plain.safe(check.problem)}")
        plain.say(
            plain.dim("  To detect a replaced ledger, keep this anchor elsewhere, for --anchor.")
        )
        return
    plain.say(
        f"{plain.bold('Broken')} at event {check.broken_at}: {plain.safe(check.problem or '')}"
    )
    plain.next_step("recollect admin doctor", "recollect admin restore-backup BACKUP --store NEW")


@verb
def close_segment(call: Call) -> None:
    """Close the ledger's active file into a segment."""
    with call.memory() as memory, call.progress("Sealing"):
        done = memory.admin.seal()
    call.answer(done, _sealed)


def _sealed(done: Sealed) -> None:
    if done.segment is None:
        plain.say(f"Nothing to seal: the active file holds only event {done.seq:,}.")
        return
    plain.say(f"Sealed {counted(done.events, 'event')} into {plain.bold(done.segment)}")
    plain.say(f"  head {done.head}")
    plain.say(f"  state digest {done.digest}")
    if done.checkpoint is not None:
        plain.say(f"  checkpoint of {counted(done.checkpoint, 'event')} signed")
    plain.next_step("recollect admin verify", "recollect admin backup")


@verb
def backup(call: Call, folder: Target = None) -> None:
    """Copy the ledger to a new folder."""
    with call.memory() as memory, call.progress("Copying") as tick:
        made = memory.admin.backup(folder, tick)
    call.answer(made, _backed_up)


def _backed_up(made: Backup) -> None:
    plain.say(f"Copied {counted(made.seq, 'event')} to {plain.bold(plain.safe(made.path))}")
    plain.next_step(f"recollect admin restore-backup {plain.safe(made.path)} --store NEW")


@verb
def restore_backup(call: Call, backup: Source) -> None:
    """Create a memory from a backup, where there is none yet."""
    with Store.restore_backup(backup, load(call.store).where) as memory:
        now, check = memory.status(), memory.admin.verify()
    problem = None if check.ok else check.problem
    call.answer({**now.to_dict(), "problem": problem}, lambda _: _restored(now, problem))


def _restored(now: SpaceStatus, problem: str | None) -> None:
    plain.say(f"Restored {counted(now.seq, 'event')}: {now.space} in {plain.safe(now.where)}")
    if problem is not None:
        plain.say(
            "  It is older than what was signed here, or has another history: "
            f"event {now.seq + 1:,}, {plain.safe(problem)}."
        )
        plain.next_step("recollect admin doctor")


@verb
def rebuild(call: Call) -> None:
    """Delete the index and rebuild it from the ledger."""
    with call.memory() as memory, call.progress("Folding") as tick:
        rebuilt = memory.admin.rebuild(tick)
    call.answer(rebuilt, _rebuilt)


def _rebuilt(rebuilt: Rebuilt) -> None:
    plain.say(f"Rebuilt the index from {counted(rebuilt.events, 'event')}.")


@verb
def migrate(call: Call) -> None:
    """Migrate a server's database to this release."""
    call.answer(compose.migrate(load(call.store)), _migrated)


def _migrated(done: Migrated) -> None:
    if done.before == done.after:
        plain.say(f"The database is already at revision {plain.bold(done.after)}.")
    else:
        start = "nothing" if done.before is None else f"revision {done.before}"
        plain.say(f"Migrated from {start} to revision {plain.bold(done.after)}.")


@verb
def vacuum(call: Call) -> None:
    """Rewrite a server's tables, so that no page keeps erased data."""
    settings = load(call.store)
    with call.progress("Rewriting tables") as tick:
        done = compose.vacuum(settings, tick)
    call.answer(done, _vacuumed)


def _vacuumed(done: Vacuumed) -> None:
    plain.say(f"Rewrote {done.tables} tables and their indexes.")
    for place in done.places[1:]:
        plain.say(f"  {plain.safe(place)}")
