"""``recollect pages sync``, ``rebuild-index``: what a person changed on pages becomes events.

Responsible for showing the changes, asking, and telling what became of them. Leaves comparing and
applying to ``Memory.pages``. Invariants: nothing is taken over that was not shown, because the
digest of what was shown is passed on; without a terminal nothing is taken over unless ``--yes``
says so; only a memory that this person created or adopted is written.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, Literal

from recollect.config import Settings, project_root
from recollect.errors import ConfigError, Forbidden, InvalidInput, RecollectError
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.interfaces.cli.pages.pages import say_what_is_aside, say_what_was_left
from recollect.memory import Memory
from recollect.mirror.names import is_page_name
from recollect.mirror.page import SUFFIX
from recollect.model.counts import counted
from recollect.model.values import PageChange, PageChanges, PageProblem, Synced
from recollect.places import page_folders
from recollect.store.disk.layout import IGNORE, PAGES_STATE
from recollect.store.pages.page_files import stamps
from recollect.store.pages.page_notes import keep_out_of_git
from recollect.store.seam import REAL

Side = Literal["page", "memory"]
Folder = Annotated[
    str | None,
    Argument(metavar="[FOLDER]", help="The folder of the pages.  [default: pages, in the memory]"),
]
Take = Annotated[
    Side | None,
    Option("--take", help="In a conflict, take what the page says, or the memory."),
]
Unknown = Literal["leave", "adopt", "aside"]
UnknownOption = Annotated[
    Unknown | None,
    Option(
        "--unknown",
        help="Entries that are not in this memory: leave their files, adopt them as records, or "
        "move their files aside.",
    ),
]
Watch = Annotated[
    bool,
    Option(
        "--watch",
        help="Render after each change of the memory, and propose what you change, until stopped.",
    ),
]
_OFFER: Final = (
    "Entries that are not in this memory: `--unknown adopt` makes them records, `--unknown aside` "
    "moves their files away."
)
_EVERY_S: Final = 1.0
_NAP_S: Final = 0.1  # how soon it ends after it was stopped
_NEEDS_YES: Final = 4
_LEFT: Final = 5
_SAID: Final = {
    "text": "changed",
    "tags": "tagged",
    "dated": "dated",
    "struck": "strike",
    "unstruck": "restore",
    "added": "new",
    "replaced": "replace",
    "moved": "moved",
    "field": "page",
}


@verb
def sync(
    call: Call,
    folder: Folder = None,
    take: Take = None,
    unknown: UnknownOption = None,
    watch: Watch = False,
    yes: o.Yes = False,
    trust: o.TrustOption = None,
    mount: o.MountOption = None,
) -> None:
    """Take over what you changed on pages, then render them. FOLDER is remembered.

    Without a terminal it only shows the changes, unless --yes is given. An entry that is not in
    this memory was erased, or came from elsewhere: its file is left as it is until you choose.
    """
    settings = call.require_known("taking over pages", mount)
    if watch and (yes or take or unknown or call.json):
        raise InvalidInput(
            "--watch only proposes what you changed",
            hint="leave out --yes, --take, --unknown and --json",
        )
    if folder is not None:
        try:
            ask_about(call, settings, Path(folder).expanduser().absolute(), yes=yes)
        except Forbidden as error:
            if not watch:
                raise
            hint = f"run `recollect pages sync {folder} --yes` first: it remembers the folder"
            raise Forbidden(error.message, hint=hint) from error
    with call.memory(mount=mount) as opened:
        memory = opened.scoped(trust=trust)
        if watch:
            _remember(call, settings, folder)
            watch_pages(memory, folder)
            return
        plan = memory.pages.changes(folder)
        asks = not yes and not call.json and sys.stdin.isatty()
        is_chosen = bool(plan.unknown) and unknown in ("adopt", "aside")
        if (plan.changes or is_chosen) and not (yes or asks):
            _only_shown(call, plan)
        if (plan.changes or (asks and plan.unknown)) and not call.json:
            _draw(plan)
        sides = _choices(plan.changes) if asks and take is None else {}
        if asks and plan.unknown and unknown is None:
            unknown = _fate(plan.unknown)
        deleted = _to_forget(plan) if asks else []
        if asks and plan.changes:
            call.confirm(_question(plan, sides, take), yes=False, what="a sync")
        for problem in deleted:
            for id in problem.deleted:
                memory.forget(id, reason=f"deleted on {problem.file}")
        done = memory.pages.sync(
            folder, take=take or sides or None, expect=plan.digest, unknown=unknown or "leave"
        )
        _remember(call, settings, folder)
        if plan.unknown and unknown in (None, "leave"):
            call.note(_OFFER)
        _finish(call, memory, done)


def ask_about(call: Call, settings: Settings, folder: Path, *, yes: bool) -> None:
    """Asks before pages are kept in a new folder, outside of the project, or among other files."""
    if folder.suffix == SUFFIX and not folder.is_dir():
        where = f" {folder.parent}" if folder.is_file() else ""
        raise InvalidInput(
            f"{folder.name} is the name of a page, and sync takes a folder",
            hint=f"use `recollect pages sync{where}`: it takes over every page that you changed",
        )
    real = Path(os.path.realpath(folder))
    if _chosen(settings, call.space) == real:
        return
    root = os.path.realpath(project_root(Path.cwd(), Path.home()))
    if not real.is_relative_to(root):
        what = f"a folder outside of this project, {folder},"
        call.confirm(f"Keep pages in {what[:-1]}?", yes=yes, what=what)
    elif not os.path.lexists(folder):
        what = f"{folder} does not exist. Making it"
        call.confirm(f"{folder} does not exist. Make it, and keep pages there?", yes=yes, what=what)
    if folder.is_dir() and not (folder / PAGES_STATE).exists():
        found = [path.name for path in folder.iterdir() if path.name[0] != "."]
        if found and not any(is_page_name(name.removesuffix(SUFFIX)) for name in found):
            what = f"a folder with other files, {folder},"
            call.confirm(f"Keep pages in {what[:-1]}?", yes=yes, what=what)


def _chosen(settings: Settings, space: str) -> Path | None:
    try:
        return page_folders.chosen(settings, space)
    except ConfigError:  # the folder leads elsewhere now, and a person names another one
        return None


def _remember(call: Call, settings: Settings, folder: str | None) -> None:
    if folder is None:
        return
    place = Path(folder).expanduser().absolute()
    page_folders.choose(settings, call.space, place)
    try:
        keep_out_of_git(REAL, place)
    except OSError as error:  # the pages are there, and git is not our business
        call.note(f"{place / IGNORE} could not be written, so git shows {PAGES_STATE}: {error}")


@verb
def rebuild_index(
    call: Call,
    folder: Folder = None,
    take: Take = None,
    unknown: UnknownOption = None,
    yes: o.Yes = False,
    trust: o.TrustOption = None,
    mount: o.MountOption = None,
) -> None:
    """Rebuild the index, then take over what you changed on pages.

    It takes over what `pages sync` would, and can be run at any time, and again.
    """
    call.require_known("taking over pages", mount)
    with call.memory(mount=mount) as memory, call.progress("Folding") as tick:
        rebuilt = memory.admin.rebuild(tick)
    call.note(f"Rebuilt the index from {counted(rebuilt.events, 'event')}.")
    sync.function(call, folder, take=take, unknown=unknown, yes=yes, trust=trust, mount=mount)


def _fate(count: int) -> Unknown:
    """What a person chooses for the entries that are not in this memory."""
    be = "is" if count == 1 else "are"
    plain.say(f"{counted(count, 'entry')} {be} not in this memory: erased, or from elsewhere.")
    fates: dict[str, Unknown] = {"a": "adopt", "k": "aside", "l": "leave"}
    while True:
        plain.say(plain.dim("a adopt   k keep the files aside   l leave   (and Enter)"))
        line = sys.stdin.readline()
        word = line.strip().lower() if line else "leave"
        if word[:1] in fates:
            return fates[word[:1]]


def _to_forget(plan: PageChanges) -> list[PageProblem]:
    """What a person deleted on pages and wants forgotten; the rest is written again."""
    chosen = list[PageProblem]()
    for problem in plan.problems:
        if problem.deleted:
            _problems([problem])
            plain.say(f"Forget {counted(len(problem.deleted), 'entry')}? [y/N]")
            if sys.stdin.readline().strip().lower() in ("y", "yes"):
                chosen.append(problem)
    return chosen


def _only_shown(call: Call, plan: PageChanges) -> None:
    call.answer(plan, _draw)
    call.note("Nothing was changed: --yes takes this over, and --take decides conflicts.")
    if plan.unknown:
        call.note(_OFFER)
    raise Exit(_NEEDS_YES)


def _question(plan: PageChanges, sides: dict[str, Side], take: Side | None) -> str:
    taken = [
        one
        for one in plan.changes
        if one.state == "ready" or (take or sides.get(one.ref)) == "page"
    ]
    return f"Take over {counted(len(taken), 'change')}?"


def _choices(changes: Sequence[PageChange]) -> dict[str, Side]:
    """What a person chooses for each conflict; nothing for one that is skipped."""
    chosen: dict[str, Side] = {}
    for change in changes:
        if change.state != "conflict":
            continue
        plain.say(f"Conflict in {plain.one_line(change.ref)}:")
        while True:
            plain.say(plain.dim("p page   m memory   s skip   (and Enter)"))
            line = sys.stdin.readline()
            word = line.strip().lower() if line else "skip"
            sides: dict[str, Side] = {"p": "page", "m": "memory"}
            if word[:1] in sides:
                chosen[change.ref] = sides[word[:1]]
            if word[:1] in ("p", "m", "s"):
                break
    return chosen


def _draw(plan: PageChanges) -> None:
    """Each change with the words before and after, by file."""
    file = ""
    for change in plan.changes:
        if change.file != file:
            file = change.file
            plain.say(plain.bold(plain.one_line(file)))
        _one(change)
    _problems(plan.problems)


def _one(change: PageChange) -> None:
    state = "" if change.state == "ready" else f"  {change.state}"
    what = f"{_SAID[change.what]} {change.field or change.id or ''}".rstrip()
    plain.say(f"  {plain.one_line(what)}{plain.bold(state)}")
    if change.what == "tags":
        tags = [*(f"+#{tag}" for tag in change.add), *(f"-#{tag}" for tag in change.remove)]
        plain.say(f"    {plain.one_line(' '.join(tags))}")
        return
    if change.state == "conflict":
        for label, text in (
            ("was   ", change.before),
            ("page  ", change.after or "(struck)"),
            ("memory", change.now),
        ):
            plain.say(*plain.wrapped(text, "           ", f"    {label} "))
        _beside(change)
        return
    _words(change.before, change.after)
    _beside(change)
    # What people type first, a text or a `## Heading` at the end of a page, is in its last entry.
    if change.what == "text" and change.after.count("\n\n") > change.before.count("\n\n"):
        plain.say(plain.dim("      for an entry of its own, begin with a line such as ## [today]"))


def _beside(change: PageChange) -> None:
    """The date and the tags that come with a new entry."""
    if change.what not in ("added", "replaced"):
        return
    said = [change.said_at] if change.said_at else []
    beside = [*said, *(f"+#{tag}" for tag in change.add)]
    if beside:
        plain.say(f"      {plain.one_line(' '.join(beside))}")


def _words(before: str, after: str) -> None:
    if sys.stdout.isatty():
        from rich.text import Text

        from recollect.interfaces.cli.screens.draw import console
        from recollect.interfaces.cli.screens.draw_review import marked

        old, new = marked(before, after)
        out = console()
        for sign, text in (("    - ", old if before else None), ("    + ", new if after else None)):
            if text is not None:
                out.print(Text(sign) + text)
        return
    if before:
        plain.say(*plain.wrapped(before, "      ", "    - "))
    if after:
        plain.say(*plain.wrapped(after, "      ", "    + "))


def _problems(problems: Sequence[PageProblem]) -> None:
    for problem in problems:
        line = f":{problem.line}" if problem.line else ""
        plain.say(f"  {plain.one_line(problem.file)}{line}: {plain.one_line(problem.message)}")


def _finish(call: Call, memory: Memory, done: Synced) -> None:
    call.answer(done, _told, memory)
    if done.conflicts or done.refused:
        raise Exit(_LEFT)
    if any(problem.keeps for problem in done.problems):
        raise Exit(answer.NO)


def watch_pages(memory: Memory, folder: str | None) -> None:
    """Looks every second whether the memory or a file has changed, until it is stopped."""
    last = ""

    def tell(done: Synced) -> None:
        nonlocal last
        refused = [each.change.ref for each in done.refused]
        now = str((done.waiting, done.conflicts, refused, done.problems, done.rendered.written))
        if now != last:
            _told(done)
        last = now

    _until_stopped(memory, folder, tell)


def _told(done: Synced) -> None:
    said = [f"{counted(len(done.applied), 'change')} taken over"]
    for count, word in (
        (len(done.adopted), "adopted"),
        (len(done.waiting), "waiting for a review"),
        (len(done.conflicts), "in conflict"),
        (len(done.refused), "refused"),
    ):
        said += [f"{count} {word}"] if count else []
    rendered = done.rendered
    said.append(f"{counted(len(rendered.written), 'page')} written")
    said += [f"{len(rendered.removed)} removed"] if rendered.removed else []
    plain.say(f"{plain.one_line(done.folder)}: {', '.join(said)}")
    for refusal in done.refused:
        plain.say(f"  {plain.one_line(refusal.change.ref)}: {plain.one_line(refusal.reason)}")
    _problems(done.problems)
    say_what_was_left(rendered.edited)
    say_what_is_aside(rendered.aside)


def _until_stopped(memory: Memory, folder: str | None, tell: Callable[[Synced], None]) -> None:
    """Renders and proposes after each change."""
    is_stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    place = Path(memory.pages.status(folder).folder)
    plain.say_to_stderr(f"Watching {plain.safe(str(place))}. Ctrl-C ends it.")
    try:
        done: object = None
        while not is_stopped:
            seen = (memory.events.position, stamps(place))
            if seen != done and _is_quiet(place, lambda: is_stopped):
                _look(memory, folder, tell)
                done = seen  # not as it is now: something may have been saved meanwhile
            _nap(_EVERY_S, lambda: is_stopped)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _look(memory: Memory, folder: str | None, tell: Callable[[Synced], None]) -> None:
    try:
        tell(memory.pages.sync(folder, propose=True))
    except RecollectError as error:
        plain.refuse(error.message, error.hint)


def _is_quiet(place: Path, is_stopped: Callable[[], bool]) -> bool:
    """True if no file is being saved: an editor may write in several steps."""
    seen = stamps(place)
    _nap(2 * _NAP_S, is_stopped)
    return not is_stopped() and stamps(place) == seen


def _nap(seconds: float, is_stopped: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not is_stopped() and time.monotonic() < end:
        time.sleep(_NAP_S)
