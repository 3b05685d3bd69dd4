"""``recollect import`` and ``recollect export``: from and to the files of other programs.

Responsible for the arguments and for telling what became of it. Leaves the work to
``Memory.import_`` and ``Memory.export``. Invariant: names from the files are printed on one line,
without control characters.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

from recollect.config import MEMORY, load
from recollect.errors import InvalidInput, NotFound
from recollect.exchange import workspace as layout
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.admin import workspaces
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.counts import counted
from recollect.model.values import Exported, Imported
from recollect.store.disk.layout import LEDGER
from recollect.store.files.copies.foreign import is_foreign_log

_SHOWN: Final = 10
_GRAPH: Final = "markitect"  # the format of a graph envelope
First = Annotated[
    str,
    Argument(
        metavar="[FORMAT]",
        help="A format such as mem0; recognized if it is left out. docs/how-to/import.md lists "
        "them.",
    ),
]
Second = Annotated[
    str | None,
    Argument(metavar="PATH", help="The file, folder or zip archive.", show_default=False),
]
Hold = Annotated[bool, Option("--hold", help="Hold every record for a review.")]
DryRun = Annotated[
    bool, Option("--dry-run", help="Write nothing; only say what would be imported.")
]

Format = Annotated[
    str,
    Argument(
        metavar="FORMAT",
        help="ndjson, json, graph, workspace, pages, mem0, mcp-memory or markitect.",
    ),
]
Target = Annotated[
    str,
    Argument(
        metavar="TARGET",
        help="A file that does not exist yet; for pages and workspace a folder.",
    ),
]


@verb
def export(
    call: Call, format: Format, target: Target, at: o.At = None, mount: o.MountOption = None
) -> None:
    """Write what a memory holds to a new file or folder."""
    from recollect.memory.exchange.exports import run_export  # loaded only by those who export

    with call.memory(mount=mount) as opened:
        memory = o.past(opened, at)
        log = workspaces.events_beside(memory) if format == _GRAPH and at is None else []
        with call.progress("Exporting") as tick:
            done = run_export(handle_of(memory), format, Path(target).expanduser(), tick, log)
        call.answer(done, _draw_export, opened)
        if format == _GRAPH:
            _note_left_out(call, opened)


def _note_left_out(call: Call, memory: Memory) -> None:
    """Names what a workspace has and an envelope has no place for."""
    kinds: tuple[layout.Kind, ...] = ("profile", "activation")
    counts = [(workspaces.files_beside(memory, kind), kind) for kind in kinds]
    left = " and ".join(counted(count, kind) for count, kind in counts if count)
    if left:
        call.note(f"A graph has no place for {left}: copy their files")


def _take_over(call: Call) -> None:
    """Takes over the log of chronomemory that lies where the memory is to be."""
    folder = None if call.store is None else load(call.store).folder
    if folder is not None and is_foreign_log(folder / LEDGER):
        from recollect.contracts.chrono.store import FOLDER, ChronoStore  # for those who have one

        if folder.name == FOLDER:
            ChronoStore(folder.parent).open().close()


def _draw_export(done: Exported) -> None:
    parts = [
        counted(done.records, "record"),
        counted(done.episodes, "episode"),
        counted(done.links, "link"),
        counted(done.pages, "page"),
    ]
    what = ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing"
    plain.say(f"Exported {what} to {plain.one_line(done.target)} ({done.format})")
    plain.say(plain.dim(f"  as of event {done.position:,}"))


@verb
def import_(
    call: Call,
    format: First,
    path: Second = None,
    dry_run: DryRun = False,
    hold: Hold = False,
    mount: o.MountOption = None,
) -> None:
    """Import what another program knew; again adds nothing."""
    named, place = (None, format) if path is None else (format, path)
    from recollect.exchange.formats import FORMATS  # loaded only by those who import

    if path is None and format in FORMATS and not Path(format).exists():
        raise InvalidInput(
            f"{format} is a format, and the file is missing", hint=f"recollect import {format} PATH"
        )
    with ExitStack() as stack:
        there: Memory | None = None
        if not dry_run:
            _take_over(call)
        try:
            there = stack.enter_context(call.memory(create=not dry_run, mount=mount))
        except NotFound:
            if not dry_run:
                raise
        # Without --dry-run a memory would be created, so all of it would be new.
        memory = there or stack.enter_context(Memory.open(MEMORY, embedder="none"))
        with call.progress("Importing") as tick:
            done = memory.admin.import_(place, named, hold=hold, dry_run=dry_run, progress=tick)
        left = [] if there is None or dry_run else workspaces.show(there)
        call.answer(done, _draw, there)
        for one in left:
            call.note(f"{one.detail}; {one.fix}")
    if not _found(done):
        raise Exit(answer.NO)


def _found(done: Imported) -> bool:
    """True if the file held anything of its format."""
    counts = (done.kept, done.changed, done.known, done.forgotten, done.refused)
    return any(counts) or bool(done.chains)


def _draw(done: Imported) -> None:
    if not _found(done):
        plain.say(f"Nothing of the format {done.format} is in {plain.one_line(done.source)}")
        plain.say("  leave the format out to have it recognized, or name another one")
        _draw_left_out(done)
        return
    verb = "Would import" if done.dry_run else "Imported"
    parts = [
        counted(done.records, "record"),
        counted(done.episodes, "episode"),
        counted(done.links, "link"),
        counted(done.kept - done.records - done.episodes - done.links, "document"),
    ]
    what = ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing new"
    plain.say(f"{verb} {what} from {plain.one_line(done.source)} ({done.format})")
    if done.changed:
        plain.say(f"  changed there since the last import, and here now: {done.changed:,}")
    if done.forgotten:
        plain.say(f"  deleted there, and forgotten here: {done.forgotten:,}")
    if done.known:
        plain.say(f"  imported before: {done.known:,}")
    if done.missing:
        plain.say(f"  imported before and not in it now, unchanged here: {done.missing:,}")
    _draw_left_out(done)
    for kind, count in done.redacted.items():
        plain.say(f"  redacted: {count:,} {plain.one_line(kind)}")
    for chain in done.chains:
        where = plain.one_line(chain.where)
        if chain.broken_at is None:
            said = f"{counted(chain.lines, 'line')}, {chain.dialect} dialect"
            plain.say(f"  ✓ the chain of {where} holds: {said}")
        else:
            plain.say(f"  ! the chain of {where} is broken at line {chain.broken_at:,}")
    if done.refused:
        plain.say(f"  not imported: {done.refused:,}")
    for problem in done.problems[:_SHOWN]:
        plain.say(f"    {plain.one_line(problem.where)}: {plain.one_line(problem.why)}")
    if done.refused > _SHOWN:
        plain.say(f"    … and {done.refused - _SHOWN:,} more")
    if done.waiting and done.records and not done.dry_run:
        plain.next_step("recollect review")


def _draw_left_out(done: Imported) -> None:
    for what, count in done.left_out.items():
        plain.say(f"  not taken over: {plain.one_line(what)} ({count:,})")
