"""The entries in other programs' settings that start this one: written, and found again.

Responsible for showing a change, asking, writing it, and for finding entries of an earlier release
that run code from the current folder. Leaves each file's text to ``hook_settings`` and ``clients``.
Invariant: a file is changed only after the change was shown and confirmed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, get_args

from recollect.config import config_home
from recollect.errors import RecollectError
from recollect.interfaces.cli import answer, plain, questions
from recollect.interfaces.cli.assistants import changes, clients, hook_settings
from recollect.interfaces.cli.assistants.changes import Change, Kept
from recollect.interfaces.cli.call import Call
from recollect.model.values import Finding

_WHAT: Final = "commands"
_EXPOSED: Final = (
    "starts Recollect in a way that lets Python import modules from the current folder"
)
_WHY: Final = (
    "Entries written by an earlier release can run code from the folder an assistant works in. "
    "This change makes them safe:"
)


def install(
    call: Call, keep: Kept, change: Change, *, dry_run: bool, undo: bool, yes: bool
) -> bool:
    """Shows a change, asks and writes it; True if it was written.

    Exposed entries elsewhere are rewritten with it.
    """
    also = [] if undo else [old for old in _exposed() if old.file != change.file]
    if not call.json:
        _draw(change, also)
    wanted = [one for one in (change, *also) if not one.is_nothing]
    write = bool(wanted) and not dry_run
    if write:
        files = " and ".join(str(one.file) for one in wanted)
        call.confirm(f"Write {files}?", yes=yes, what="changing another program's settings")
        for one in wanted:
            (keep.undo if undo else keep.apply)(one)
    if call.json:
        told = [{"file": str(old.file), "diff": old.diff()} for old in also]
        done = {"file": str(change.file), "diff": change.diff(), "also": told, "written": write}
        answer.write_json(done)
    return write


def examine(call: Call, *, yes: bool) -> list[Finding]:
    """What ``doctor`` reports about these entries; rewrites the exposed ones if confirmed."""
    unreadable = [
        Finding(level="note", what=_WHAT, detail=f"{file} could not be checked", fix=str(error))
        for file, error in _repairs()
        if isinstance(error, RecollectError) and clients.OURS.encode() in _content(file)
    ]
    exposed = _exposed()
    if exposed and not call.json and not yes:
        plain.say(_WHY, *map(_diff, exposed))
    is_done = bool(exposed) and (yes or _confirmed(call))
    if is_done:
        keep = Kept(config_home() / "recollect" / "undo")
        for change in exposed:
            keep.apply(change)
    return [*unreadable, *(_finding(change, is_done=is_done) for change in exposed)]


def _confirmed(call: Call) -> bool:
    if call.json or not sys.stdin.isatty():
        return False
    return questions.confirm("Rewrite them?")


def _exposed() -> list[Change]:
    """The changes that make entries of an earlier release safe."""
    found = [change for _, change in _repairs() if isinstance(change, Change)]
    return [change for change in found if not change.is_nothing]


def _repairs() -> Iterator[tuple[Path, Change | RecollectError]]:
    """Every file that may hold an entry, with its safe version or the error from reading it."""
    for file, repair in _places():
        try:
            yield file, repair()
        except RecollectError as error:
            yield file, error


def _places() -> Iterator[tuple[Path, Callable[[], Change]]]:
    here, home, config = Path.cwd(), Path.home(), config_home()
    for _, file in hook_settings.places(here, home):
        yield file, partial(hook_settings.repair, file)
    for client in get_args(clients.Name):
        for project in (False, True):
            if project and clients.files(client, here=here, home=home, config=config)[0] is None:
                continue
            place = clients.place(
                client, project=project, user=False, here=here, home=home, config=config
            )
            yield place.file, partial(clients.repair, place)


def _content(file: Path) -> bytes:
    try:
        return changes.content(file) or b""
    except RecollectError:
        return b""


def _finding(change: Change, *, is_done: bool) -> Finding:
    if is_done:
        return Finding(level="note", what=_WHAT, detail=f"{change.file} was rewritten")
    fix = "run `recollect admin doctor --yes` to rewrite it"
    return Finding(level="problem", what=_WHAT, detail=f"{change.file} {_EXPOSED}", fix=fix)


def _draw(change: Change, also: Sequence[Change]) -> None:
    unchanged = f"{plain.safe(str(change.file))} is already up to date."
    plain.say(unchanged if change.is_nothing else _diff(change))
    if also:
        plain.say(_WHY, *map(_diff, also))


def _diff(change: Change) -> str:
    return plain.safe(change.diff()).rstrip("\n")
